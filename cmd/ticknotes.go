package cmd

import (
	"os"

	"sched/cmd/terminal"
	"sched/schedule/doctor"
	"sched/schedule/runner"
)

// noteEnvironment prepares the notes of a tick for `sched doctor`: what called it gave it which environment, and whether
// another tick had the minute already. The function that it returns keeps them. A tick with --at or --only, or one that a
// person typed, is not what ticks are like, and leaves none.
func (a runCommand) noteEnvironment(tick *runner.Tick) (keep func()) {
	if tick.Replay || tick.Only != "" || terminal.Is(a.in) || a.stdout().IsTerminal() || a.stderr().IsTerminal() {
		return func() {}
	}
	doubled := false
	tick.Doubled = func() { doubled = true }
	environment := doctor.Here(os.Environ(), localZone().String())
	return func() {
		// A state folder that cannot be written has been reported; the tick is none the worse for it.
		doctor.Keep(tick.Schedule.StateDir, environment, a.now())
		if doubled {
			doctor.KeepDouble(tick.Schedule.StateDir, tick.Minute)
		}
	}
}
