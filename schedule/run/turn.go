package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/state"
)

// This file is about the turns of runs that wait (`without_overlapping: wait`). Runs of one machine
// take turns in the order in which they began to wait (line). Between servers nobody promises an
// order. A run that needs a mutex and a seat stands in line for the seats only while its mutex is
// free: it never keeps a seat empty, and it holds nothing before it has both.

// A turn is what one run waits for.
type turn struct {
	need   mutex.Need
	store  mutex.Locks // of what it needs
	shared bool        // several servers share the store
	line   line
	holder mutex.Holder  // the run; Since is when it began to wait
	waited time.Duration // for so long already, in processes before this one
	atMost time.Duration // how long the wait may take in all, including waited

	// ended returns why the run need not wait any more; nil while it must wait. It is called before
	// each try.
	ended func() error
	// refused says why the run must not start now that its turn has come; "" if it may.
	refused func() string
	patient bool // it waits on while it is refused, and stands in no queue meanwhile
	// took writes down what the run has now, and for how long it has waited. After an error the
	// turn gives that back, and the run waits on.
	took func(mutex.Holding, time.Duration) error
}

// A line is the place of a run among others that wait. It decides only which run tries first: the
// mutex itself is never held twice. If the order is not known, runs still exclude each other, in
// any order.
type line interface {
	// stand has the run stand in the queues of these names, and in no other. It returns a
	// *BehindError when another run is first in one of them. Any other error says that the order is
	// not known.
	stand(names ...string) error

	// behind is stand, but leaves the run in the queues in which it stands.
	behind(names ...string) error
}

// A BehindError says that other runs have waited longer for a mutex, or for a seat. It wraps a
// *mutex.HeldError.
type BehindError struct {
	Name  string       // of the mutex, or of the seats of a pool (state.SeatsOf)
	First mutex.Holder // Since is when it began to wait
}

func (e *BehindError) Error() string {
	what := "mutex " + humanize.Line(e.Name)
	if pool, ok := strings.CutSuffix(e.Name, "#"); ok {
		what = "a seat of pool " + pool
	}
	if e.First.Since.IsZero() {
		return "others wait for " + what
	}
	return fmt.Sprintf("%s waits for %s %s", humanize.Line(e.First.Task), what, e.First)
}

func (e *BehindError) Unwrap() error { return &mutex.HeldError{Name: e.Name, Holder: e.First} }

// A skipError says why a run is skipped that has waited.
type skipError struct{ reason string }

func (e *skipError) Error() string { return e.reason }

// await waits until the run has what it needs. The error is a *skipError, the error of ended, or
// the cause of the context.
func (w turn) await(ctx context.Context) (time.Duration, error) {
	var lacks error // nil while nothing was tried
	begun := time.Now()
	stands := w.queues(nil)
	for {
		waited := w.waited + time.Since(begun)
		switch ended := w.ended(); {
		case ended != nil:
			return waited, ended
		case ctx.Err() != nil:
			return waited, context.Cause(ctx)
		case waited > w.atMost:
			return waited, &skipError{fmt.Sprintf("waited %s: %v", humanize.Duration(w.atMost), whyNot(lacks))}
		}
		if refused := w.refusedStill(lacks); refused != nil {
			w.line.stand() //nolint: it only leaves
			rest(ctx, min(lookAgainAtMost, w.atMost-waited+time.Millisecond))
			continue
		}
		if err := w.line.stand(stands...); errors.As(err, new(*BehindError)) {
			lacks = err
		} else if lacks = w.try(ctx, waited, stands); lacks == nil {
			return waited, nil
		} else if stop := (*skipError)(nil); errors.As(lacks, &stop) && !w.patient {
			return waited, stop
		}
		stands = w.queues(lacks)
		rest(ctx, min(interval(waited, w.shared), w.atMost-waited+time.Millisecond))
	}
}

// refusedStill returns why a run that was refused at its turn must wait on; nil if it may try
// again.
func (w turn) refusedStill(lacks error) error {
	if !errors.As(lacks, new(*skipError)) {
		return nil
	}
	if reason := w.refused(); reason != "" {
		return &skipError{reason}
	}
	return nil
}

