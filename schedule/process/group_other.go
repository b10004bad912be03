//go:build !linux

package process

// onlyZombies is false: this kernel has no /proc. It matters in containers, where the kernel is Linux.
func onlyZombies(int) bool { return false }

// Orphans returns the group of the run's command if it lives on. Without /proc it cannot read which run a process belongs
// to; but a process of the run still has its output open where this is called, and the kernel gives no number away while
// its group has processes.
func Orphans(_ string, group, _ int) []int {
	if group != 0 && groupAlive(group) {
		return []int{group}
	}
	return nil
}
