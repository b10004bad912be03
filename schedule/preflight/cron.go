package preflight

import (
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

// RunningCron returns the cron that runs on this machine, or "". known is false where
// processes cannot be listed.
func RunningCron() (name string, known bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return "", false
	}
	running := map[string]bool{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if name, _, ok := process.NameAndParent(pid); ok {
			running[name] = true
		}
	}
	if i := slices.IndexFunc(CronPrograms, func(name string) bool { return running[name] }); i >= 0 {
		return CronPrograms[i], true
	}
	return "", len(running) > 0
}
