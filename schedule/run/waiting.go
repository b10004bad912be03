package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/pause"
	"sched/schedule/state"
)

// This file is about runs that wait for what others have (`without_overlapping: wait`). Their
// supervisor waits. Runs of one machine go on in the order in which they began to wait (queue.go).
// Between servers nobody promises an order. A run that needs a mutex and a seat stands in the queue
// for the seats only while its mutex is free: it never keeps a seat empty, and it holds nothing
// before it has both.

// A waiter is a run that waits for its mutex, a seat of its pool, or both.
type waiter struct {
	run     *Run
	need    mutex.Need
	begun   time.Time     // when this process began to wait
	before  time.Duration // how long earlier processes have waited
	maxWait time.Duration // total, including before
	seen    time.Time     // from then on the row says for what it waits (stand)
}

// errStopAsked says that `sched stop` ended the wait; the result has it from the run's row.
var errStopAsked = errors.New("stopped while it waited")

// A skipError says why a run is skipped that has waited.
type skipError struct{ reason string }

func (e *skipError) Error() string { return e.reason }

// awaitLock waits until the run has what it must hold. If the result has an outcome, the command
// will not start.
func (r *Run) awaitLock(terminate context.Context) (result state.Row) {
	if !r.row.Queued() {
		return result
	}
	w := newWaiter(r)
	err := w.wait(terminate)
	if err == nil {
		r.left = nil // nothing of it had started before
		return result
	}
	result = r.row.soFar()
	result.Wait.Waited, result.Ended = w.waited(), clock.Now()
	var skip *skipError
	switch {
	case errors.As(err, &skip):
		result.Outcome, result.Reason = outcome.Skipped, skip.reason
	case !errors.Is(err, errStopAsked) || !r.row.stopAsked(&result):
		stopped(&result, "while it waited: %v", err)
	}
	return result
}

func newWaiter(r *Run) *waiter {
	wait := r.row.Wait
	return &waiter{
		run: r, need: NeedOf(&r.task), begun: time.Now(),
		before: max(0, clock.Now().Sub(wait.Since)), maxWait: wait.Until.Sub(wait.Since),
	}
}

// waited is how long the run has waited so far.
func (w *waiter) waited() time.Duration { return w.before + time.Since(w.begun) }

// wait waits until the run has what it needs. The error is a *skipError, errStopAsked, or the cause
// of the context.
func (w *waiter) wait(ctx context.Context) error {
	var lacks error // why the run does not start yet; nil while nothing was tried
	queues, refused := w.queues(nil), false
	for {
		switch {
		case w.run.row.stopRequest() != nil:
			return errStopAsked
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case w.waited() > w.maxWait:
			return &skipError{fmt.Sprintf("waited %s: %v", humanize.Duration(w.maxWait), whyNot(lacks))}
		}
		if refused = refused && w.refusal() != ""; refused {
			w.stand() // in no queue
			w.rest(ctx, longestLook)
			continue
		}
		if lacks = w.stand(queues...); !errors.As(lacks, new(*BehindError)) {
			lacks = w.try(ctx, queues)
		}
		if refused = errors.As(lacks, new(*skipError)); lacks == nil || refused && !w.run.task.RunAfterPause {
			return lacks
		}
		queues = w.queues(lacks)
		w.rest(ctx, w.interval())
	}
}

// queues returns the queues in which a run stands that lacks what the error says. It stands for its
// mutex from the beginning. It stands for a seat while it lacks a seat, or if it needs no mutex.
func (w *waiter) queues(lacks error) (names []string) {
	if w.need.Mutex != "" {
		names = append(names, w.need.Mutex)
	}
	full, behind := (*mutex.FullError)(nil), (*BehindError)(nil)
	seatless := errors.As(lacks, &full) || errors.As(lacks, &behind) && behind.Name == state.SeatQueue(w.need.Pool)
	if w.need.Pool != "" && (w.need.Mutex == "" || seatless) {
		names = append(names, state.SeatQueue(w.need.Pool))
	}
	return names
}

// try takes what the run needs, if that is free and the run may start. If the run may not start,
// the error is a *skipError. Queues are those in which it stands.
func (w *waiter) try(ctx context.Context, queues []string) error {
	need := w.need
	need.Taken = w.taken(queues)
	held, err := need.Acquire(ctx, w.run.Mutexes(), NewHolder(w.run.row.Row))
	if err != nil {
		return err
	}
	if reason := w.refusal(); reason != "" {
		err = &skipError{reason}
	} else {
		err = w.took(held)
	}
	if err != nil {
		held.Lock.Release(context.WithoutCancel(ctx))
	}
	return err
}

// taken says that all seats are taken while others wait for seats and the run does not stand in
// their queue yet: then the run lacks a seat, and joins that queue.
func (w *waiter) taken(queues []string) func(seat string) (mutex.Holder, bool) {
	seats := state.SeatQueue(w.need.Pool)
	var behind *BehindError
	if w.need.Pool == "" || slices.Contains(queues, seats) || !errors.As(w.behind(seats), &behind) {
		return nil
	}
	return func(string) (mutex.Holder, bool) { return behind.First, true }
}

// took gives the run what it waited for.
func (w *waiter) took(held mutex.Holding) error {
	r, waited := w.run, w.waited()
	if err := r.row.took(held, waited); err != nil {
		return err
	}
	r.lock = held.Lock
	return nil
}

// refusal returns why the run must not start although it could have what it needs: a pause, or
// maintenance. If that cannot be found out, the run may start.
func (w *waiter) refusal() string {
	r, now := w.run, clock.Now()
	set, _ := pause.Source{Dir: r.Dir, Store: r.Store, ReadOnly: true}.Read()
	if pause, ok := set.Pauses.Of(r.task.Name, r.task.EvenWhenPaused, now); ok {
		return pause.Text(now, zoneOf(&r.task))
	}
	reason, _ := pause.Maintenance(r.task.Maintenance, r.task.Folder)
	return reason
}

// whyNot is what a run lacked when its time was over.
func whyNot(lacks error) string {
	var held *mutex.HeldError
	switch {
	case lacks == nil:
		return "no process was there when its time was over"
	case errors.As(lacks, new(*mutex.FullError)), errors.As(lacks, new(*BehindError)), errors.As(lacks, new(*skipError)):
		return lacks.Error()
	case errors.As(lacks, &held):
		return "still running, " + held.Holder.String()
	}
	return fmt.Sprintf("nobody knows whether it is running: %v", lacks)
}

// The time between two looks is a twentieth of how long the run has waited, within these bounds.
const (
	shortestLook, shortestLookInStore = 100 * time.Millisecond, 250 * time.Millisecond
	longestLook                       = time.Second
)

// interval returns the time until the next look. With a store all runs of a process look at the
// same moments: then one round trip does for all.
func (w *waiter) interval() time.Duration {
	if w.run.Store == nil {
		return min(max(w.waited()/20, shortestLook), longestLook)
	}
	each := min(max(w.waited()/20, shortestLookInStore), longestLook)
	return time.Until(time.Now().Truncate(each).Add(each))
}

// rest waits for that time, until the wait of the run is over, or until ctx is done.
func (w *waiter) rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(min(d, w.maxWait-w.waited()+time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
