package tick

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/load"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// A world is a machine with a state folder, a schedule and a clock, on which ticks come, or do not,
// and die.
type world struct {
	*testing.T
	random   *rand.Rand
	schedule *schedule.Schedule
	storage  holding.Storage
	now      time.Time
	said     []string
	again    map[time.Time]bool // the minutes that were replayed, or ticked twice
}

func newWorld(t *testing.T, seed uint64, tasks string) *world {
	w := &world{T: t, random: rand.New(rand.NewPCG(seed, 0)), now: time.Date(2026, 3, 28, 21, 0, 0, 0, time.UTC),
		again: map[time.Time]bool{}}
	dir := t.TempDir()
	w.schedule = w.parse([]byte("timezone: Europe/Berlin\nhistory: {runs_per_task: 1000000}\ntasks:\n"+tasks),
		filepath.Join(dir, "schedule.yaml"))
	w.storage = holding.StorageAt(filepath.Join(dir, ".sched"), nil)
	before := clock.Now
	clock.Now = func() time.Time { return w.now }
	t.Cleanup(func() { clock.Now = before })
	return w
}

func (w *world) parse(text []byte, file string) *schedule.Schedule {
	s, err := load.Text(text, file, load.Options{})
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// unstopped lets a tick go on to its end.
var unstopped = stopContexts{context.Background(), context.Background(), context.Background()}

// A ticking is a tick that the test takes through its steps itself.
type ticking struct{ *tickRun }

// begin lets a tick account for its minute, and returns what it starts.
func (w *world) begin() (ticking, []schedule.Slot) { return w.beginAs(w.tick()) }

func (w *world) beginAs(t *Tick) (ticking, []schedule.Slot) {
	r := t.prepare(unstopped)
	r.launcher.startSender(w.Context())
	return ticking{r}, r.planSlots(t.Due())
}

// run runs a foreground slot as its tick would, and does not wait for its instant.
func (t ticking) run(slot schedule.Slot) {
	ctx := context.Background()
	(&foregroundRunner{launcher: t.launcher, conditions: t.conditions, requests: t.requests, staying: ctx}).runSlot(ctx, slot)
}

// end ends the tick with everything written down.
func (t ticking) end() {
	t.collector.collectLost()
	t.launcher.sender.Wait(context.Background(), notify.Patience) // it looks at the clock, which the next tick sets
	t.launcher.records.writeAll(0)
	t.close()
}

// die closes what the kernel would close if the tick were killed now.
func (t ticking) die() {
	t.launcher.self.Close()
	t.tick.Storage.DB.Close()
}

func (w *world) tick() *Tick {
	return &Tick{
		Schedule: w.schedule, Minute: w.now.Truncate(time.Minute),
		Storage: holding.StorageAt(w.storage.Dir, w.storage.Store), Valid: true,
		Host: Host{Server: "here", Environ: os.Environ()},
		Report: Report{
			Started: func(state.Row) {}, Done: func(state.Row) {},
			Problem: func(format string, a ...any) { w.said = append(w.said, fmt.Sprintf(format, a...)) },
		},
	}
}

// records returns what the history has of a task, newest first.
func (w *world) records(task string) []state.Row {
	w.Helper()
	db, err := state.OpenRead(w.storage.Dir, state.Patience)
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	records, err := past.Of(db).Find(context.Background(), past.Query{Task: task})
	if err != nil {
		w.Fatal(err)
	}
	return records
}

func (w *world) run(at string) *Tick {
	w.Helper()
	w.at(at)
	t := w.tick()
	w.said = nil
	t.Run(context.Background(), context.Background(), context.Background())
	return t
}

func (w *world) at(clock string) {
	now, err := time.Parse("2006-01-02 15:04:05", clock)
	if err != nil {
		w.Fatal(err)
	}
	w.now = now
}

// outcomes sums up the history of a task: "missed 2, succeeded 1".
func (w *world) outcomes(task string) string {
	count := map[outcome.Outcome]int{}
	for _, r := range w.records(task) {
		count[r.Outcome] += max(r.Slots, 1)
	}
	var parts []string
	for _, o := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%s %d", o, count[o]))
	}
	return strings.Join(parts, ", ")
}

const eachMinute = "- {name: each, cron: '* * * * *', command: ['true']}\n"

// A tick reads the clock and is held up: when its turn comes, the next tick has found that nobody
// covered its minute.
func TestATickThatIsHeldUpStartsNothing(t *testing.T) {
	w := newWorld(t, 0, eachMinute)
	w.run("2026-01-01 10:43:00")
	w.at("2026-01-01 10:44:01")
	late := w.tick()
	w.run("2026-01-01 10:45:01")
	late.Run(context.Background(), context.Background(), context.Background())
	if got := w.outcomes("each"); got != "missed 1, succeeded 2" {
		t.Error(got)
	}
	if said := strings.Join(w.said, "\n"); !strings.Contains(said,
		"this tick of 2026-01-01 11:44 CET was held up until 2026-01-01 11:45 CET was covered, and starts nothing") {
		t.Error(said)
	}
}

