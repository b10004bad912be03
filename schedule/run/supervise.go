package run

import (
	"context"
	"time"

	"sched/schedule/notify"
	"sched/schedule/state"
)

// Execute supervises and finishes the run in this process, and returns its row. When terminate
// is done the command is stopped; when kill is done too it is killed at once.
func Execute(r *Run, terminate, kill context.Context) state.Row {
	return ExecuteThen(r, terminate, kill, func() {})
}

// ExecuteThen is Execute that calls ended when the command has ended, before the hooks after it.
func ExecuteThen(r *Run, terminate, kill context.Context, ended func()) state.Row {
	r.Terminate = terminate
	result := supervise(r, terminate, kill)
	ended()
	return finish(r, result)
}

// superviseBackground supervises a background run to the end of its command, and calls handOver to
// start its `sched finish`. handOver returns nil when that process owns the run; after an error the
// run is still ours. A run without hooks ends here. When terminate is done it stops the command,
// when kill is done too it kills it.
func superviseBackground(r *Run, terminate, kill context.Context, handOver func(*Run) error) {
	r.Terminate = terminate
	defer r.unreaped.reap()
	r.Sender = notify.NewSender(kill, r.DB, r.Environ)
	result := r.row.result()
	// If the row is finishing, the supervisor before this one was killed before it could start the
	// finish.
	if r.next() != FireHooks {
		var leftToTick bool
		if result, leftToTick = awaitResult(r, terminate, kill); leftToTick {
			return
		}
		if endsAtOnce(&r.task) {
			r.Sender.Wait(terminate, startDeliveryPatience)
			finish(r, result)
			return
		}
		if r.recordResult(result) == nil {
			r.unreaped.reap()
		}
		r.Sender.Wait(terminate, startDeliveryPatience)
	}
	// If the result could not be written, as on a full disk, this process alone knows it: the exit
	// code alone is no proof of a result
	// (docs/internals/decisions.md#an-exit-code-alone-is-no-result).
	if r.resultUnrecorded || handOver(r) != nil { // this process finishes the run
		finishAndSend(r, result)
	}
}

// awaitResult waits until a background run has its mutex and its seat, runs its command, and
// returns the result. If leftToTick is true, a later tick goes on with the run: it waits on, or its
// next attempt was deferred.
func awaitResult(r *Run, terminate, kill context.Context) (result state.Row, leftToTick bool) {
	if result, leftToTick = awaitLock(r, terminate); leftToTick {
		r.Close()
		return result, true
	}
	if result.Outcome == "" {
		result = supervise(r, terminate, kill)
	}
	if result.Outcome == "" {
		r.release()
		return result, true
	}
	return result, false
}

// startDeliveryPatience is how long a supervisor whose command has ended waits for the delivery of
// messages about the start: the run's lock is held meanwhile. While a longer command runs, there is
// time enough.
const startDeliveryPatience = 5 * time.Second
