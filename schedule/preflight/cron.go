package preflight

import (
	"os"
	"slices"
	"strconv"

	"sched/schedule/process"
)

// CronPrograms are the programs that start the lines of crontabs. Tests change them.
var CronPrograms = []string{"cron", "crond", "fcron", "cronie"}

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