// queues returns the queues in which a run stands that lacks what the error says. It stands for its
// mutex from the beginning. It stands for a seat while it lacks a seat, or if it needs no mutex.
func (w turn) queues(lacks error) (names []string) {
	if w.need.Mutex != "" {
		names = append(names, w.need.Mutex)
	}
	full, behind := (*mutex.FullError)(nil), (*BehindError)(nil)
	seatless := errors.As(lacks, &full) || errors.As(lacks, &behind) && behind.Name == state.SeatsOf(w.need.Pool)
	if w.need.Pool != "" && (w.need.Mutex == "" || seatless) {
		names = append(names, state.SeatsOf(w.need.Pool))
	}
	return names
}

// try takes what the run needs, if that is free and the run may start. If the run may not start,
// the error is a *skipError. Stands are the queues in which it stands.
func (w turn) try(ctx context.Context, waited time.Duration, stands []string) error {
	need := w.need
	need.Taken = w.taken(stands)
	holder := w.holder
	holder.Since = clock.Now() // when it got what it has; it began to wait earlier
	held, err := need.Acquire(ctx, w.store, holder)
	if err != nil {
		w.freeOwn(ctx, err)
		return err
	}
	if reason := w.refused(); reason != "" {
		err = &skipError{reason}
	} else {
		err = w.took(held, waited)
	}
	if err != nil {
		held.Lock.Release(context.WithoutCancel(ctx))
	}
	return err
}

// taken says that all seats are taken while others wait for seats and the run does not stand in
// their queue yet: then the run lacks a seat, and joins that queue.
func (w turn) taken(stands []string) func(seat string) (mutex.Holder, bool) {
	seats := state.SeatsOf(w.need.Pool)
	if w.need.Pool == "" || slices.Contains(stands, seats) {
		return nil
	}
	var behind *BehindError
	errors.As(w.line.behind(seats), &behind)
	return func(string) (first mutex.Holder, taken bool) {
		if behind == nil {
			return first, false
		}
		return behind.First, true
	}
}

// freeOwn frees what the run itself holds in a store: an earlier process of the run was killed
// before it wrote that down.
func (w turn) freeOwn(ctx context.Context, err error) {
	var held *mutex.HeldError
	var full *mutex.FullError
	free := func(name string, holder mutex.Holder) {
		if holder.Run == w.holder.Run {
			w.store.Adopt(name, mutex.Holder{Run: holder.Run}, nil).Release(ctx)
		}
	}
	switch {
	case errors.As(err, &full):
		for i, holder := range full.Holders {
			free(mutex.Seat(full.Pool, i+1), holder)
		}
	case errors.As(err, &held):
		free(held.Name, held.Holder)
	}
}

// whyNot is what a run lacked when its time was over.
func whyNot(lacks error) string {
	var held *mutex.HeldError
	var behind *BehindError
	var full *mutex.FullError
	var refused *skipError
	switch {
	case lacks == nil:
		return "no process was there when its time was over"
	case errors.As(lacks, &full), errors.As(lacks, &behind), errors.As(lacks, &refused):
		return lacks.Error()
	case errors.As(lacks, &held):
		return "still running, " + held.Holder.String()
	}
	return fmt.Sprintf("nobody knows whether it is running: %v", lacks)
}

// The time between two looks is a twentieth of how long the run has waited, within these bounds.
// With a store all runs of a process look at the same moments: then one round trip does for all.
const (
	lookAgain, lookAgainInStore = 100 * time.Millisecond, 250 * time.Millisecond
	lookAgainAtMost             = time.Second
)

func interval(waited time.Duration, store bool) time.Duration {
	if !store {
		return min(max(waited/20, lookAgain), lookAgainAtMost)
	}
	each := min(max(waited/20, lookAgainInStore), lookAgainAtMost)
	return time.Until(time.Now().Truncate(each).Add(each))
}

func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
