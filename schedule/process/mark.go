package process

import (
	"slices"

	"sched/schedule"
)

// markAndRun is the shell of a hook: it notes in the run's file that the hook was started, and
// becomes the hook. The mark is written by the process that becomes the hook, so that a finish
// that is killed at this moment leaves both or neither: the one that comes after it does not fire
// the hook again, and does not leave it out. Until the mark is there the process watches the run with
// the descriptor that it inherited, so no other finish comes before it.
const (
	markAndRun  = mark + `exec "$@"`
	markAndEval = mark + `eval "$1"` // a line for /bin/sh needs no second one
	mark        = `printf '\n%s\n' "$0" >&3; exec 3>&-; `
)

// marked returns the command of a hook that leaves its mark, the event.
func marked(event string, hook schedule.Command) []string {
	if slices.Equal(hook.Shell, []string{"/bin/sh", "-c"}) {
		return []string{"/bin/sh", "-c", markAndEval, event, hook.Line}
	}
	return append([]string{"/bin/sh", "-c", markAndRun, event}, hook.Argv()...)
}
