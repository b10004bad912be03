//go:build !linux

package process

// onlyZombies cannot be asked of this kernel. Where it matters, in containers, the kernel is Linux.
func onlyZombies(int) bool { return false }

// Orphans returns the group of the run's command if it lives on. This kernel does not tell whose a
// process is; but the caller knows that a process of the run still has its output open, and the
// kernel gives no number away while its group has processes.
func Orphans(_ string, group, _ int) []int {
	if group != 0 && groupAlive(group) {
		return []int{group}
	}
	return nil
}
