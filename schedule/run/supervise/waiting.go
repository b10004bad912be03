package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/pause"
	"sched/schedule/run"
	"sched/schedule/run/holding"
	"sched/schedule/run/ownrow"
	"sched/schedule/state"
)

// awaitLock waits until the run has its mutex and its seat. Then the result is nil. Otherwise the
// command will not start. If leftToTick is true, the run waits on: its owner ends, and the next
// tick gives it to another supervisor.
func awaitLock(r *run.Run, queue *queueView, terminate context.Context) (result *state.Row, leftToTick bool) {
	w := newWaiter(r, queue)
	err := w.wait(terminate)
	if err == nil {
		return nil, false
	}
	result = new(r.Own.SoFar())
	result.Wait.Waited, result.Ended = w.waited(), clock.Now()
	if errors.Is(err, errStopAsked) && r.Own.StopIfAsked(result) {
		return result, false
	}
	var skip *skipError
	switch {
	case errors.As(err, &skip):
		result.Outcome, result.Reason = outcome.Skipped, skip.reason
	case r.Task.CatchesUp && terminate.Err() != nil:
		return nil, true
	default:
		ownrow.SetStopped(result, "while it waited: %v", err)
	}
	return result, false
}

func newWaiter(r *run.Run, queue *queueView) *waiter {
	wait := r.Own.Wait
	return &waiter{
		run:          r,
		queue:        queue,
		need:         holding.NeedOf(&r.Task),
		began:        time.Now(),
		waitedBefore: waitedSince(wait, r.Own.Attempt.Boot),
		maxWait:      wait.Until.Sub(wait.Since),
	}
}

// This file is about runs that wait for a mutex or a seat that other runs have
// (`without_overlapping: wait`). Their supervisor waits. Runs of one machine go on in the order in
// which they began to wait: the rows say since when the runs wait, and for what (DB.LiveQueue).
// No run waits for a run whose process has died. Between servers nobody promises an order. A run
// that needs a mutex and a seat is in the queue for the seats only while its mutex is free: it
// never keeps a seat empty, and it holds nothing before it has both.

// A waiter is a run that waits for its mutex, a seat of its pool, or both.
type waiter struct {
	run          *run.Run
	queue        *queueView
	need         mutex.Need    // what it waits for
	began        time.Time     // when this process began to wait
	waitedBefore time.Duration // how long earlier processes have waited
	maxWait      time.Duration // total, including waitedBefore
	queuedAt     time.Time     // when the run came into its present queue, as its row says (enqueue)
	replaced     atomic.Value  // string: the id of the run that stopReplaced has asked to stop
}

// waitedSince returns how long ago a wait began. In the same boot it does not matter whether the
// clock was set meanwhile.
func waitedSince(wait state.Wait, boot string) time.Duration {
	after, ok := clock.SinceBoot()
	if ok && wait.AfterBoot > 0 && boot != "" && boot == clock.BootID() {
		return after - wait.AfterBoot
	}
	return max(0, clock.Now().Sub(wait.Since))
}

// wait waits until the run has its mutex and its seat. The error is a *skipError, errStopAsked, or
// the cause of the context. Each round takes these steps:
//
//  1. It ends the wait if that is over.
//  2. If a pause or a maintenance refused the run in the last round, and still does, the round ends.
//  3. It tries to acquire what the run needs, unless another run is first in a queue. If the queues
//     cannot be read, it tries, too: one broken row must not stop all runs.
//  4. It asks the run that has the mutex to stop, if the task replaces it.
func (w *waiter) wait(ctx context.Context) error {
	var blocked error // why the run does not start yet; nil while nothing was tried
	queues := w.queueNames(nil)
	for {
		if err := w.whyOver(ctx, blocked); err != nil {
			return err
		}
		if isRefusal(blocked) && w.refusal() != "" {
			if !w.run.Task.CatchesUp { // which keeps its place: the runs of later slots have to wait behind it
				w.enqueue() // blocks no other run; after an error it stays, and the next round tries again
			}
			w.sleep(ctx, maxLook)
			continue
		}
		blocked = w.enqueue(queues...)
		if !errors.As(blocked, new(*holding.BehindError)) {
			blocked = w.tryToAcquire(ctx, queues)
		}
		waitsForPause := w.run.Task.RunAfterPause || w.run.Task.CatchesUp
		if blocked == nil || isRefusal(blocked) && !waitsForPause {
			return blocked
		}
		if err := w.stopReplaced(blocked); err != nil {
			return err
		}
		queues = w.queueNames(blocked)
		w.sleep(ctx, w.interval())
	}
}

