package state

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state/sqltype"
)

// A Step is one change of a row. Owned.Apply makes it: in the database, if the row is in one of the
// phases, and then in the copy of the row that the caller has. The steps of this file are all that
// happens to a row between Begin and its end:
//
//	step          from                          to          by whom, and what for
//	Take          as it was read                the same    a process whose row it was not; waiting becomes ready
//	TakeIntoPlan  waiting                       planned     a tick that comes to the slot
//	HandOver      any                           the same    the owner, to another process
//	GiveBack      planned, ready                waiting     the owner: a tick goes on with it
//	WaitFor       ready, before any attempt     the same    the supervisor: what the run queues for has changed
//	Acquire       ready                         the same    the supervisor: the run has what it queued for
//	Hold          any                           the same    a tick: what the next attempt needs is taken
//	Start         ready                         running     before the command is forked
//	Fork          running                       the same    after that
//	Renew         running                       the same    each time that the lease was renewed
//	StopCommand   running                       the same    before the command is ended
//	AwaitRetry    running                       ready       the supervisor waits for the next attempt
//	Defer         ready, running                waiting     the next attempt is left to a tick
//	Settle        ready, running                finishing   the outcome is known, and hooks are to be fired
//	End           ready, running, finishing     ended
//
// A row that waits or has ended has no owner.
type Step struct {
	from        []Phase      // the row is in one of them; none: in any, or with takes in the one that was read
	to          Phase        // the phase afterwards; empty: the same
	takes       bool         // the row has the owner that was read, and is ours afterwards; else it is ours before
	sameAttempt bool         // the row has the attempt that was read
	sets        string       // the columns that change sets, beside phase and owner
	change      func(r *Row) // nil for a step that sets nothing
	notes       []string     // are added to the row
	isForOthers bool         // our copy stays as it is, and in the database the largest value counts

	// also is what belongs to the same transaction, after the row was changed; nil for nothing.
	also func(ctx context.Context, q querier, r *Row) error
}

// Groups of columns that are set together.
const (
	wait   = "waits_for not_before until waiting_since waited "
	soFar  = "kind reason exit_code user_cpu system_cpu peak_memory output limits survivors "
	result = "outcome ended " + soFar + wait
)

// Take makes a row ours that must be as it was read: in the same phase, with the same owner, or
// with none.
func Take() Step {
	return Step{takes: true, sets: "phase", change: func(r *Row) {
		if r.Phase == Waiting {
			r.Phase = Ready
		}
	}}
}

// TakeIntoPlan plans a waiting slot. The row still says what it waited for, in case its owner dies
// before it comes to the slot.
func TakeIntoPlan() Step { return Step{takes: true, from: []Phase{Waiting}, to: Planned} }

// putBack undoes TakeIntoPlan.
func putBack() Step { return Step{from: []Phase{Planned}, to: Waiting} }

// HandOver gives our row to another owner.
func HandOver(to int64) Step { return Step{sets: "owner", change: func(r *Row) { r.Owner = to }} }

// GiveBack lets a row wait without an owner. The first Since stays until the row starts, so that
// the row that has waited longest goes first.
func GiveBack(w Wait, why string) Step {
	return Step{from: []Phase{Planned, Ready}, to: Waiting, sets: "waits_for not_before until waiting_since reason",
		change: func(r *Row) {
			r.Wait.For, r.Wait.NotBefore, r.Wait.Until, r.Reason = w.For, w.NotBefore, w.Until, why
			if r.Wait.Since.IsZero() {
				r.Wait.Since = w.Since
			}
		}}
}

// WaitFor changes what a queued row waits for (Row.Queued).
func WaitFor(what WaitsFor) Step {
	return Step{from: []Phase{Ready}, sameAttempt: true, sets: "waits_for",
		change: func(r *Row) { r.Wait.For = what }}
}

// Acquire says that a queued row has the mutex and the seat that it needs, and how long it waited
// for them.
func Acquire(locked bool, seat string, waited time.Duration) Step {
	return Step{from: []Phase{Ready}, sets: "locked seat reason " + wait,
		change: func(r *Row) { r.Locked, r.Seat, r.Reason, r.Wait = locked, seat, "", Wait{Waited: waited} }}
}

// Hold says what the run holds: its mutex, and a seat of its pool.
func Hold(locked bool, seat string) Step {
	return Step{sets: "locked seat", change: func(r *Row) { r.Locked, r.Seat = locked, seat }}
}

