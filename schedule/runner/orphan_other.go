//go:build !linux

package runner

// groupIsOf cannot ask this kernel whose a process is. The caller knows that a process of the run
// still holds its output, and the kernel gives no number away while its group has processes.
func groupIsOf(group int, run string) bool { return groupAlive(group) }