// queueNames returns the names of the queues for a run that does not start for the reason blocked.
// The run is in the queue for its mutex from the beginning. It is in the queue for the seats while
// it has no seat for that reason, or if it needs no mutex.
func (w *waiter) queueNames(blocked error) (names []string) {
	if w.need.Mutex != "" {
		names = append(names, w.need.Mutex)
	}
	seats := state.SeatQueue(w.need.Pool)
	behind, isBehind := errors.AsType[*holding.BehindError](blocked)
	seatless := errors.As(blocked, new(*mutex.FullError)) || isBehind && behind.Name == seats
	if w.need.Pool != "" && (w.need.Mutex == "" || seatless) {
		names = append(names, seats)
	}
	return names
}

// whyOver returns why the run must not wait any longer; nil if it may.
func (w *waiter) whyOver(ctx context.Context, blocked error) error {
	switch {
	case w.run.Own.StopRequest() != nil:
		return errStopAsked
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case w.waited() > w.maxWait:
		reason := reasonAtDeadline(&w.run.Task, blocked)
		return &skipError{fmt.Sprintf("waited %s: %s", humanize.Duration(w.maxWait), reason)}
	}
	return nil
}

// errStopAsked says that `sched stop` ended the wait; the row of the run says who asked.
var errStopAsked = errors.New("stopped while it waited")

// waited returns how long the run has waited so far.
func (w *waiter) waited() time.Duration { return w.waitedBefore + time.Since(w.began) }

// reasonAtDeadline returns the reason why a run of the task had not started when its time to wait
// was over.
func reasonAtDeadline(task *schedule.Task, blocked error) string {
	var held *mutex.HeldError
	switch {
	case blocked == nil:
		return "no process was there when its time was over"
	case isRefusal(blocked):
		return blocked.Error()
	case errors.As(blocked, new(*mutex.FullError)), errors.As(blocked, new(*holding.BehindError)):
	case errors.As(blocked, &held):
		return holding.StillRunning(task.Name, held.Holder) + ", " + held.Holder.Text(holding.ZoneOf(task))
	}
	return holding.CannotHoldReason(task, blocked)
}

// isRefusal reports whether a pause or a maintenance was the reason why a run did not start
// (tryToAcquire).
func isRefusal(blocked error) bool { return errors.As(blocked, new(*skipError)) }

// A skipError says why a run that has waited is skipped.
type skipError struct{ reason string }

func (e *skipError) Error() string { return e.reason }

// refusal returns the reason why the run must not start although its mutex and its seat are free: a
// pause, or a maintenance. If nobody can find out, the run may start.
func (w *waiter) refusal() string {
	r, now := w.run, clock.Now()
	controls, _ := pause.Source{Dir: r.Dir, Store: r.Store, ReadOnly: true}.Read()
	if p, ok := controls.Pauses.ForTask(&r.Task, now); ok {
		return p.Text(now, holding.ZoneOf(&r.Task))
	}
	reason, _ := pause.Maintenance(r.Task.Maintenance, r.Task.Folder)
	return reason
}

// enqueue puts the run into the queues of these names, and takes it out of all others: it writes
// down for what the run waits, if that has changed. Without a name a pause keeps the run. It
// returns a *BehindError if another run is first in one of the queues. Any other error says that
// the order is not known.
func (w *waiter) enqueue(names ...string) error {
	waitsFor := state.ForMutex
	switch {
	case len(names) == 0:
		waitsFor = state.ForPause
	case slices.Contains(names, state.SeatQueue(w.need.Pool)):
		waitsFor = state.ForSeat
	}
	if w.queuedAt.IsZero() {
		w.queuedAt = time.Now()
	}
	row := &w.run.Own
	if waitsFor != row.Wait.For {
		if err := row.Apply(state.WaitFor(waitsFor)); err != nil {
			return err
		}
		w.queuedAt = time.Now()
	}
	return w.checkFirst(names...)
}

// checkFirst returns the errors of enqueue, but leaves the run in the queues in which it is.
func (w *waiter) checkFirst(names ...string) error {
	rows, err := w.queue.read(w.run.DB, w.queuedAt)
	if err != nil {
		return err
	}
	end, _ := slices.BinarySearchFunc(rows, w.run.Own.Row, state.InOrder)
	return holding.FirstOf(rows[:end], names)
}

