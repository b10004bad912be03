package run

// await waits for a child of this process, and reports whether it has ended well.
func await(child int) (well bool) { return reap(child) }
