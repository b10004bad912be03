package cmd

import (
	"io"
	"time"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/remote"
	"sched/schedule/text"
)

// logsElsewhere prints what a run of another server printed, as that server sends it: the last part of it, and with follow what comes
// until the run has ended.
func (a logsCommand) logsElsewhere(s *schedule.Schedule, r outcome.Record, follow bool, o askOptions) error {
	ask, err := a.asker(s, o)
	if err != nil {
		return err
	}
	what := "what run " + text.ShortRun(r.Run) + " of " + r.Task + " printed"
	for at := int64(0); ; time.Sleep(followElsewhere) {
		answer, err := ask.ask(r.Server, what, remote.Request{Kind: remote.Logs, Run: r.Run, Task: r.Task, Offset: at})
		if err != nil {
			return err
		}
		if answer.Log == nil {
			return failed("", "%s has sent no output", r.Server)
		}
		if left := answer.Log.Offset - at; left > 0 {
			a.problem("%s before that are left out: they are on %s", text.Bytes(left), r.Server)
		}
		if err := writeForeign(a.out, answer.Log.Text); err != nil {
			return failed("", "%w", err)
		}
		at = answer.Log.Offset + int64(len(answer.Log.Text))
		if !follow || answer.Outcome != "" {
			writeForeign(a.err, answer.Log.Hooks)
		}
		switch {
		case !follow:
			return nil
		case answer.Outcome != "":
			a.problem("%s %s", r.Task, answer.Text)
			return nil
		}
		what = "what is new"
	}
}

// followElsewhere is how long --follow waits before it asks again: a `sched serve` there would be asked as often as it can answer.
const followElsewhere = time.Second

// writeForeign writes what came from another machine: on a terminal without escape sequences, since whoever can write to the store could
// have sent it; elsewhere as it was.
func writeForeign(to io.Writer, printed []byte) error {
	if terminal.Is(to) {
		printed = []byte(text.Plain(string(printed)))
	}
	_, err := to.Write(printed)
	return err
}
