package plan

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/past"
	"sched/schedule/state"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A story is about ticks of one schedule, with a task that is due each minute, in one state folder.
type story struct {
	*testing.T
	dir      string
	schedule *schedule.Schedule
}

func newStory(t *testing.T) story {
	dir := t.TempDir()
	s, err := load.Text([]byte("tasks: [{name: each, cron: '* * * * *', command: x}]"),
		dir+"/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return story{t, dir, s}
}

// tick begins a tick. It returns which slots it starts.
func (s story) tick(minute time.Time) (a *Ledger, starts []schedule.Slot) {
	db := state.At(s.dir, state.Patience)
	s.Cleanup(func() { db.Close() })
	defer func() { // the tick lives: garbage collection closes the file of its owner, and so ends it
		s.Cleanup(func() { runtime.KeepAlive(a) })
	}()
	a = &Ledger{
		Schedule: s.schedule, Valid: true, Dir: s.dir, DB: db, Self: db.Self(state.Tick), Minute: minute, Covers: true,
		ReadPauses: func() Paused {
			return Paused{By: func(*schedule.Task, time.Time) string { return "" },
				Touches: func(*schedule.Task, time.Time, time.Time) bool { return false }}
		},
		Problem: func(format string, args ...any) { s.Logf(format, args...) },
	}
	starts, err := Open(a, s.schedule.Due(minute))
	if err != nil {
		s.Fatal(err)
	}
	return a, starts
}

// pausesTouch says that a pause may cover any slot.
func pausesTouch(*schedule.Task, time.Time, time.Time) bool { return true }

// kill ends a tick as kill -9 does: the kernel unlocks its file, and its rows stay.
func (a *Ledger) kill() { a.Self.Close() }

// missed returns when slots were missed, the newest first.
func (s story) missed() (missed []time.Time) {
	s.Helper()
	db := state.At(s.dir, state.Patience)
	defer db.Close()
	rows, err := past.Of(db).Find(context.Background(), past.Query{Outcomes: []outcome.Outcome{outcome.Missed}})
	if err != nil {
		s.Fatal(err)
	}
	for _, row := range rows {
		missed = append(missed, row.Slot)
	}
	return missed
}

// Another tick has the minute: nothing starts twice, also after the first was killed.
func TestASecondTickOfAMinuteStartsNothing(t *testing.T) {
	s := newStory(t)
	first, starts := s.tick(noon)
	if len(starts) != 1 || first.Covered {
		t.Fatalf("the first tick starts %v", starts)
	}
	second, starts := s.tick(noon)
	if len(starts) != 0 || !second.Covered {
		t.Errorf("the second tick starts %v", starts)
	}
	first.kill()
	if _, starts := s.tick(noon); len(starts) != 0 {
		t.Errorf("after the first was killed the second starts %v", starts)
	}
	s.tick(noon.Add(time.Minute))
	if missed := s.missed(); !slices.Equal(missed, []time.Time{noon}) {
		t.Errorf("%v is missed", missed)
	}
}

// A slot that a live tick has planned and not come to yet belongs to no other tick.
func TestALongTickKeepsWhatItHasPlanned(t *testing.T) {
	s := newStory(t)
	s.tick(noon)
	s.tick(noon.Add(time.Minute))
	s.tick(noon.Add(2 * time.Minute))
	if missed := s.missed(); len(missed) > 0 {
		t.Errorf("%v is missed", missed)
	}
}

// A tick is killed, and the clock is set back behind its minute. The tick that finds the slot
// leaves it to its minute. The tick of that minute starts the slot although the tick that found it
// still lives. It begins the run of the killed tick, which may have claimed the slot for all
// servers.
func TestTheClockIsSetBackBehindATickThatWasKilled(t *testing.T) {
	s := newStory(t)
	now := time.Now().Truncate(time.Minute)
	soon := now.Add(time.Minute)
	first, _ := s.tick(soon)
	first.kill()
	if _, starts := s.tick(now); len(starts) != 1 {
		t.Fatalf("the tick before it starts %v", starts)
	}
	second, starts := s.tick(soon)
	if len(starts) != 1 || !starts[0].At.Equal(soon) {
		t.Fatalf("the second tick of the minute starts %v", starts)
	}
	was, _ := first.RunOf(starts[0])
	if is, _ := second.RunOf(starts[0]); is != was || is == "" {
		t.Errorf("the second tick of the minute begins run %q, the first one %q", is, was)
	}
}

// The same, but when the clock is put right no tick comes in that minute: the first one after it
// finds the slot.
func TestTheClockIsSetBackBehindATickThatWasKilledAndForwardOverItsMinute(t *testing.T) {
	s := newStory(t)
	now := time.Now().UTC().Truncate(time.Minute)
	first, _ := s.tick(now.Add(2 * time.Minute))
	first.kill()
	s.tick(now)
	s.tick(now.Add(3 * time.Minute))
	if missed, want := s.missed(), []time.Time{now.Add(2 * time.Minute),
		now.Add(time.Minute)}; !slices.Equal(missed, want) {
		t.Errorf("%v is missed, not %v", missed, want)
	}
}

// A run began while the database could not be written, and its tick was killed: the row of its slot
// is still planned. The run began again when the clock was set back, or counted as missed.
func TestASlotWhoseRunCouldNotBeWrittenDownDoesNotBeginAgain(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Minute)
	soon := now.Add(time.Minute)
	for _, next := range []time.Time{soon, soon.Add(time.Minute)} {
		s := newStory(t)
		first, starts := s.tick(soon)
		id, _ := first.RunOf(starts[0])
		file, err := output.Open(output.Path(s.dir, state.Row{Task: "each", ID: id}))
		if err != nil {
			t.Fatal(err)
		}
		output.MarkUnwritten(file, 1)
		file.Close()
		first.kill()
		s.tick(now)
		second, starts := s.tick(next)
		if slices.ContainsFunc(starts, func(slot schedule.Slot) bool { return slot.At.Equal(soon) }) {
			t.Errorf("the tick of %s begins it again", next)
		}
		row, err := second.DB.Runs().Row(t.Context(), id)
		if err != nil || row.Outcome != outcome.Lost || !row.Slot.Equal(soon) {
			t.Errorf("the tick of %s: %+v, %v", next, row, err)
		}
	}
}