// A tick that was held up after its turn runs its slots, whatever other ticks have recorded of them
// meanwhile.
func TestAnOutcomeReplacesAMissedSlotOfIt(t *testing.T) {
	w := newWorld(t, 0, eachMinute)
	w.run("2026-01-01 10:43:00")
	w.run("2026-01-01 10:45:01")
	if got := w.outcomes("each"); got != "missed 1, succeeded 2" {
		t.Fatal(got)
	}
	w.at("2026-01-01 10:44:01")
	replay := w.tick()
	replay.Replay = true
	replay.Run(context.Background(), context.Background(), context.Background())
	if got := w.outcomes("each"); got != "succeeded 3" {
		t.Error(got)
	}
}

func TestALongTickIsNotAGap(t *testing.T) {
	w := newWorld(t, 0, eachMinute)
	w.run("2026-01-01 10:43:00")
	w.at("2026-01-01 10:44:01")
	long, slots := w.begin() // and no slot has begun yet
	w.run("2026-01-01 10:45:01")
	w.run("2026-01-01 10:46:01")
	if got := w.outcomes("each"); got != "succeeded 3" || len(w.said) > 0 {
		t.Error(got, w.said)
	}
	long.run(slots[0])
	long.end()
	w.run("2026-01-01 10:47:01")
	if got := w.outcomes("each"); got != "succeeded 5" || len(w.said) > 0 {
		t.Error(got, w.said)
	}
	if left, _ := filepath.Glob(filepath.Join(w.storage.Dir, "locks/owner-*")); len(left) != 0 {
		t.Errorf("owners are left: %v", left)
	}
}

// The task of a slot that a killed tick left may be gone from the schedule.
func TestAMissedSlotOfADeletedTask(t *testing.T) {
	w := newWorld(t, 0, eachMinute)
	w.run("2026-01-01 10:43:00")
	w.at("2026-01-01 10:44:01")
	tick, _ := w.begin()
	tick.die()
	w.schedule = w.parse([]byte("tasks:\n- {name: other, every: minute, command: ['true']}\n"), w.schedule.File)
	w.run("2026-01-01 10:46:01")
	if got := w.outcomes("each"); got != "missed 1, succeeded 1" {
		t.Error(got)
	}
}

// The newest slots of a long gap have a row each; the slots before them have one row together.
func TestALongGapIsBounded(t *testing.T) {
	w := newWorld(t, 0, eachMinute+"- {name: daily, every: day at 3:00, command: ['true']}\n")
	w.run("2025-06-01 10:00:00")
	w.run("2026-01-01 10:00:00")
	records := slices.DeleteFunc(w.records("each"), func(r state.Row) bool {
		return r.Slot.Month() == time.June // which a tick may have pruned meanwhile
	})
	older := records[101]
	if len(records) != 102 || older.Slots != 30*24*60-100 || !older.Slot.Equal(w.now.AddDate(0, 0, -30)) ||
		!older.LastSlot.Equal(w.now.Add(-101*time.Minute)) || len(w.records("daily")) != 30 {
		t.Errorf("%d rows, the oldest of the gap %+v; %d of daily", len(records), older, len(w.records("daily")))
	}
	want := "missed: no tick recorded from 2025-06-01 12:01 CEST to 2026-01-01 10:59 CET, and what was due before 2025-12-02 11:00 CET is not counted: 43230 slots of 2 tasks"
	if len(w.said) != 1 || w.said[0] != want {
		t.Errorf("\nsaid %v\nwant %s", w.said, want)
	}
	if want := "43100 times until 2026-01-01 09:19 CET: no tick recorded from "; !strings.HasPrefix(older.Reason, want) {
		t.Errorf("the reason is %q", older.Reason)
	}
}

// A month off with a thousand tasks.
func TestALongGapOfManyTasks(t *testing.T) {
	var tasks strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&tasks, "- {name: each-%d, cron: '%d-59 * * * *', command: ['true'], days: sunday}\n", i, i%3)
		fmt.Fprintf(&tasks, "- {name: daily-%d, cron: '%d %d * * *', command: ['true'], missed: once, days: sunday}\n",
			i, i%60, i%24)
	}
	w := newWorld(t, 0, tasks.String())
	w.run("2026-01-01 10:00:30") // a Thursday: all are skipped
	w.at("2026-02-05 10:00:30")
	begun := time.Now()
	tick, slots := w.begin()
	t.Logf("found in %s", time.Since(begun))
	begun = time.Now()
	tick.end()
	t.Logf("written in %s: %v", time.Since(begun), w.said)
	if len(slots) < 333 {
		t.Errorf("%d slots are due", len(slots))
	}
	if rows := len(w.records("each-0")) + len(w.records("daily-0")); rows > 6 {
		t.Errorf("two tasks have %d rows", rows)
	}
}

