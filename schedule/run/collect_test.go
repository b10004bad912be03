package run

import (
	"testing"

	"sched/schedule/outcome"
	"sched/schedule/state"
)

// The process that was responsible for a run is gone. The row alone decides what becomes of the
// run.
func TestHowFarARunHadComeWhenItsProcessWasGone(t *testing.T) {
	for _, row := range []struct {
		what string
		row  state.Row
		want stage
	}{
		{"its row was written, and nothing was started", state.Row{Phase: state.Ready}, commandStarted},
		{"its command was about to be started",
			state.Row{Phase: state.Running, Attempt: state.Attempt{Number: 1}}, commandStarted},
		{"its command was started", state.Row{Phase: state.Running, Attempt: state.Attempt{Number: 1, PID: 4711}},
			commandStarted},
		{"it waited for its mutex", state.Row{Phase: state.Ready, Wait: state.Wait{For: state.ForMutex}}, inQueue},
		{"it waited for a seat", state.Row{Phase: state.Ready, Wait: state.Wait{For: state.ForSeat}}, inQueue},
		{"its turn had come, and it was paused",
			state.Row{Phase: state.Ready, Wait: state.Wait{For: state.ForPause}}, inQueue},
		{"it waited for its second attempt",
			state.Row{Phase: state.Ready, Attempt: state.Attempt{Number: 1}, Wait: state.Wait{For: state.ForTime}},
			betweenAttempts},
		{"a tick has taken its deferred retry",
			state.Row{Phase: state.Ready, Attempt: state.Attempt{Number: 2}, Wait: state.Wait{For: state.ForMutex}},
			betweenAttempts},
		{"its hooks were being fired", state.Row{Phase: state.Finishing, Attempt: state.Attempt{Number: 1},
			Result: state.Result{Outcome: outcome.Failed}}, resultWritten},
	} {
		if got := stageOf(row.row); got != row.want {
			t.Errorf("%s: stage %d, not %d", row.what, got, row.want)
		}
	}
}