// The plan asks what is paused only when it has to know that, and then begins anew.
func TestASlotOfAPauseIsNotMadeUp(t *testing.T) {
	s := newStory(t)
	s.schedule.Tasks[0].RunMissed, s.schedule.Tasks[0].MissedWithin = true, time.Hour
	s.tick(noon)
	db := state.At(s.dir, state.Patience)
	t.Cleanup(func() { db.Close() })
	asked := 0
	a := &Ledger{
		Schedule: s.schedule, Valid: true, DB: db, Self: db.Self(state.Tick),
		Minute: noon.Add(5 * time.Minute), Covers: true,
		ReadPauses: func() Paused {
			asked++
			if _, err := db.Values().Covered(context.Background()); err != nil {
				t.Error(err)
			}
			return Paused{Touches: pausesTouch, By: func(_ *schedule.Task, at time.Time) string {
				if at.Equal(noon.Add(4 * time.Minute)) {
					return "paused by ann"
				}
				return ""
			}}
		},
		Problem: func(string, ...any) {},
	}
	starts, err := Open(a, nil)
	if err != nil || len(starts) != 1 || !starts[0].At.Equal(noon.Add(3*time.Minute)) || asked != 1 {
		t.Errorf("it starts %v, and asked %d times: %v", starts, asked, err)
	}
	if missed := s.missed(); len(missed) != 2 {
		t.Errorf("%v is missed", missed)
	}
	skipped, err := past.Of(db).Find(t.Context(), past.Query{Outcomes: []outcome.Outcome{outcome.Skipped}})
	if err != nil || len(skipped) != 1 || !skipped[0].Slot.Equal(noon.Add(4*time.Minute)) ||
		skipped[0].Reason != "paused by ann" {
		t.Errorf("skipped: %+v, %v", skipped, err)
	}
}

// A plan that fails has found nothing and recorded nothing.
func TestAPlanThatFailsRecordsNothing(t *testing.T) {
	s := newStory(t)
	first, _ := s.tick(noon)
	first.Self.Close()
	db := state.At(s.dir, state.Patience)
	t.Cleanup(func() { db.Close() })
	minute := noon.Add(5 * time.Minute)
	later := &Ledger{
		Schedule: s.schedule, Valid: true, Dir: s.dir, DB: db, Self: db.Self(state.Tick), Minute: minute, Covers: true,
		ReadPauses: func() Paused { // from now on the tick cannot own rows
			locks := filepath.Join(s.dir, "locks")
			if err := errors.Join(os.RemoveAll(locks), os.WriteFile(locks, nil, 0o600)); err != nil {
				t.Error(err)
			}
			never := func(*schedule.Task, time.Time) string { return "" }
			return Paused{By: never, Touches: func(*schedule.Task, time.Time, time.Time) bool { return false }}
		},
		Problem: func(string, ...any) {},
	}
	starts, err := Open(later, s.schedule.Due(minute))
	if err == nil || len(starts) != 1 || later.Recorded != 0 {
		t.Errorf("it starts %v, and has recorded %d rows: %v", starts, later.Recorded, err)
	}
}

