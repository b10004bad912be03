package tick

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
	"sched/testing/machine"
)

// live is Tick.Run for a tick that may die in every step, for which the kernel then closes its
// files.
func (w *world) live(mortal bool) { w.liveAs(w.tick(), mortal) }

func (w *world) liveAs(t *Tick, mortal bool) {
	dies := func() bool { return mortal && w.random.IntN(12) == 0 }
	if w.lastTick().Equal(t.Minute) { // for all that one can see, somebody asks for it once more
		w.again[t.Minute] = true
	}
	tick, slots := w.beginAs(t)
	// it looks at the clock, which the next tick sets
	defer tick.launcher.sender.Wait(context.Background(), notify.Patience)
	early := w.random.IntN(3) == 0
	for _, slot := range slots {
		if dies() {
			tick.die()
			return
		}
		tick.run(slot)
		if early {
			tick.collector.collectLost()
			tick.launcher.records.writeAll(0)
		}
	}
	if dies() {
		tick.die()
		return
	}
	tick.collector.collectLost()
	tick.launcher.records.writeAll(0)
	if dies() {
		tick.die()
		return
	}
	tick.close()
}

// lastTick returns the last minute that was covered.
func (w *world) lastTick() time.Time {
	db := state.At(w.storage.Dir, state.Patience)
	defer db.Close()
	last, _ := db.Values().Covered(context.Background())
	return last
}

// Each due slot has exactly one outcome, whatever ticks come, stay away, or are killed, whatever
// people replay, and when the clock is set back. A slot that somebody asked for once more may have
// several, and none of them is missed.
func TestEverySlotHasOneOutcome(t *testing.T) {
	for seed := range uint64(machine.Sized(4, 20)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { everySlotHasOneOutcome(t, seed) })
	}
}

// replay ticks as people do beside cron: for a minute of the past, which may be one that was
// missed, for one task alone, or for this minute once more.
func (w *world) replay(first time.Time) {
	tick := w.tick()
	switch w.random.IntN(4) {
	case 0:
		tick.Only = w.schedule.Tasks[w.random.IntN(len(w.schedule.Tasks))].Name
	case 1: // of this minute
	case 2:
		tick.Replay, tick.Minute = true, first.Add(time.Duration(w.random.Int64N(int64(w.now.Sub(first)+time.Minute)))).Truncate(time.Minute)
	case 3:
		tick.Replay, tick.Minute = true, w.missedSlot(tick.Minute).Truncate(time.Minute)
	}
	w.again[tick.Minute] = true
	w.liveAs(tick, true)
}

// missedSlot returns the first slot of one of the missed records of a task, or the time given when
// it has none.
func (w *world) missedSlot(none time.Time) time.Time {
	var missed []state.Row
	for _, r := range w.records(w.schedule.Tasks[w.random.IntN(len(w.schedule.Tasks))].Name) {
		if r.Outcome == outcome.Missed && (r.IsRange() || w.random.IntN(100) == 0) {
			missed = append(missed, r)
		}
	}
	if len(missed) == 0 {
		return none
	}
	return missed[w.random.IntN(len(missed))].Slot
}

var someTimes = []string{"* * * * *", "*/7 * * * *", "30 2 * * *", "0 * * * *", "*/20 * 2-4 * * *", "15 3 * * SUN",
	"59 23 L * *", "0,1 */2 * * *"}

