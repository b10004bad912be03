package flags

import (
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
)

// foreignFlags are flags of supercronic, ofelia and artisan, with what stands for them here.
var foreignFlags = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"debug":            "`sched run -v` and `sched work -v` say more",
		"inotify":          "nothing is needed: each tick reads the file",
		"no-reap":          "leave it out: `sched work` reaps what is left behind",
		"overlapping":      "leave it out: runs overlap unless a task has `without_overlapping: true`",
		"split-logs":       "`sched run --logs`, or `logs: true` in the schedule, prints what tasks print",
		"passthrough-logs": "`sched run --logs`, or `logs: true` in the schedule, prints what tasks print",
		"run-output-file":  "`output: FILE` in the schedule keeps what a task prints",
		"whisper":          "did you mean `--quiet`?",
		"sentry-dsn":       "write `after: {sentry: DSN}` in the schedule",
		"docker":           "`sched import --from ofelia` makes a schedule of its configuration",
		"docker-filter":    "`sched import --from ofelia` makes a schedule of its configuration",

		"prometheus-listen-address": "`sched serve` has /metrics, and `metrics:` in the schedule writes a file",
	}
})

// foreignHint says what stands for a flag of another program; "" if we do not know it.
func foreignHint(c *cobra.Command, name string) string {
	isTask := slices.Contains([]string{"task", "tasks", "name", "job"}, name)
	switch {
	case len(name) > 1 && c.Flags().Lookup(name) != nil: // it had a single dash
		return "did you mean `--" + name + "`?"
	case name == "l" && !c.HasParent():
		return "did you mean `sched list`?"
	case name == "e" && !c.HasParent():
		return "edit schedule.yaml; `sched check` says whether it is right"
	case name == "test" && c.Name() != "test":
		return "did you mean `sched check`?"
	case isTask && c.Flags().Lookup("only") != nil:
		return "did you mean `--only`?"
	case isTask && strings.Contains(c.Use, "TASK"):
		return "a task is named without a flag: sched " + c.Use
	}
	return foreignFlags()[name]
}
