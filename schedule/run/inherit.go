package run

import (
	"context"
	"time"

	"sched/schedule/notify"
	"sched/schedule/state"
)

// startDeliveryPatience is how long a supervisor whose command has ended waits for the delivery of
// messages about the start: the run's lock is held meanwhile. While a longer command runs, there is
// time enough.
const startDeliveryPatience = 5 * time.Second

// Supervise supervises a background run to the end of its command, and calls finish to start its
// trailing `sched finish`. finish returns nil when that process owns the run; after an error the
// run is still ours. A run without hooks ends here. If the next attempt was deferred, finish is not
// called. When terminate is done it stops the command, when kill is done too it kills it.
func (r *Run) Supervise(terminate, kill context.Context, finish func(Trailing) error) {
	r.Terminate = terminate
	defer r.kept.release()
	r.Sender = notify.NewSender(kill, r.DB, r.Environ)
	if r.row.Phase == state.Finishing { // the supervisor before this one was killed before it could start the finish
		r.finishWith(r.resultInRow(), finish)
		return
	}
	result := r.awaitLock(terminate)
	if result.Outcome == "" {
		result = r.supervise(terminate, kill)
	}
	if result.Outcome == "" { // a later tick goes on with the deferred retry
		r.leaveDeferred()
		return
	}
	if r.endsAtOnce() {
		r.Sender.Wait(terminate, startDeliveryPatience)
		r.finish(result)
		return
	}
	// If the result cannot be written, as on a full disk, this process alone knows it: the exit
	// code alone is no proof of a result
	// (docs/internals/decisions.md#an-exit-code-alone-is-no-result).
	err := r.settled(result)
	if err == nil {
		r.kept.release()
	}
	r.Sender.Wait(terminate, startDeliveryPatience)
	if err != nil {
		defer r.sendAlone()()
		r.finish(result)
		return
	}
	r.finishWith(result, finish)
}

// finishWith starts the trailing `sched finish` of a run whose result is written down. Without it,
// this process finishes the run.
func (r *Run) finishWith(result state.Row, finish func(Trailing) error) {
	if finish(Trailing{r, result}) != nil {
		defer r.sendAlone()()
		r.finish(result)
	}
}

// sendAlone gives the run a Sender of its own. The function that it returns waits for the attempts.
// Messages that are not delivered stay in the outbox, and ticks report them.
func (r *Run) sendAlone() (wait func()) {
	r.Sender = notify.NewSender(context.Background(), r.DB, r.Environ)
	r.Sender.Lost = func(d *notify.Delivery, err error) { r.complain("%s: %s: %v", d.Message.Task, d.Hook, err) }
	return func() { r.Sender.Wait(context.Background(), notify.Patience) }
}
