package runner

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/history"

	"sched/schedule/clock"
	"sched/schedule/outcome"
)

// A world is a machine with a state folder, a schedule and a clock, on which ticks come, or do not,
// and die.
type world struct {
	*testing.T
	random   *rand.Rand
	schedule *schedule.Schedule
	state    State
	now      time.Time
	said     []string
}

func newWorld(t *testing.T, seed uint64, tasks string) *world {
	w := &world{T: t, random: rand.New(rand.NewPCG(seed, 0)), now: time.Date(2026, 3, 28, 21, 0, 0, 0, time.UTC)}
	dir := t.TempDir()
	w.schedule = w.parse([]byte("timezone: Europe/Berlin\nhistory: {runs_per_task: 1000000}\ntasks:\n"+tasks), filepath.Join(dir, "schedule.yaml"))
	w.state = State{Dir: filepath.Join(dir, ".sched")}
	before := clock.Now
	clock.Now = func() time.Time { return w.now }
	t.Cleanup(func() { clock.Now = before })
	return w
}

func (w *world) parse(text []byte, file string) *schedule.Schedule {
	s, err := schedule.Parse(text, file, schedule.LoadOptions{UID: 1})
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// runSlot runs a foreground slot as its tick would, and does not wait for its instant.
func runSlot(t *Tick, slot schedule.Slot) {
	lane := laneOf(t, []schedule.Slot{slot})
	lane.slot(lane.enough, slot, nil)
	lane.rest()
}

func laneOf(t *Tick, slots []schedule.Slot) *lane {
	ctx := context.Background()
	return t.lane(ctx, ctx, ctx, ctx, len(slots))
}

func (w *world) tick() *Tick {
	return &Tick{
		Schedule: w.schedule, Minute: w.now.Truncate(time.Minute), State: w.state, Server: "here", Environ: os.Environ(), Valid: true,
		Parse:   func(text []byte) (*schedule.Schedule, error) { return w.parse(text, w.schedule.File), nil },
		Started: func(outcome.Record) {}, Done: func(outcome.Record) {},
		Problem: func(format string, a ...any) { w.said = append(w.said, fmt.Sprintf(format, a...)) },
	}
}

// records returns what the history has of a task, newest first.
func (w *world) records(task string) []outcome.Record {
	w.Helper()
	db, err := history.OpenRead(w.state.Dir)
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	records, err := db.Find(context.Background(), history.Query{Task: task})
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
	if said := strings.Join(w.said, "\n"); !strings.Contains(said, "this tick of 2026-01-01 11:44 was held up until 2026-01-01 11:45 was covered, and starts nothing") {
		t.Error(said)
	}
}

// One that was held up after its turn runs its slots, whatever others recorded of them since.
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
	long := w.tick()
	slots := long.account(long.Schedule.Due(long.Minute)) // and no slot has begun yet
	w.run("2026-01-01 10:45:01")
	w.run("2026-01-01 10:46:01")
	if got := w.outcomes("each"); got != "succeeded 3" || len(w.said) > 0 {
		t.Error(got, w.said)
	}
	runSlot(long, slots[0])
	long.remember()
	long.closeJournal()
	w.run("2026-01-01 10:47:01")
	if got := w.outcomes("each"); got != "succeeded 5" || len(w.said) > 0 {
		t.Error(got, w.said)
	}
	if left, _ := filepath.Glob(filepath.Join(w.state.Dir, "ticks/*")); len(left) != 1 {
		t.Errorf("journals are left: %v", left)
	}
}

// What was started and has neither a file nor a record is lost, not missed: it may have run.
func TestARunWithoutATraceIsLost(t *testing.T) {
	w := newWorld(t, 0, strings.Replace(eachMinute, "}", ", missed: once}", 1))
	w.run("2026-01-01 10:43:00")
	w.at("2026-01-01 10:44:01")
	dies := w.tick()
	slots := dies.account(dies.Schedule.Due(dies.Minute))
	r, ok := dies.prepare(slots[0], dies.lock)
	if !ok {
		t.Fatal("it did not begin")
	}
	r.leave()
	dies.journal.Close()
	os.RemoveAll(filepath.Join(w.state.Dir, "runs")) // as a full disk may, or a power cut
	w.run("2026-01-01 10:45:01")
	if got := w.outcomes("each"); got != "lost 1, succeeded 2" {
		t.Error(got)
	}
}

// The task of a slot that a killed tick left may be gone from the schedule.
func TestAMissedSlotOfADeletedTask(t *testing.T) {
	w := newWorld(t, 0, eachMinute)
	w.run("2026-01-01 10:43:00")
	w.at("2026-01-01 10:44:01")
	dies := w.tick()
	dies.account(dies.Schedule.Due(dies.Minute))
	dies.journal.Close()
	w.schedule = w.parse([]byte("tasks:\n- {name: other, every: minute, command: ['true']}\n"), w.schedule.File)
	w.run("2026-01-01 10:46:01")
	if got := w.outcomes("each"); got != "missed 1, succeeded 1" {
		t.Error(got)
	}
}

