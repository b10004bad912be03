package preflight

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"sched/schedule/process"
)

// CronPrograms are the programs that start the lines of crontabs. Tests change them.
var CronPrograms = []string{"cron", "crond", "fcron", "cronie"}

// CronMayRun reports whether a cron runs on this machine, or that nobody can know.
func CronMayRun() bool {
	name, known := RunningCron()
	return name != "" || !known
}

// CronIsBusybox reports whether the cron of this machine is busybox's, which does not see at once
// that a file was changed.
func CronIsBusybox() bool {
	link, err := os.Readlink("/usr/sbin/crond")
	return err == nil && strings.HasSuffix(link, "busybox")
}

// CronIsDebians reports whether the cron that runs on this machine is Debian's, or else the cron
// that is installed.
func CronIsDebians() bool {
	if name, _ := RunningCron(); name != "" {
		return name == "cron"
	}
	isThere := func(path string) bool { _, err := os.Stat(path); return err == nil }
	return isThere("/usr/sbin/cron") && !isThere("/usr/sbin/crond")
}

// RunningCron returns the cron that runs on this machine, or "". known is false where
// processes cannot be listed.
func RunningCron() (name string, known bool) {
	found := FindCron()
	return found.Name, found.Known
}

// A Cron is what is known of the cron that reads the crontabs of this machine.
type Cron struct {
	Known     bool   // processes can be listed
	Name      string // "" if none runs
	Unsure    bool   // it may be a container's: its files cannot be compared with ours
	Elsewhere []int  // processes of the crons of containers, which read other crontabs
}

// ElsewhereText says, behind the words that no cron runs here, that a container has one. It is ""
// if none has.
func (c Cron) ElsewhereText() string {
	if len(c.Elsewhere) == 0 {
		return ""
	}
	return fmt.Sprintf(" (process %d is the cron of a container)", c.Elsewhere[0])
}

// FindCron looks for a cron that sees the files that this process sees.
func FindCron() (found Cron) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		name, _, ok := process.NameAndParent(pid)
		found.Known = found.Known || ok
		if !ok || !slices.Contains(CronPrograms, name) {
			continue
		}
		switch seesOurs, sure := seesOurFiles(pid); {
		case !seesOurs:
			found.Elsewhere = append(found.Elsewhere, pid)
		case found.Name == "" || found.Unsure && sure:
			found.Name, found.Unsure = name, !sure
		}
	}
	return found
}

// seesOurFiles reports whether a process has the files of this process, and is not in a container.
//
//  1. A process with more than one number has a pid namespace of its own: it is in a container.
//  2. A process with our mount namespace has our files.
//  3. A process with another mount namespace has our files if its root is ours: a unit with
//     PrivateTmp= is no container.
//
// For processes of other users only root can read what steps 2 and 3 compare: sure is false then.
func seesOurFiles(pid int) (seesOurs, sure bool) {
	of := "/proc/" + strconv.Itoa(pid)
	status, err := os.ReadFile(of + "/status")
	for line := range strings.Lines(string(status)) {
		if numbers, is := strings.CutPrefix(line, "NSpid:"); is && len(strings.Fields(numbers)) > 1 {
			return false, true
		}
	}
	theirs, linkErr := os.Readlink(of + "/ns/mnt")
	ours, ourErr := os.Readlink("/proc/self/ns/mnt")
	if err != nil || linkErr != nil || ourErr != nil {
		return true, false
	}
	theirRoot, rootErr := os.Stat(of + "/root/")
	ourRoot, ourRootErr := os.Stat("/")
	if rootErr != nil || ourRootErr != nil {
		return true, theirs == ours
	}
	return os.SameFile(theirRoot, ourRoot), true
}