// sleep waits for that time, until the wait of the run is over, or until ctx is done.
func (w *waiter) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(min(d, w.maxWait-w.waited()+time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// tryToAcquire acquires the mutex and the seat of the run, if they are free and the run may start.
// If the run may not start, the error is a *skipError. The run is in the queues.
func (w *waiter) tryToAcquire(ctx context.Context, queues []string) error {
	need := w.need
	need.Taken = w.seatsTaken(queues)
	held, err := need.Acquire(ctx, w.run.Mutexes(), holding.NewHolder(w.run.Own.Row))
	if err != nil {
		return err
	}
	if reason := w.refusal(); reason != "" {
		err = &skipError{reason}
	} else {
		err = w.run.Own.Apply(state.Acquire(held.Mutex, held.Seat, w.waited()))
	}
	if err != nil {
		held.Lock.Release(context.WithoutCancel(ctx))
		return err
	}
	w.run.Lock, w.run.Adopted = held.Lock, false
	return nil
}

// seatsTaken returns a function for mutex.Need.Taken. While other runs wait for seats, and this run
// is not in their queue yet, it says that every seat is taken: otherwise this run would overtake
// them. Then the run joins that queue. In any other case seatsTaken returns nil.
func (w *waiter) seatsTaken(queues []string) func(seat string) (mutex.Holder, bool) {
	seats := state.SeatQueue(w.need.Pool)
	var behind *holding.BehindError
	if w.need.Pool == "" || slices.Contains(queues, seats) || !errors.As(w.checkFirst(seats), &behind) {
		return nil
	}
	return func(string) (mutex.Holder, bool) { return behind.First, true }
}

// stopReplaced asks the run that has the mutex to stop, if this run replaces it. The error is a
// *skipError if that run is of another server, or of another state folder.
func (w *waiter) stopReplaced(blocked error) error {
	row := w.run.Own.Row
	held, ok := errors.AsType[*mutex.HeldError](blocked)
	if !ok || w.replaced.Load() == held.Holder.Run {
		return nil
	}
	id := held.Holder.Run
	_, err := w.run.DB.Runs().Row(context.Background(), id)
	isForeign := errors.Is(err, state.ErrNotFound) && (held.Holder.Host != row.Server || w.waited() > unwrittenPatience)
	switch run.ReplacementOf(&w.run.Task, held.Holder, !isForeign) {
	case run.NotReplaced:
		return nil
	case run.ReplacedThere:
		running := holding.StillRunningFor(&w.run.Task, held.Holder, clock.Now())
		return &skipError{running + run.OnlyThere(held.Holder, row.Server)}
	}
	w.replaced.Store(id)
	go func() {
		if err := (run.Caller{Process: w.run.Process}).StopReplaced(id, row.ID); err != nil {
			w.replaced.Store("") // as when the database was locked: the next round asks again
		}
	}()
	return nil
}

// interval returns the time until the next round. With a store all runs of a process begin their
// rounds at the same moments: then one round trip does for all.
func (w *waiter) interval() time.Duration {
	if w.run.Store == nil {
		return min(max(w.waited()/20, minLook), maxLook)
	}
	each := min(max(w.waited()/20, minLookInStore), maxLook)
	return time.Until(time.Now().Truncate(each).Add(each))
}

// The time between two rounds of wait is a twentieth of how long the run has waited, within these
// bounds.
const (
	minLook, minLookInStore = 100 * time.Millisecond, 250 * time.Millisecond
	maxLook                 = time.Second
)

// unwrittenPatience is how long the run that has a mutex may have no row: its process has the mutex
// first, and then writes the row.
const unwrittenPatience = 2 * time.Second

// A queueView caches the queue of one machine. Runs that wait in one process share it, so that
// hundreds of them read all rows once. Safe for concurrent use.
type queueView struct {
	mu     sync.Mutex
	readAt time.Time // when the reading began; zero: the queue was not read yet
	rows   []state.Row
	err    error
}

// queueMaxAge is how old the queue may be that runs see. A run that begins to wait meanwhile comes
// after them.
const queueMaxAge = 50 * time.Millisecond

// read returns the queue as it was at some moment after since. A nil queueView caches nothing.
func (v *queueView) read(db *state.DB, since time.Time) ([]state.Row, error) {
	if v == nil {
		return db.LiveQueue(context.Background())
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if now := time.Now(); !v.readAt.After(since) || now.Sub(v.readAt) > queueMaxAge {
		v.readAt = now
		v.rows, v.err = db.LiveQueue(context.Background())
	}
	return v.rows, v.err
}