// Start says that an attempt is about to begin. It must be committed before the command is forked:
// a row that is still ready has never been started.
func Start(a Attempt) Step {
	a.PID = 0
	return Step{from: []Phase{Ready}, to: Running,
		sets: "attempt attempt_started boot leased pid started kind reason " + wait,
		change: func(r *Row) {
			r.Attempt, r.Kind, r.Reason, r.Wait, r.Values = a, "", "", waited(r.Wait, a.At), nil
			if r.Started.IsZero() {
				r.Started = a.At
			}
		}}
}

// Fork says which process the attempt is.
func Fork(pid int) Step {
	return Step{from: []Phase{Running}, sameAttempt: true, sets: "pid",
		change: func(r *Row) { r.Attempt.PID = pid }}
}

// Renew says when the lease of the lock was renewed: for the process that takes the run over. An
// answer may come late, so the latest time counts.
func Renew(at time.Time) Step {
	return Step{from: []Phase{Running}, sameAttempt: true, isForOthers: true,
		sets: "leased", change: func(r *Row) { r.Attempt.Leased = at }}
}

// StopCommand says that we are about to end the command of the attempt, and why. A reader of the
// exit code then knows that the command did not end by itself.
func StopCommand(kind outcome.Kind, reason string) Step {
	return Step{from: []Phase{Running}, sameAttempt: true, sets: "kind reason",
		change: func(r *Row) { r.Kind, r.Reason = kind, reason }}
}

// AwaitRetry says that an attempt has ended, and that we start the next one, not before then. The
// result is the one of the attempts so far.
func AwaitRetry(result Result, then time.Time) Step {
	return Step{from: []Phase{Running}, to: Ready,
		sets: "waits_for not_before pid " + soFar,
		change: func(r *Row) {
			setSoFar(r, result)
			r.Attempt.PID, r.Wait.For, r.Wait.NotBefore = 0, ForTime, then
		}}
}

// Defer leaves the next attempt to a tick, not before then: until that the row has no owner, no
// mutex and no seat. If a run was lost before its first attempt, that attempt counts as lost, and
// the hooks that were fired before it are fired again.
func Defer(result Result, then time.Time, notes []string) Step {
	return Step{from: []Phase{Ready, Running}, to: Waiting, notes: notes,
		sets: "waits_for not_before until waiting_since attempt pid background locked seat " + soFar,
		change: func(r *Row) {
			setSoFar(r, result)
			r.Attempt.Number, r.Attempt.PID = max(1, r.Attempt.Number), 0
			r.Background, r.Locked, r.Seat = true, false, ""
			r.Wait = Wait{For: ForTime, NotBefore: then, Waited: r.Wait.Waited}
		},
		also: func(ctx context.Context, q querier, r *Row) error {
			if r.Started.IsZero() {
				forgetHooks(ctx, q, r.ID)
			}
			return nil
		}}
}

// Settle says what became of the run. Its hooks are still to be fired.
func Settle(became Result, notes []string) Step {
	return Step{from: []Phase{Ready, Running}, to: Finishing, notes: notes, sets: result,
		change: func(r *Row) { r.Result, r.Wait = became, waited(r.Wait, became.Ended) }}
}

// An Ending says how a run ended, and what follows from it.
type Ending struct {
	Result
	Notes      []string
	Triggered  []outcome.Triggered // the runs that its hooks asked for
	Share      bool                // from now on other servers are told of runs
	Unreported bool                // the next tick is to print it
}

// End ends a run that has nothing left to do: a run that is finishing, or a run that ran, was
// skipped, missed or lost and has no hooks to fire.
func End(e Ending) Step {
	s := Step{from: []Phase{Ready, Running, Finishing}, to: Ended, notes: e.Notes,
		sets: "locked seat triggered unpublished unreported " + result,
		change: func(r *Row) {
			r.Result, r.Wait = e.Result, waited(r.Wait, e.Ended)
			r.Locked, r.Seat, r.Unpublished, r.Unreported = false, "", false, e.Unreported
			if len(e.Triggered) > 0 {
				r.Triggered = e.Triggered
			}
		}}
	s.also = func(ctx context.Context, q querier, r *Row) error {
		forgetHooks(ctx, q, r.ID)
		shared, err := beginSharing(ctx, q, e.Share)
		if shared && r.Ran() {
			q.do(ctx, "UPDATE run SET unpublished = 1 WHERE id = ?", r.ID)
		}
		return err
	}
	return s
}

