package run

// keepOrphans does nothing: on this system no process can become the parent of what its descendants
// leave behind.
func keepOrphans() {}

// await waits for a child of this process, and returns 0 if it has ended with that code.
func await(child int) (code int) { return reap(child) }