// A tick skips a slot and is killed before the task's on_skip hooks have ended. The next tick fires
// them, and the one after that does not.
func TestHooksOfASkipSurviveTheKillOfTheirTick(t *testing.T) {
	w := newWorld(t, 0, "- {name: each, cron: '* * * * *', command: ['true'], on_skip: echo \"$SCHED_SLOT\" >> skipped}\n")
	w.run("2026-01-01 10:43:00")
	w.at("2026-01-01 10:44:01")
	tick, slots := w.begin()
	snapshot, err := json.Marshal(slots[0].Task)
	if err != nil {
		t.Fatal(err)
	}
	row := skippedRow(tick.launcher.newRow(slots[0]), "for the test")
	row.Snapshot = snapshot
	own, err := tick.launcher.self.Owned(t.Context())
	if err == nil {
		err = own.Begin(t.Context(), row) // as run.Caller.Skip does
	}
	if err != nil {
		t.Fatal(err)
	}
	tick.die()
	w.run("2026-01-01 10:45:01")
	w.run("2026-01-01 10:46:01")
	text, err := os.ReadFile(filepath.Join(filepath.Dir(w.schedule.File), "skipped"))
	if err != nil || string(text) != "2026-01-01T10:44:00Z\n" {
		t.Errorf("%v, the hook saw:\n%s", err, text)
	}
	if got := w.outcomes("each"); got != "skipped 1, succeeded 3" {
		t.Error(got)
	}
}

// A tick is killed after an on_skip hook of it has failed, and before the history has that: the
// next tick puts it there.
func TestWhatAHookOfASkipCameToSurvivesTheKillOfItsTick(t *testing.T) {
	w := newWorld(t, 0, "- {name: each, cron: '* * * * *', command: ['true'], on_skip: exit 7}\n")
	w.at("2026-01-01 10:44:01")
	tick, slots := w.begin()
	tick.launcher.skip(tick.launcher.newRow(slots[0]), slots[0].Task, "for the test")
	tick.launcher.hooks.Wait()
	tick.die()
	w.run("2026-01-01 10:45:01")
	records := w.records("each")
	if skipped := records[len(records)-1]; skipped.Outcome != outcome.Skipped ||
		!slices.Equal(skipped.Notes, []string{"hook on_skip 1: exit code 7"}) {
		t.Errorf("%+v", skipped)
	}
}

// A machine with sixty skips at once is not to start sixty hooks at once.
func TestFewHooksOfSkipsRunAtATime(t *testing.T) {
	w := newWorld(t, 0, "- {name: t, cron: '* * * * *', command: ['true'], on_skip: 'mkdir -p running; > running/$$; ls running | wc -l >> seen; sleep 0.05; rm running/$$'}\n")
	tick, slots := w.begin()
	for range 60 {
		tick.launcher.skip(rowOf("here", slots[0]), slots[0].Task, "for the test")
	}
	tick.launcher.hooks.Wait()
	tick.end()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(w.schedule.File), "seen"))
	lines := strings.Fields(string(text))
	if err != nil || len(lines) != 60 {
		t.Fatalf("%v, %d hooks ran", err, len(lines))
	}
	for _, line := range lines {
		if n, _ := strconv.Atoi(line); n > maxSkipping {
			t.Errorf("%d hooks ran at a time", n)
		}
	}
}

// Whichever page of the database is damaged, the tick that meets the damage starts what is due: in
// the new database, if it had to begin one.
func TestATickStartsItsSlotsWhateverPageIsDamaged(t *testing.T) {
	w := newWorld(t, 1, "- {name: each, every: minute, command: 'true'}\n")
	w.run("2026-03-28 21:00:00")
	file := filepath.Join(w.storage.Dir, "sched.db")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	met := 0
	for at := page; at < len(whole); at += page {
		damaged := slices.Clone(whole)
		clear(damaged[at : at+page])
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		w.at("2026-03-28 21:01:00")
		tick, starts := w.begin()
		if len(starts) != 1 || !starts[0].At.Equal(w.now) {
			t.Errorf("page %d: it starts %v", at/page, starts)
		}
		if tick.tick.Storage.DB.SetAside() != "" {
			met++
		}
		tick.end()
	}
	if met == 0 {
		t.Error("no tick met the damage")
	}
}