// A gap of a month has one row for the older slots of each pause, and for those between.
func TestTheSlotsOfAGapArePausedOrMissed(t *testing.T) {
	s := newStory(t)
	s.tick(noon)
	db := state.At(s.dir, state.Patience)
	t.Cleanup(func() { db.Close() })
	// 599 slots of each, the newest 100 with rows of their own
	minute := noon.Add(10 * time.Hour)
	// one that was missed, and one in a pause, ran
	for _, after := range []time.Duration{30 * time.Minute, 150 * time.Minute} {
		ran := state.Row{ID: outcome.NewID(), Task: "each", Slot: noon.Add(after), Phase: state.Ended,
			Result: state.Result{Outcome: outcome.Succeeded, Ended: noon}}
		if err := db.Runs().Record(t.Context(), []state.Row{ran}, false); err != nil {
			t.Fatal(err)
		}
	}
	a := &Ledger{
		Schedule: s.schedule, Valid: true, DB: db, Self: db.Self(state.Tick), Minute: minute, Covers: true,
		Problem: func(string, ...any) {},
		ReadPauses: func() Paused {
			return Paused{Touches: pausesTouch, By: func(_ *schedule.Task, at time.Time) string {
				if h := at.Sub(noon) / time.Hour; h == 2 || h == 5 || h == 9 {
					return "paused by ann"
				}
				return ""
			}}
		},
	}
	if _, err := Open(a, nil); err != nil {
		t.Fatal(err)
	}
	for became, want := range map[outcome.Outcome]int{outcome.Skipped: 180 - 1, outcome.Missed: 599 - 180 - 1} {
		rows, err := past.Of(db).Find(t.Context(), past.Query{Task: "each", Outcomes: []outcome.Outcome{became}})
		if err != nil {
			t.Fatal(err)
		}
		slots := 0
		for _, row := range rows {
			slots += max(row.Slots, 1)
			for at := row.Slot; !at.After(humanize.Later(row.Slot, row.LastSlot)); at = at.Add(time.Minute) {
				if h := at.Sub(noon) / time.Hour; (h == 2 || h == 5 || h == 9) != (became == outcome.Skipped) {
					t.Errorf("%s: %s in %+v", at, became, row)
				}
			}
		}
		if slots != want {
			t.Errorf("%d slots were %s, not %d", slots, became, want)
		}
	}
}

// Somebody has asked for the run of a slot before its tick came. The tick runs it again, and does
// not have it wait: it would wait as a run that somebody asked for.
func TestASlotThatHasARowDoesNotWait(t *testing.T) {
	s := newStory(t)
	db := state.At(s.dir, state.Patience)
	defer db.Close()
	asked := state.Row{ID: outcome.NewID(), Task: "each", Slot: noon, Phase: state.Ended,
		Result: state.Result{Outcome: outcome.Succeeded, Ended: noon}}
	if err := db.Runs().Record(t.Context(), []state.Row{asked}, false); err != nil {
		t.Fatal(err)
	}
	a, starts := s.tick(noon)
	if len(starts) != 1 {
		t.Fatalf("it starts %v", starts)
	}
	if isNew, ok := a.Delay(starts[0], state.ForStore, "the store is down"); ok {
		t.Errorf("it waits: new %t", isNew)
	}
	a.kill()
	s.tick(noon.Add(time.Minute))
	if missed := s.missed(); len(missed) > 0 {
		t.Errorf("%v is missed", missed)
	}
}

// A gap has one row for the older slots that other servers have. The other slots were missed.
func TestTheSlotsOfAGapThatOtherServersHaveAreNotMissed(t *testing.T) {
	s := newStory(t)
	s.schedule.Tasks[0].OneServer = true
	s.tick(noon)
	db := state.At(s.dir, state.Patience)
	t.Cleanup(func() { db.Close() })
	never := func(*schedule.Task, time.Time) string { return "" }
	touchesNone := func(*schedule.Task, time.Time, time.Time) bool { return false }
	asked, problems := 0, []string(nil)
	a := &Ledger{
		Schedule: s.schedule, Valid: true, DB: db, Self: db.Self(state.Tick), Covers: true, Shared: true,
		Minute:     noon.Add(10 * time.Hour),
		ReadPauses: func() Paused { return Paused{By: never, Touches: touchesNone} },
		ReadElsewhere: func(slots []schedule.Slot) map[schedule.Slot]string {
			asked++
			has := map[schedule.Slot]string{}
			if first := noon.Add(time.Minute); !slices.ContainsFunc(slots, func(s schedule.Slot) bool { return s.At.Equal(first) }) {
				t.Error("the first slot is not asked for")
			}
			for at := noon.Add(time.Hour); at.Before(noon.Add(10 * time.Hour)); at = at.Add(time.Minute) {
				has[schedule.Slot{Task: s.schedule.Tasks[0], At: at}] = "web-2 has it"
			}
			return has
		},
		Problem: func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) },
	}
	if _, err := Open(a, nil); err != nil || asked != 1 {
		t.Fatalf("it asked %d times: %v", asked, err)
	}
	if want := ": 59 slots of 1 task"; len(problems) != 1 || !strings.HasSuffix(problems[0], want) {
		t.Errorf("%q, want one that ends with %q", problems, want)
	}
	for became, want := range map[outcome.Outcome][2]int{outcome.Skipped: {101, 540}, outcome.Missed: {1, 59}} {
		rows, err := past.Of(db).Find(t.Context(), past.Query{Outcomes: []outcome.Outcome{became}})
		slots := 0
		for _, row := range rows {
			slots += max(row.Slots, 1)
			if isElsewhere := row.Kind == outcome.Elsewhere; isElsewhere != (became == outcome.Skipped) {
				t.Errorf("%s: %+v", became, row)
			}
		}
		if err != nil || len(rows) != want[0] || slots != want[1] {
			t.Errorf("%d rows of %d slots are %s, want %v: %v", len(rows), slots, became, want, err)
		}
	}
}
