//go:build !linux

package process

import "syscall"

// FindsByRun says that this system cannot tell which processes were started for a run.
const FindsByRun = false

// A member stands for a whole process group: this kernel has no /proc to read more from.
type member struct{ pid, group int }

func (f Family) members() (all []member) {
	for _, group := range f.Groups {
		if m := (member{-group, group}); m.alive() {
			all = append(all, m)
		}
	}
	return all
}

// alive is true for zombies, too. They matter in containers, where the kernel is Linux.
func (m member) alive() bool { return syscall.Kill(m.pid, 0) == nil }

// HasGroup reports whether the group lives on: see Orphans.
func HasGroup(_ string, group int) bool { return len(Orphans("", group, 0)) > 0 }

// Orphans returns the group of the run's command if it lives on. Without /proc it cannot read which run a process belongs
// to; but a process of the run still has its output open where this is called, and the kernel gives no number away while
// its group has processes.
func Orphans(_ string, group, _ int) []int {
	if group != 0 && (member{-group, group}).alive() {
		return []int{group}
	}
	return nil
}