func TestFilesThatSayNothing(t *testing.T) {
	for name, spoil := range map[string]func(w *world){
		"an empty last tick": func(w *world) { w.write("last-tick", "") },
		"a last tick of rubbish": func(w *world) {
			w.write("last-tick", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
		},
		"an empty journal":     func(w *world) { w.write("ticks/0.json", "") },
		"a journal of rubbish": func(w *world) { w.write("ticks/0.json", "\x00\x00rubbish\n{}\n[]\n") },
		"a torn journal":       func(w *world) { w.write("ticks/7.json", "\n{\"tick\":{\"minute\":\"2026-01-01T10") },
		"another file":         func(w *world) { w.write("ticks/notes.txt", "mine") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 0, eachMinute)
			w.run("2026-01-01 10:43:00")
			spoil(w)
			w.run("2026-01-01 10:44:01")
			w.run("2026-01-01 10:45:01")
			if got := w.outcomes("each"); got != "succeeded 3" || len(w.said) > 0 {
				t.Error(got, w.said)
			}
		})
	}
}

func (w *world) write(name, text string) {
	if err := os.WriteFile(filepath.Join(w.state.Dir, name), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// The newest slots of a long gap have a row each; those before them have one together.
func TestALongGapIsBounded(t *testing.T) {
	w := newWorld(t, 0, eachMinute+"- {name: daily, every: day at 3:00, command: ['true']}\n")
	w.run("2025-06-01 10:00:00")
	w.run("2026-01-01 10:00:00")
	records := slices.DeleteFunc(w.records("each"), func(r outcome.Record) bool {
		return r.Slot.Month() == time.June // which a tick may have pruned meanwhile
	})
	older := records[101]
	if len(records) != 102 || older.Slots != 30*24*60-100 || !older.Slot.Equal(w.now.AddDate(0, 0, -30)) ||
		!older.Until.Equal(w.now.Add(-101*time.Minute)) || len(w.records("daily")) != 30 {
		t.Errorf("%d rows, the oldest of the gap %+v; %d of daily", len(records), older, len(w.records("daily")))
	}
	want := "missed: no tick ran from 2025-06-01 12:01 to 2026-01-01 10:59, and what was due before 2025-12-02 11:00 is not counted: 43230 slots of 2 tasks"
	if len(w.said) != 1 || w.said[0] != want {
		t.Errorf("\nsaid %v\nwant %s", w.said, want)
	}
	if want := "43100 times until 2026-01-01 09:19: no tick ran from "; !strings.HasPrefix(older.Reason, want) {
		t.Errorf("the reason is %q", older.Reason)
	}
}

// A month off with a thousand tasks.
func TestALongGapOfManyTasks(t *testing.T) {
	var tasks strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&tasks, "- {name: each-%d, cron: '%d-59 * * * *', command: ['true'], days: sunday}\n", i, i%3)
		fmt.Fprintf(&tasks, "- {name: daily-%d, cron: '%d %d * * *', command: ['true'], missed: once, days: sunday}\n", i, i%60, i%24)
	}
	w := newWorld(t, 0, tasks.String())
	w.run("2026-01-01 10:00:30") // a Thursday: all are skipped
	w.at("2026-02-05 10:00:30")
	tick, begun := w.tick(), time.Now()
	slots := tick.account(tick.Schedule.Due(tick.Minute))
	t.Logf("found in %s: %d rows, %s", time.Since(begun), len(tick.debt.rows), tick.debt.text)
	begun = time.Now()
	tick.remember()
	t.Logf("written in %s", time.Since(begun))
	tick.closeJournal()
	if len(slots) < 333 {
		t.Errorf("%d slots are due", len(slots))
	}
	if rows := len(w.records("each-0")) + len(w.records("daily-0")); rows > 6 {
		t.Errorf("two tasks have %d rows", rows)
	}
}

func TestWhatIsKnown(t *testing.T) {
	w := newWorld(t, 0, eachMinute)
	task, k := w.schedule.Tasks[0], known{}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	k.add("each", minute(0), minute(0))
	k.add("each", minute(3).Add(7*time.Second), minute(3).Add(7*time.Second)) // by hand
	k.add("each", minute(5), minute(8))
	k.add("each", minute(6), minute(6)) // one that ran, in a row around it
	k.add("other", minute(1), minute(1))
	if first := k.first(task, noon); !first.Equal(minute(1)) {
		t.Errorf("the first unknown is %s", first)
	}
	if n := k.count(task, noon, minute(10)); n != 5 {
		t.Errorf("%d are known", n)
	}
	if n := k.count(task, minute(1), minute(7)); n != 2 {
		t.Errorf("%d of the first are known", n)
	}
	if k.alone("each", minute(7)) || !k.has("each", minute(7)) || !k.alone("each", minute(6)) || k.has("each", minute(9)) {
		t.Error("what is known alone, and what in a row")
	}
}

// In a folder for everybody, as /tmp is, somebody else may have made the spare folder, with files that say
// which hooks to run.
func TestASpareFolderOfOthersIsNotRead(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	state := State{Dir: t.TempDir()}
	spare := state.spares()[0].Dir
	if err := os.Mkdir(spare, 0o700); err != nil {
		t.Fatal(err)
	}
	if n := len(state.folders()); n != 2 {
		t.Errorf("our own: %d folders", n)
	}
	if err := os.Chmod(spare, 0o777); err != nil {
		t.Fatal(err)
	}
	if n := len(state.folders()); n != 1 {
		t.Errorf("one that others can write: %d folders", n)
	}
	if err := os.Rename(spare, spare+"-elsewhere"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(spare+"-elsewhere", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(spare+"-elsewhere", spare); err != nil {
		t.Fatal(err)
	}
	if n := len(state.folders()); n != 1 {
		t.Errorf("a link: %d folders", n)
	}
}
