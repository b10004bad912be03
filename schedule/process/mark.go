package process

import (
	"slices"

	"sched/schedule"
)

// The scripts with which a hook marks itself as started in the run's file, and becomes its command
// (docs/decisions.md#a-hook-marks-itself-as-started). A finish that is killed at this moment leaves both or neither: the
// finish after it does not fire the hook again, and does not leave it out. Until the mark is written the process has the
// run's file open, which is the proof of life of the run, so no other finish begins before.
const (
	markAndRun  = mark + `exec "$@"`
	markAndEval = mark + `eval "$1"` // for a line for /bin/sh: no second shell
	mark        = `printf '\n%s,"pid":%d}\n' "${0%?}" $$ >&3; exec 3>&-; `
)

// marked returns the command of a hook that writes the event, a JSON object, to descriptor 3 before it starts, with its pid in it.
func marked(event string, hook schedule.Command) []string {
	if slices.Equal(hook.Shell, []string{"/bin/sh", "-c"}) {
		return []string{"/bin/sh", "-c", markAndEval, event, hook.Line}
	}
	return append([]string{"/bin/sh", "-c", markAndRun, event}, hook.Argv()...)
}