func everySlotHasOneOutcome(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	var tasks strings.Builder
	for i := range 1 + random.IntN(4) {
		extra := []string{", days: weekdays", ", missed: once", ", missed: once, missed_within: 2h",
			", between: ['6:00', '18:00'], missed: once", ", when: ['false']"}[random.IntN(5)]
		fmt.Fprintf(&tasks, "- {name: t%d, cron: %q, command: ['true']%s}\n",
			i, someTimes[random.IntN(len(someTimes))], extra)
	}
	w := newWorld(t, seed, tasks.String())
	w.live(false)
	first, newest := w.now, w.now
	for range 40 {
		newest = humanize.Later(newest, w.now)
		switch w.random.IntN(7) {
		case 6: // the clock is set back
			w.now = humanize.Later(first, w.now.Add(-time.Duration(1+w.random.IntN(100))*time.Minute))
		case 0:
			w.now = w.now.Add(time.Duration(1+w.random.IntN(5)) * time.Minute)
		case 1:
			w.now = w.now.Add(time.Duration(1+w.random.IntN(30*60)) * time.Minute)
		default:
			w.now = w.now.Add(time.Minute)
		}
		if w.random.IntN(4) == 0 {
			w.replay(first)
		}
		if w.random.IntN(15) == 0 {
			w.again[w.now.Truncate(time.Minute)] = true // what ran before a clock was set back is not known then
			w.withoutHistory(func() { w.live(true) })
		} else {
			w.live(true)
		}
		if w.random.IntN(4) == 0 {
			w.replay(first)
		}
		newest = humanize.Later(newest, w.now)
	}
	w.now = humanize.Later(w.now, newest).Add(time.Minute)
	w.live(false)
	w.now = w.now.Add(time.Minute)
	w.live(false)
	w.check(first, w.now.Add(time.Minute))
}

// withoutHistory does something while the history cannot be opened: it is one of a newer sched, by
// the user_version in its header (https://www.sqlite.org/fileformat.html).
func (w *world) withoutHistory(do func()) {
	file, err := os.OpenFile(filepath.Join(w.storage.Dir, "sched.db"), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		do()
		return
	}
	if err != nil {
		w.Fatal(err)
	}
	defer file.Close()
	version := make([]byte, 4)
	if _, err := file.ReadAt(version, 60); err != nil {
		w.Fatal(err)
	}
	if _, err := file.WriteAt([]byte{1, 0, 0, 0}, 60); err != nil {
		w.Fatal(err)
	}
	do()
	if _, err := file.WriteAt(version, 60); err != nil {
		w.Fatal(err)
	}
}

// check compares the history with what was due in [from, to).
func (w *world) check(from, to time.Time) {
	w.Helper()
	db, err := state.OpenRead(w.storage.Dir, state.Patience)
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	for _, task := range w.schedule.Tasks {
		records, err := past.Of(db).Find(context.Background(), past.Query{Task: task.Name})
		if err != nil {
			w.Fatal(err)
		}
		outcomes, runs := map[time.Time][]string{}, 0
		for _, r := range records {
			slots := []time.Time{r.Slot}
			if r.IsRange() {
				slots = nil
				for at := range task.When.Backward(r.Slot, r.LastSlot.Add(time.Second)) {
					slots = append(slots, at)
				}
				if len(slots) < r.Slots {
					w.Errorf("%s: the row for %d slots from %s through %s has room for %d",
						task.Name, r.Slots, r.Slot, r.LastSlot, len(slots))
				}
				n := 0 // a row may stand for slots around one that ran
				for _, at := range slots {
					if !w.alone(records, at) {
						outcomes[at] = append(outcomes[at], string(r.Outcome)+" in a row")
						n++
					}
				}
				if n != r.Slots {
					w.Errorf("%s: the row for %d slots from %s through %s stands for %d",
						task.Name, r.Slots, r.Slot, r.LastSlot, n)
				}
				continue
			}
			if !r.Started.IsZero() {
				runs++
			}
			outcomes[r.Slot] = append(outcomes[r.Slot], string(r.Outcome))
		}
		due := 0
		for at := range task.When.Backward(from, to) {
			due++
			got := outcomes[at]
			replayed := w.again[at.Truncate(time.Minute)] && len(got) > 1 && !slices.ContainsFunc(got, isMissed)
			if len(got) != 1 && !replayed {
				w.Errorf("%s %s at %s: %d outcomes: %v", task.Name, task.When, at, len(outcomes[at]), outcomes[at])
			}
			delete(outcomes, at)
		}
		for at, more := range outcomes {
			w.Errorf("%s %s at %s was not due: %v", task.Name, task.When, at, more)
		}
		if w.Failed() {
			w.Fatalf("%d were due, %d ran\n%s", due, runs, strings.Join(w.said, "\n"))
		}
	}
}

func isMissed(became string) bool { return strings.HasPrefix(became, string(outcome.Missed)) }

// alone reports whether a slot has a row of its own.
func (w *world) alone(records []state.Row, at time.Time) bool {
	for _, r := range records {
		if !r.IsRange() && r.Slot.Equal(at) {
			return true
		}
	}
	return false
}
