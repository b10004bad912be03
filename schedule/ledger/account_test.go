package ledger

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/load"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// A story is about ticks of one schedule, with a task that is due each minute, in one state folder.
type story struct {
	*testing.T
	dir      string
	schedule *schedule.Schedule
}

func newStory(t *testing.T) story {
	dir := t.TempDir()
	s, err := load.Text([]byte("tasks: [{name: each, cron: '* * * * *', command: x}]"), dir+"/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return story{t, dir, s}
}

// tick begins a tick. It returns which slots it starts.
func (s story) tick(minute time.Time) (a *Account, starts []schedule.Slot) {
	db := state.At(s.dir, state.Patience)
	s.Cleanup(func() { db.Close() })
	a = &Account{
		Schedule: s.schedule, Valid: true, Dir: s.dir, DB: db, Mark: state.Mark(s.dir), Minute: minute, Covers: true,
		Unwritable:    func(error) bool { return false },
		Paused:        func(*schedule.Task, time.Time) bool { return false },
		EndConditions: func(string) {}, Problem: func(string, ...any) {},
	}
	return a, a.Open(s.schedule.Due(minute))
}

// kill ends a tick as kill -9 does: its journals lose their locks.
func (a *Account) kill() {
	a.journal.Close()
	for _, journal := range a.dead {
		journal.Close()
	}
}

func (s story) wantMissed(a *Account, slot time.Time) {
	s.Helper()
	for _, row := range a.Backfill() {
		if row.Slot.Equal(slot) && row.Outcome == outcome.Missed && row.Reason == killedBefore {
			return
		}
	}
	s.Errorf("%s has no outcome", slot)
}

// Another tick has the minute: nothing starts twice, also after the first was killed.
func TestASecondTickOfAMinuteStartsNothing(t *testing.T) {
	s := newStory(t)
	first, starts := s.tick(noon)
	if len(starts) != 1 || first.Covered() {
		t.Fatalf("the first tick starts %v", starts)
	}
	second, starts := s.tick(noon)
	if len(starts) != 0 || !second.Covered() {
		t.Errorf("the second tick starts %v", starts)
	}
	first.kill()
	if _, starts := s.tick(noon); len(starts) != 0 {
		t.Errorf("after the first was killed the second starts %v", starts)
	}
	next, _ := s.tick(noon.Add(time.Minute))
	s.wantMissed(next, noon)
}

// A tick is killed, and the clock is set back behind its minute. The tick that finds it leaves the slot to its minute, and the tick of
// that minute starts it although the other one still lives.
func TestTheClockIsSetBackBehindATickThatWasKilled(t *testing.T) {
	s := newStory(t)
	now := time.Now().Truncate(time.Minute)
	soon := now.Add(time.Minute)
	first, _ := s.tick(soon)
	first.kill()
	if _, starts := s.tick(now); len(starts) != 1 {
		t.Fatalf("the tick before it starts %v", starts)
	}
	if _, starts := s.tick(soon); len(starts) != 1 || !starts[0].At.Equal(soon) {
		t.Errorf("the second tick of the minute starts %v", starts)
	}
}

// The same, but when the clock is put right no tick comes in that minute: the first one after it finds the slot, although the tick that
// left it to its minute still lives, and ends the journal that promised it later.
func TestTheClockIsSetBackBehindATickThatWasKilledAndForwardOverItsMinute(t *testing.T) {
	s := newStory(t)
	now := time.Now().Truncate(time.Minute)
	first, _ := s.tick(now.Add(2 * time.Minute))
	first.kill()
	back, _ := s.tick(now)
	after, _ := s.tick(now.Add(3 * time.Minute))
	back.Written()
	back.Close()
	var missed []string
	for _, row := range after.Backfill() {
		if row.Outcome == outcome.Missed {
			missed = append(missed, row.Slot.Sub(now).String())
		}
	}
	if want := []string{"2m0s", "1m0s"}; !slices.Equal(missed, want) {
		t.Errorf("%v after now is missed, not %v", missed, want)
	}
}

// An idle tick does not open the database. While a notification waits there it has to.
func TestTheDatabaseIsNotSettledWhileANotificationWaits(t *testing.T) {
	s := newStory(t)
	idle := func(minute int) (settled bool) {
		t.Helper()
		then := time.Now().Add(-time.Hour)
		os.Chtimes(s.dir+"/sched.db", then, then)
		a, _ := s.tick(noon.Add(time.Duration(minute) * time.Minute))
		a.Written()
		a.Close()
		a.DB.Close()
		a.NoteSettled()
		return state.NothingWaits(s.dir)
	}
	idle(0)
	if idle(1); !idle(2) {
		t.Fatal("nothing waits, and each tick opens the database")
	}
	db := state.At(s.dir, state.Patience)
	defer db.Close()
	owner, err := db.Owners().New(state.Finish)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Messages().Put(context.Background(), owner, &state.Message{ID: "1", Created: noon}); err != nil {
		t.Fatal(err)
	}
	db.Rest()
	idle(3)
	if idle(4) {
		t.Error("a notification waits, and the next tick does not open the database")
	}
	if err := db.Messages().Delivered(context.Background(), owner, "1", noon); err != nil {
		t.Fatal(err)
	}
	db.Rest()
	idle(5)
	if !idle(6) {
		t.Error("it was sent, and each tick opens the database")
	}
}
