package run

import (
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
)

// The manual of crashes: what is to be done with a row whose process is gone, and what the process
// does that has the row. "A tick" is the next one.
func TestWhatIsToBeDoneWithARow(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 30, 0, time.UTC)
	minute := now.Truncate(time.Minute)
	supervisor := Facts{IsOurs: true, Now: now, DueBy: now}
	witness := Facts{IsOurs: true, HasCommand: true, Now: now, DueBy: now}
	tick := Facts{Now: now, DueBy: minute}

	slot := state.Row{Phase: state.Planned, Scheduled: true, Slot: minute.Add(-time.Minute)}
	ready := state.Row{Phase: state.Ready, Background: true}
	first := state.Attempt{Number: 1, At: now.Add(-time.Hour)}
	running := state.Row{Phase: state.Running, Background: true, Attempt: first}
	queued := func(waitsFor state.WaitsFor) state.Row {
		return state.Row{Phase: state.Ready, Background: true, Wait: state.Wait{For: waitsFor}}
	}
	between := func(until time.Duration) state.Row {
		wait := state.Wait{For: state.ForTime, NotBefore: now.Add(until)}
		return state.Row{Phase: state.Ready, Background: true, Attempt: first, Wait: wait}
	}
	deferred := func(until time.Duration) state.Row {
		row := between(until)
		row.Phase = state.Waiting
		return row
	}
	finishing := state.Row{Phase: state.Finishing, Attempt: first, Result: state.Result{Outcome: outcome.Failed}}

	with := func(row state.Row, change func(*state.Row)) state.Row { change(&row); return row }
	stopped := func(r *state.Row) { r.Stop = &state.Stop{By: "ann"} }
	when := func(f Facts, change func(*Facts)) Facts { change(&f); return f }

	for _, row := range []struct {
		what  string
		row   state.Row
		facts Facts
		want  Action
	}{
		{"a run that has ended", state.Row{Phase: state.Ended}, tick, Nothing},
		{"a run that another process looks after", running, when(tick, func(f *Facts) { f.OwnerLives = true }), Nothing},

		// The tick was killed after it had planned the slot, and before it began the run.
		{"a slot that no tick came to", slot, tick, Miss},
		{"that slot, if its task may be late", slot, when(tick, func(f *Facts) { f.MayBeLate = true }), Start},
		{"that slot, if another row has its outcome", slot,
			when(tick, func(f *Facts) { f.IsAccounted = true }), Nothing},
		{"that slot, if its run began on a full disk", slot, when(tick, func(f *Facts) { f.Unrecorded = 1 }), Lose},
		{"that slot, if the clock was set back", with(slot, func(r *state.Row) { r.Slot = minute }), tick, Wait},
		{"that slot, if it waited before", with(slot, func(r *state.Row) { r.Wait.For = state.ForStore }), tick, Nothing},

		// The tick or the supervisor was killed before the run started anything.
		{"its row was written, and nothing was started", ready, tick, Lose},
		{"its supervisor has the row", ready, supervisor, Start},

		// The supervisor alone was killed: the witness takes its place, and has its commands.
		{"its command lives, and is our child", running, witness, Watch},
		{"its command is no child of ours", running, supervisor, Lose},
		{"its command was about to be started", with(running, func(r *state.Row) { r.Attempt.PID = 0 }), supervisor, Lose},

		// The supervisor and the witness were killed, or the tick of a foreground run.
		{"its command lives, or is gone", running, tick, Lose},
		{"the machine went down while its command ran", running, tick, Lose},
		{"its attempt began on a full disk", between(0), when(tick, func(f *Facts) { f.Unrecorded = 1 }), Lose},

		// The run waited for what others have.
		{"it waited for its mutex", queued(state.ForMutex), tick, Queue},
		{"it waited for a seat", queued(state.ForSeat), tick, Queue},
		{"its turn had come, and it was paused", queued(state.ForPause),
			when(tick, func(f *Facts) { f.IsPaused = true }), Queue},
		{"it waited, and its supervisor goes on", queued(state.ForMutex), supervisor, Queue},
		{"it waited, and the tick is to end", queued(state.ForMutex),
			when(tick, func(f *Facts) { f.MayNotBegin = true }), Wait},
		{"it waited, and was to be stopped", with(queued(state.ForMutex), stopped), tick, Stop},

		// The run waited for its next attempt.
		{"its next attempt is due", between(-time.Minute), tick, Start},
		{"its next attempt is not due", between(time.Hour), tick, Wait},
		{"its next attempt is not due, and its supervisor goes on", between(time.Hour), supervisor, Wait},
		{"it waited in a foreground that is gone",
			with(between(time.Hour), func(r *state.Row) { r.Background = false }), tick, GiveBack},
		{"it waited, and was to be stopped meanwhile", with(between(time.Hour), stopped), tick, Stop},

		// The next attempt was left to a tick.
		{"a deferred retry is due", deferred(-time.Minute), tick, Start},
		{"a deferred retry is not due", deferred(time.Hour), tick, Wait},
		{"a deferred retry was planned by a clock that was ahead",
			with(deferred(2*time.Hour), func(r *state.Row) { r.Attempt.At = now.Add(time.Hour) }), tick, Start},
		{"a deferred retry is due, and its task is paused", deferred(-time.Minute),
			when(tick, func(f *Facts) { f.IsPaused = true }), Wait},
		{"a deferred retry is due, and the tick is to end", deferred(-time.Minute),
			when(tick, func(f *Facts) { f.MayNotBegin = true }), Wait},
		{"a deferred retry was to be stopped", with(deferred(time.Hour), stopped), tick, Stop},
		{"a tick had taken a deferred retry, and was killed",
			with(between(-time.Minute), func(r *state.Row) { r.Wait.For = state.ForMutex }), tick, Start},

		// The finish was killed, or the supervisor before it could start a finish.
		{"its hooks were being fired", finishing, tick, FireHooks},
		{"its supervisor had written its result", finishing, supervisor, FireHooks},
		{"its hooks were being fired, and the tick is to end", finishing,
			when(tick, func(f *Facts) { f.MayNotBegin = true }), FireHooks},
	} {
		if got := Next(row.row, row.facts); got != row.want {
			t.Errorf("%s: %s, not %s", row.what, got, row.want)
		}
	}
}
