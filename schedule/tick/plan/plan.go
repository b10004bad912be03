// Package plan decides, in one transaction (state.Plan), what a tick starts, so that every slot
// has one outcome, whatever is killed. Open
//
//   - finds out which minutes no tick covered, and which slots dead ticks have left;
//   - records what was missed;
//   - plans the slots of its own minute, and covers the minute.
//
// The steps are in docs/internals/how-a-run-works.md#the-plan-of-a-minute.
package plan

import (
	"context"
	"errors"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/state"
)

// Open accounts for the minute of the tick. It returns the slots that the tick starts: due slots,
// slots that waited, and missed slots that run once. It returns none when another tick has covered
// the minute. After an error nothing is accounted for, and it returns the due slots.
func Open(l *Ledger, slots []schedule.Slot) (starts []schedule.Slot, err error) {
	for setAside := false; ; {
		starts, err = tryToPlan(l, slots)
		switch {
		case errors.Is(err, errUnread):
			l.paused = new(l.ReadPauses())
			if l.elsewhere == nil && len(l.asked) > 0 {
				l.elsewhere = l.ReadElsewhere(l.asked)
			}
			continue
		case state.Damaged(err) && !setAside: // there is a new database now
			setAside = true
			continue
		case err != nil:
			l.Findings = Findings{}
			return slots, err
		}
		for _, text := range l.problems {
			l.Problem("%s", text)
		}
		return starts, nil
	}
}

// tryToPlan is one try of Open. After an error nothing is planned.
func tryToPlan(l *Ledger, slots []schedule.Slot) (starts []schedule.Slot, err error) {
	ctx := context.Background()
	if l.tx, err = l.DB.Plan(ctx); err != nil {
		return nil, err
	}
	defer l.tx.Rollback()
	l.Findings = Findings{runs: map[slotKey]plannedRun{}, waiting: map[slotKey]state.Row{}}
	hasWork, err := l.tx.Runs().HasWork(ctx)
	if err != nil {
		return nil, err
	}
	l.Idle = !hasWork
	last, err := lastCovered(ctx, l)
	if err != nil {
		return nil, err
	}
	// This tick may be too late, or one too many for its minute
	// (docs/internals/decisions.md#it-starts-nothing-in-a-minute-that-is-covered).
	if l.Covers && last.After(l.Minute) {
		text := func(minute time.Time) string { return humanize.MinuteZone(minute, l.Schedule.Location) }
		l.addProblem("this tick of %s was held up until %s was covered, and starts nothing", text(l.Minute), text(last))
		return nil, nil
	}
	if l.Covers && last.Equal(l.Minute) {
		l.Covered = true
		_, err := l.tx.Values().Get(ctx, keyCoveredBy, &l.CoveredBy)
		return nil, err
	}
	if l.Covers {
		starts, err = planMinute(ctx, l, slots, last)
	} else {
		starts, err = slots, planOnce(ctx, l, slots, last)
	}
	if err != nil {
		return nil, err
	}
	return starts, l.tx.Commit()
}

// errUnread says that the plan depends on more than was read yet: see backfill.needsMore.
var errUnread = errors.New("what is paused was not read yet")

// keyCoveredBy names the value that has the file of the schedule of the last tick that covered a
// minute. A second schedule in the same state folder would run nothing.
const keyCoveredBy = "covered_by"

// planMinute plans what this tick starts, and records what nobody starts any more: steps 2 to 6 of
// docs/internals/how-a-run-works.md#the-plan-of-a-minute.
func planMinute(ctx context.Context, l *Ledger, slots []schedule.Slot, last time.Time) ([]schedule.Slot, error) {
	// 2. The slots that dead ticks have left, and the slots that live ticks have planned.
	left, live, err := l.tx.Reclaim(ctx, l.Minute.Add(time.Minute))
	if err != nil {
		return nil, err
	}

	// 3. The slots of this minute that nobody has accounted for, and the slots that waited.
	open, err := dropSettled(ctx, l, slots, last)
	if err != nil {
		return nil, err
	}
	b := &backfill{ledger: l, gap: findGap(ctx, l, last), leftMissed: map[string][]miss{}, begun: map[slotKey]bool{}}
	delayed, err := takeDelayed(ctx, b)
	if err != nil {
		return nil, err
	}
	waited := func(s schedule.Slot) bool { _, waited := l.waiting[keyOf(s)]; return waited }
	open = slices.DeleteFunc(slices.Clone(open), waited) // the clock was set back
	open, err = addBootSlots(ctx, l, open, last)
	if err != nil {
		return nil, err
	}

	// 4. The slots that start: the slots that waited come first, and missed slots may join. The
	// slots that nobody starts get outcomes.
	if err := findLacking(ctx, b); err != nil {
		return nil, err
	}
	starts, err := settlePast(ctx, b, open, left)
	if err != nil {
		return nil, err
	}
	starts = append(skipOutdated(b, delayed, starts, live), starts...)
	if b.needsMore {
		return nil, errUnread
	}
	starts, err = catchUp(ctx, l, starts, live)
	if err != nil {
		return nil, err
	}

	return starts, write(ctx, b, starts)
}

// write records what nobody starts, adds the rows of what starts, and covers the minute.
func write(ctx context.Context, b *backfill, starts []schedule.Slot) error {
	l := b.ledger
	if err := l.tx.Runs().Record(ctx, b.rows, l.Shared); err != nil {
		return err
	}
	l.Recorded = len(b.rows)
	if b.runNow+b.stayMissed > 0 {
		l.addProblem("%s", b.reasons.summary(b.runNow))
	}

	// 5. The rows of what starts, and of the slots that waited too long: this tick fires their
	// hooks.
	planned := slices.Clone(starts)
	for _, expired := range l.Expired {
		planned = append(planned, expired.Slot)
	}
	if err := addRows(ctx, l, planned); err != nil {
		return err
	}

	// 6. The minute is covered, with the schedule that the tick used.
	if err := keepValid(ctx, l); err != nil {
		return err
	}
	if err := l.tx.Values().Set(ctx, keyCoveredBy, l.Schedule.File); err != nil {
		return err
	}
	return l.tx.Values().Cover(ctx, l.Minute)
}

// lastCovered returns the last minute that a tick covered; zero if no tick ever did. A minute in
// the future was covered when the clock was wrong, and does not count
// (docs/internals/decisions.md#wrong-clocks). lastCovered reads the clock again: for a tick that
// was held up, minutes that have passed meanwhile are not in the future.
func lastCovered(ctx context.Context, l *Ledger) (time.Time, error) {
	last, err := l.tx.Values().Covered(ctx)
	if last.After(clock.Now()) && last.After(l.Minute) {
		last = time.Time{}
	}
	return last, err
}

// planOnce plans for a tick that accounts for nothing, so that the next tick ends its condition
// commands if this tick is killed while they run.
func planOnce(ctx context.Context, l *Ledger, slots []schedule.Slot, last time.Time) error {
	isPlain := func(s schedule.Slot) bool { return len(s.Task.ConditionCommands) == 0 }
	conditional := slices.DeleteFunc(slices.Clone(slots), isPlain)
	err := addRows(ctx, l, conditional)
	// If a tick has covered a minute, the schedule of that tick stays the last valid one: the next
	// tick compares with it to find out which tasks are new.
	if err == nil && last.IsZero() {
		err = keepValid(ctx, l)
	}
	return err
}
