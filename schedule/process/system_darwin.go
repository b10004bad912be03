package process

import (
	"os"
	"syscall"
	"time"
)

// FindsByRun says that this system cannot tell which processes were started for a run.
const FindsByRun = false

// A member stands for a whole process group: this kernel has no /proc to read more from.
type member struct {
	Survivor // its PID is the number of the group
	group    int
}

// membersOf returns the groups of the family that live.
func membersOf(f Family, _ []member, _ bool) (found []member) {
	for _, group := range f.Groups {
		if m := (member{Survivor{PID: group}, group}); m.Alive() {
			found = append(found, m)
		}
	}
	return found
}

// NameAndParent cannot tell without /proc.
func NameAndParent(int) (name string, parent int, ok bool) { return "", 0, false }

// isAlive is true for zombies, too. Zombies matter in containers, and there the kernel is Linux.
func isAlive(group int, _ string) bool { return syscall.Kill(-group, 0) == nil }

// HasGroup reports whether the group lives on: see LiveGroups.
func HasGroup(_ string, group int) bool { return len(LiveGroups("", "", group, 0)) > 0 }

// LiveGroups returns the group of the run's command if it lives on. Without /proc it cannot read
// which run a process belongs to. But when a lost run is settled, a process of the run still has
// its output open, and the kernel gives no number away while its group has processes.
func LiveGroups(_, _ string, group, _ int) []int {
	if group != 0 && isAlive(group, "") {
		return []int{group}
	}
	return nil
}

// OpenInOtherRun cannot tell without /proc.
func OpenInOtherRun(*os.File, string) bool { return false }

// hasSubreaper says that this system has no BecomeSubreaper.
const hasSubreaper = false

// BecomeSubreaper does nothing.
func BecomeSubreaper() {}

// sinceBoot is for orphans.
func sinceBoot() time.Duration { return 0 }

// AdoptOrphans does nothing.
func AdoptOrphans() {}

// Prints cannot tell without /proc.
func Prints(int, string) bool { return false }

// childState finds no child.
func childState(int) (isChild, isZombie bool) { return false, false }

// ChildGroup finds none.
func ChildGroup(string, int) (group int) { return 0 }

// Age is not known.
func Age(int) time.Duration { return 0 }

// awaitEnd reports that there is no descriptor for a process here.
func awaitEnd(int, bool) (e exit, ended bool) { return e, false }

// tryWait waits for the end of the process, and returns how it ended. It reports whether the
// process has ended, or whether that cannot be known.
func tryWait(pid, options int, _ bool) (e exit, ended bool) {
	_, err := syscall.Wait4(pid, &e.status, options, &e.usage)
	return e, err != syscall.EINTR
}

// Self is the program that runs here.
func Self() string {
	path, err := os.Executable()
	if err != nil {
		return "sched" // which is not found, and the run says so
	}
	return path
}

// maxrssUnit is the unit of ru_maxrss (getrusage(2) on darwin), in bytes.
const maxrssUnit = 1

// memoryResource: this kernel keeps no limit of memory.
const memoryResource = 0
