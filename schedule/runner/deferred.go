package runner

import (
	"context"
	"fmt"

	"sched/schedule/outcome"
	"sched/schedule/runfile"
)

// resume goes on with a run that waited for its next attempt, if its time has come. Over says that it
// has ended instead.
func (t *Tick) resume(ctx context.Context, state State, r *Run, log runfile.State) (ended outcome.Record, over bool) {
	wait := log.Deferral
	switch {
	case log.Stop != nil:
		return r.conclude(log, nil), true
	case ctx.Err() != nil, t.early(wait.Until), t.Only != "" && t.Only != r.task.Name, t.paused(&r.task, wait.Until) != "",
		t.maintenance(&r.task, t.Minute) != "":
		r.file.Close()
		return ended, false
	}
	if reason := r.relock(state, *wait); reason != "" {
		return t.holdBack(r, log, reason)
	}
	if err := r.refork(t.Self); err != nil {
		t.Problem("%s waits on for attempt %d: %v", r.task.Name, wait.Attempt, err)
		r.rest(wait)
		return ended, false
	}
	t.Started(r.soFar(wait))
	r.leave()
	return ended, false
}

// holdBack leaves a run whose mutex is held to a later tick, but not for ever.
func (t *Tick) holdBack(r *Run, log runfile.State, reason string) (ended outcome.Record, over bool) {
	wait := *log.Deferral
	if !wait.HeldSince.IsZero() && t.Minute.Sub(wait.HeldSince) >= heldAtMost {
		reason = fmt.Sprintf("attempt %d could not start for %.0f hours: %s", wait.Attempt, heldAtMost.Hours(), reason)
		return r.finish(log, r.giveUp(log, nil, reason)), true
	}
	if wait.HeldSince.IsZero() {
		wait.HeldSince = t.Minute
		wait.Record.Notes = append(wait.Record.Notes, fmt.Sprintf("attempt %d had to wait: %s", wait.Attempt, reason))
		r.file.Append(runfile.Event{Deferral: &wait})
	}
	r.file.Close()
	return ended, false
}