// endCopied ends the run of a process in another state folder, of which this one is a copy.
func endCopied(now time.Time) Step {
	return Step{to: Ended, sets: "locked seat outcome kind reason ended " + wait,
		change: func(r *Row) {
			if r.Outcome == "" {
				r.Outcome, r.Kind, r.Reason = outcome.Lost, outcome.Copied, copiedReason
				if r.Phase == Planned {
					r.Outcome = outcome.Missed
				}
			}
			if r.Ended.IsZero() {
				r.Ended = now
			}
			r.Locked, r.Seat, r.Wait = false, "", Wait{Waited: r.Wait.Waited}
		},
		also: func(ctx context.Context, q querier, r *Row) error {
			forgetHooks(ctx, q, r.ID)
			return nil
		}}
}

const copiedReason = "this state folder is a copy, and the run belongs to the folder that was copied"

// setSoFar sets the result of the attempts so far, which is no outcome.
func setSoFar(r *Row, soFar Result) {
	r.Result = soFar
	r.Outcome, r.Kind, r.Ended = "", "", time.Time{}
}

// waited returns the wait of a row that waits for nothing any more from then on.
func waited(w Wait, until time.Time) Wait {
	if !w.Since.IsZero() {
		w.Waited += max(0, until.Sub(w.Since))
	}
	return Wait{Waited: w.Waited}
}

// make makes the step of the owner in a copy of the row. It writes only the fields that the step
// is about, because other goroutines may read the others.
func (s Step) make(r *Row, owner int64) {
	if s.change != nil {
		s.change(r)
	}
	if s.to != "" {
		r.Phase = s.to
	}
	switch {
	case r.Phase == Waiting, r.Phase == Ended:
		r.Owner = 0
	case s.takes:
		r.Owner = owner
	}
	for _, note := range s.notes {
		if !slices.Contains(r.Notes, note) {
			r.Notes = append(slices.Clip(r.Notes), note)
		}
	}
}

// apply makes the step of the owner in the database. The row is as it was before.
func (s Step) apply(ctx context.Context, q querier, owner int64, r Row) error {
	after := r
	s.make(&after, owner)
	text, args := s.update(q, owner, r, after)
	n, err := changed(ctx, q, text, args...)
	if err == nil && n == 0 {
		err = staleError(ctx, q, r.ID)
	}
	if err == nil {
		err = addNotes(ctx, q, r.ID, s.notes)
	}
	if err == nil && strings.Contains(s.sets, soFar) {
		err = writeReported(ctx, q, after)
	}
	if err == nil && s.also != nil {
		err = s.also(ctx, q, &after)
	}
	return err
}

// update returns the UPDATE of the step. Its conditions are about the row before.
func (s Step) update(q querier, owner int64, before, after Row) (text string, args []any) {
	sets := strings.Fields(s.sets)
	if s.to != "" {
		sets = append(sets, "phase")
	}
	if s.takes || s.to == Waiting || s.to == Ended {
		sets = append(sets, "owner")
	}
	after.Output = q.relative(after.Output)
	for i, name := range sets {
		sets[i] = name + " = ?"
		if s.isForOthers { // what came later counts
			sets[i] = name + " = max(coalesce(" + name + ", 0), ?)"
		}
		args = append(args, columnOf()[name].value(&after))
	}
	text = "UPDATE run SET " + strings.Join(sets, ", ") + " WHERE id = ? AND owner IS ?"
	args = append(args, before.ID)
	if s.takes {
		args = append(args, sqltype.OrNull(before.Owner))
	} else {
		args = append(args, owner)
	}
	from := s.from
	if s.takes && from == nil {
		from = []Phase{before.Phase}
	}
	if from != nil {
		text += " AND phase IN (?" + strings.Repeat(", ?", len(from)-1) + ")"
		for _, phase := range from {
			args = append(args, phase)
		}
	}
	if s.sameAttempt {
		text, args = text+" AND attempt = ?", append(args, before.Attempt.Number)
	}
	return text, args
}

// staleError says why a row could not be changed.
func staleError(ctx context.Context, q querier, run string) error {
	stale := &StaleError{Run: run}
	err := q.QueryRowContext(ctx, "SELECT phase, coalesce(owner, 0) FROM run WHERE id = ?", run).
		Scan(&stale.Phase, &stale.Owner)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrGone
	case err != nil:
		return err
	}
	return stale
}

// forgetHooks removes the hooks of a run, or of an incident.
func forgetHooks(ctx context.Context, q querier, run string) {
	q.do(ctx, "DELETE FROM hook WHERE run = ?", run)
}
