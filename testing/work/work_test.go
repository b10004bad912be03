//go:build linux

package work_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/schedule/work"
	"sched/testing/schedtest"
)

// A worker is `sched work` in a box whose clock runs sixty times as fast: a minute is a second. It
// begins at 10:44:00, and the clock stands still until it is there.
type worker struct {
	*box
	*exec.Cmd
}

const fast = 60

func (b *box) work(args ...string) *worker {
	b.Helper()
	begins := b.Read("clock") == ""
	if begins {
		b.writeClock("2026-11-21T10:44:00Z", 0)
	}
	w := &worker{b, b.clocked(append([]string{"work"}, args...)...)}
	out, err := os.OpenFile(b.Path("work.out"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	w.Stdout, w.Stderr = out, out
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		w.Process.Kill()
		w.Wait()
		if b.Failed() {
			b.Logf("sched work printed:\n%s", b.Read("work.out"))
		}
	})
	if begins {
		b.Until("sched work is there", func() bool { return schedtest.Exists(b.Path(".sched/work")) && b.Read(".sched/work") != "" })
		b.setClock("2026-11-21T10:44:00Z")
	}
	return w
}

// clocked is sched with the clock of the box.
func (b *box) clocked(args ...string) *exec.Cmd {
	c := b.Command(args...)
	c.Env = append(c.Env, "SCHED_TEST_CLOCK_FILE="+b.Path("clock"))
	return c
}

// setClock sets the clock of the box, also for processes that run already.
func (b *box) setClock(shown string) {
	b.Helper()
	b.writeClock(shown, fast)
}

func (b *box) writeClock(shown string, speed int) {
	b.Helper()
	b.Write("clock.new", fmt.Sprintf("%s %s %d", time.Now().UTC().Format(time.RFC3339Nano), shown, speed))
	if err := os.Rename(b.Path("clock.new"), b.Path("clock")); err != nil {
		b.Fatal(err)
	}
}

// now is what the clock of the box shows.
func (b *box) now() time.Time {
	var real, shown string
	fmt.Sscan(b.Read("clock"), &real, &shown)
	from, err := time.Parse(time.RFC3339Nano, real)
	if err != nil {
		b.Fatal(err)
	}
	at, _ := time.Parse(time.RFC3339, shown)
	return at.Add(time.Since(from) * fast)
}

func (w *worker) signal(s syscall.Signal) {
	w.box.Helper()
	if err := w.Process.Signal(s); err != nil {
		w.Fatal(err)
	}
}

// ended waits until sched work has ended, and returns its exit code.
func (w *worker) ended() int {
	w.box.Helper()
	over := make(chan bool)
	go func() { w.Wait(); close(over) }()
	select {
	case <-over:
	case <-time.After(schedtest.Patience):
		w.Fatalf("sched work did not end\n%s", w.OpenRuns())
	}
	return w.ProcessState.ExitCode()
}

// clocks returns the times of the day in a file to which a task writes its $SCHED_SLOT.
func (b *box) clocks(name string) (clocks []string) {
	for _, slot := range strings.Fields(b.Read(name)) {
		clocks = append(clocks, slot[11:16])
	}
	return clocks
}

// story returns what is recorded of a task, oldest first: a time of the day and an outcome for each
// slot.
func (b *box) story(task string) (story []string) {
	b.Helper()
	for _, r := range slices.Backward(b.History(task)) {
		story = append(story, r.Slot[11:16]+" "+r.Outcome)
	}
	return story
}

// minutesFrom are n times of the day, from the first on.
func minutesFrom(clock string, n int) (clocks []string) {
	at, _ := time.Parse("15:04", clock)
	for range n {
		clocks = append(clocks, at.Format("15:04"))
		at = at.Add(time.Minute)
	}
	return clocks
}

// wantClocks checks that each minute from the first on is there, once. Their order does not count:
// a minute is a second, and a busy machine may hold up a tick, so that its command comes after the
// next tick's.
func (b *box) wantClocks(got []string, first string) {
	b.Helper()
	slices.Sort(got)
	if want := minutesFrom(first, len(got)); !slices.Equal(got, want) {
		b.Errorf("the minutes were\n%v, not\n%v", got, want)
	}
}

// each is a task that notes its slots, in the foreground and in the background.
const each = `
tasks:
  - {name: front, every: minute, command: 'echo $SCHED_SLOT >> front'}
  - {name: back, every: minute, background: true, command: 'echo $SCHED_SLOT >> back'}
`

func TestWorkTicksEveryMinute(t *testing.T) {
	t.Parallel()
	b := newBox(t, each)
	w := b.work()
	b.Until("four minutes were ticked", func() bool { return b.Count("front") >= 4 && b.Count("back") >= 4 })
	w.signal(syscall.SIGTERM)
	if code := w.ended(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	b.wantClocks(b.clocks("front"), "10:45")
	b.wantClocks(b.clocks("back"), "10:45")
	for _, r := range b.History("") {
		if r.Outcome != "succeeded" {
			t.Errorf("%+v", r)
		}
	}
	for _, want := range []string{"10:45  front  succeeded", "10:46  back   started in the background",
		"sched: stopped by SIGTERM"} {
		if !strings.Contains(b.Read("work.out"), want) {
			t.Errorf("no %q in what it printed", want)
		}
	}
}

func TestALongTickDelaysNoOther(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: long, cron: "45 10 * * *", command: 'await go'}
  - {name: front, every: minute, command: 'echo $SCHED_SLOT >> front'}
`)
	w := b.work()
	b.Until("the ticks beside the long one have run", func() bool { return b.Count("front") >= 2 })
	b.wantClocks(b.clocks("front"), "10:46")
	b.Write("go", "")
	b.Until("the long tick goes on", func() bool { return slices.Contains(b.clocks("front"), "10:45") })
	w.signal(syscall.SIGTERM)
	w.ended()
	if r := b.History("long"); len(r) != 1 || r[0].Outcome != "succeeded" {
		t.Errorf("%+v", r)
	}
}

func TestSIGQUITEndsWorkAsSIGTERMDoes(t *testing.T) {
	t.Parallel()
	b := newBox(t, each)
	w := b.work()
	b.Until("a minute was ticked", func() bool { return b.Count("front") >= 1 && b.Count("back") >= 1 })
	w.signal(syscall.SIGQUIT)
	if code := w.ended(); code != 143 || !strings.Contains(b.Read("work.out"), "sched: stopped by SIGQUIT") {
		t.Errorf("exit code %d:\n%s", code, b.Read("work.out"))
	}
}

// Minutes that were due while sched work was stopped are ticked late, each once and in order.
func TestMinutesInWhichWorkWasStopped(t *testing.T) {
	t.Parallel()
	b := newBox(t, each)
	w := b.work()
	b.Until("a minute was ticked", func() bool { return b.Count("front") >= 1 })
	w.signal(syscall.SIGSTOP)
	before := len(b.clocks("front"))
	stopped := b.now()
	b.Until("four minutes have passed", func() bool { return b.now().Sub(stopped) > 4*time.Minute })
	if n := len(b.clocks("front")); n > before+1 { // the next tick may have been waiting for its minute
		t.Errorf("%d minutes were ticked while it was stopped", n-before)
	}
	w.signal(syscall.SIGCONT)
	back := b.now()
	b.Until("the present minute is ticked", func() bool {
		clocks := b.clocks("front")
		return clocks[len(clocks)-1] > back.Format("15:04")
	})
	w.signal(syscall.SIGTERM)
	w.ended()
	for _, name := range []string{"front", "back"} {
		b.wantClocks(b.clocks(name), "10:45")
	}
	b.wantSucceeded(b.story(""))
}

// wantSucceeded wants that all slots succeeded. Slots of the last minute may have come when work
// was told to end already.
func (b *box) wantSucceeded(story []string) {
	b.Helper()
	last := story[len(story)-1][:len("10:45")]
	for _, line := range story {
		if !strings.HasSuffix(line, " succeeded") && line != last+" skipped" {
			b.Error(line)
		}
	}
}

// A laptop that slept for hours does not tick through all of them: they were missed.
func TestHoursInWhichTheMachineSlept(t *testing.T) {
	t.Parallel()
	b := newBox(t, each)
	w := b.work()
	b.Until("a minute was ticked", func() bool { return b.Count("front") >= 1 })
	b.setClock("2026-11-21T15:07:30Z")
	b.Until("it ticks again", func() bool { return slices.Contains(b.clocks("front"), "15:08") })
	w.signal(syscall.SIGTERM)
	w.ended()
	for _, clock := range b.clocks("front") {
		if clock > "10:50" && clock < "15:07" {
			t.Errorf("the minute %s was ticked", clock)
		}
	}
	story := b.story("front")
	if !slices.Contains(story, "14:00 missed") || !slices.Contains(story, "15:08 succeeded") {
		t.Errorf("%v", story)
	}
	if !strings.Contains(b.Read("work.out"), "sched: missed: no tick recorded from 2026-11-21 10:") {
		t.Errorf("nobody said what was missed")
	}
}

func TestNoMinuteIsTickedTwiceWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	b := newBox(t, each)
	w := b.work()
	b.Until("three minutes were ticked", func() bool { return b.Count("front") >= 3 })
	b.setClock("2026-11-21T10:45:10Z")
	b.Until("it ticks on", func() bool { return slices.Contains(b.clocks("front"), "10:50") })
	w.signal(syscall.SIGTERM)
	w.ended()
	b.wantClocks(b.clocks("front"), "10:45")
	b.wantClocks(b.clocks("back"), "10:45")
}

// The first signal lets running tasks finish, and starts nothing more, not even in the tick that
// lives.
func TestWhatRunsMayFinishWithinTheGrace(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
defaults: {without_overlapping: true}
tasks:
  - name: front
    every: minute
    command: &wait 'touch $SCHED_TASK.runs; await go'
    after: 'echo $SCHED_OUTCOME >> hooks'
  - {name: second, every: minute, command: *wait}
  - {name: back, every: minute, background: true, command: *wait, after: 'echo $SCHED_OUTCOME >> hooks'}
`)
	w := b.work("--grace", "1h")
	b.Until("both run", func() bool { return schedtest.Exists(b.Path("front.runs")) && schedtest.Exists(b.Path("back.runs")) })
	w.signal(syscall.SIGTERM)
	b.Until("it says so", func() bool { return strings.Contains(b.Read("work.out"), "sched: nothing more is started") })
	b.Write("go", "")
	if code := w.ended(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	if b.Read("hooks") != "succeeded\nsucceeded\n" {
		t.Errorf("hooks: %q", b.Read("hooks"))
	}
	if r := b.History("second"); len(r) == 0 || r[len(r)-1].Outcome != "skipped" ||
		r[len(r)-1].Reason != "sched run was stopped by the end of sched work" {
		t.Errorf("%+v", r)
	}
	if schedtest.Exists(b.Path("second.runs")) {
		t.Error("a task was started after the signal")
	}
}

// stubborn are tasks that end with KILL alone, and a task that can be asked.
const stubborn = `
defaults:
  kill_after: KILL_AFTER
  without_overlapping: true
  after: 'echo $SCHED_TASK $SCHED_OUTCOME >> hooks'
tasks:
  - {name: kind, every: minute, background: true, command: 'touch $SCHED_TASK.runs; exec sleep 1000'}
  - name: back
    every: minute
    background: true
    command: &stubborn 'trap "" TERM; touch $SCHED_TASK.runs; while [ ! -e go ]; do sleep 0.02; done'
  - {name: front, every: minute, command: *stubborn}
`

func (b *box) untilStubbornRun() {
	b.Helper()
	b.Until("all run", func() bool {
		return schedtest.Exists(b.Path("front.runs")) && schedtest.Exists(b.Path("back.runs")) && schedtest.Exists(b.Path("kind.runs"))
	})
}

// wantStopped checks that the first run of each was stopped, with its hooks, and that nothing was
// left.
func (b *box) wantStopped() {
	b.Helper()
	hooks := strings.Fields(b.Read("hooks"))
	if n := strings.Count(b.Read("hooks"), " stopped\n"); n != 3 {
		b.Errorf("the hooks say %q", hooks)
	}
	b.Write("schedule.yaml", strings.ReplaceAll(b.Read("schedule.yaml"), "exec sleep 1000", "true"))
	for _, task := range []string{"front", "back", "kind"} {
		// On a busy machine a run may be skipped: the run of the next minute has begun before it.
		records := slices.DeleteFunc(b.History(task), func(r schedtest.Record) bool { return r.Outcome == "skipped" })
		first := records[len(records)-1]
		if first.Outcome != "stopped" || !strings.HasPrefix(first.Reason, "by SIG") {
			b.Errorf("%+v", first)
		}
		b.Free(task)
	}
}

func TestWhatTakesLongerThanTheGraceIsStopped(t *testing.T) {
	t.Parallel()
	b := newBox(t, strings.Replace(stubborn, "KILL_AFTER", "200ms", 1))
	w := b.work("--grace", "300ms")
	b.untilStubbornRun()
	w.signal(syscall.SIGTERM)
	if code := w.ended(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	b.wantStopped()
	if !strings.Contains(b.Read("work.out"), "sched: 300ms are over: what still runs is stopped") {
		t.Error("it did not say why")
	}
}

func TestASecondSignalKills(t *testing.T) {
	t.Parallel()
	b := newBox(t, strings.Replace(stubborn, "KILL_AFTER", "1h", 1))
	w := b.work("--grace", "1h")
	b.untilStubbornRun()
	w.signal(syscall.SIGTERM)
	b.Until("it says so", func() bool { return strings.Contains(b.Read("work.out"), "sched: nothing more is started") })
	w.signal(syscall.SIGTERM)
	if code := w.ended(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	b.wantStopped()
}

// The ^C of a terminal goes to its whole foreground group. The ticks are not in it, so it is up to
// sched work what becomes of them.
func TestTheInterruptOfATerminalReachesWorkAlone(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: front, every: minute, command: 'echo $PPID >> ticks; await go'}
`)
	b.setClock("2026-11-21T10:44:30Z")
	w := &worker{b, b.clocked("work", "--grace", "1h")}
	w.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	tick := b.PidIn("ticks")
	if err := syscall.Kill(-w.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if group, err := syscall.Getpgid(tick); err != nil || group == w.Process.Pid {
		t.Errorf("the tick %d is in group %d: %v", tick, group, err)
	}
	b.Write("go", "")
	if code := w.ended(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	b.wantSucceeded(b.story("front"))
}

func TestWorkIsKilledAndNothingElse(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: back, every: minute, background: true, command: &wait 'echo $SCHED_SLOT >> $SCHED_TASK; await go'}
  - {name: front, every: minute, command: *wait}
  - {name: last, every: minute, command: 'echo $SCHED_SLOT >> last'}
`)
	w := b.work()
	b.Until("both run", func() bool { return b.Count("front") >= 1 && b.Count("back") >= 1 })
	w.signal(syscall.SIGKILL)
	w.ended()
	b.Write("go", "")
	b.Until("the tick has gone on", func() bool { return b.Count("last") >= 1 })
	for _, task := range []string{"front", "back", "last"} {
		b.Until(task+" is recorded", func() bool { return slices.Contains(b.story(task), "10:45 succeeded") })
	}
	again := b.work()
	ticked := b.now().Format("15:04")
	b.Until("another one goes on", func() bool { c := b.clocks("last"); return c[len(c)-1] > ticked })
	again.signal(syscall.SIGTERM)
	again.ended()
	clocks := b.clocks("last")
	slices.Sort(clocks)
	if len(slices.Compact(slices.Clone(clocks))) != len(clocks) {
		t.Errorf("a minute was ticked twice: %v", clocks)
	}
}

func TestATickIsKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: front, cron: "45 10 * * *", command: 'echo $PPID > tick; exec sleep 1000'}
  - {name: each, every: minute, command: 'echo $SCHED_SLOT >> each'}
`)
	w := b.work()
	b.Kill(b.PidIn("tick"))
	b.Until("the next ticks have come", func() bool { return b.Count("each") >= 2 })
	w.signal(syscall.SIGTERM)
	w.ended()
	if !strings.Contains(b.Read("work.out"),
		"sched: the tick of 2026-11-21 10:45 UTC was killed (killed); the next one accounts for it") {
		t.Error("it did not say so")
	}
	if story := b.story("front"); !slices.Equal(story, []string{"10:45 lost"}) {
		t.Error(story)
	}
	if story := b.story("each"); story[0] != "10:45 missed" || story[1] != "10:46 succeeded" {
		t.Error(story)
	}
}

func TestAScheduleHasOneWorker(t *testing.T) {
	t.Parallel()
	b := newBox(t, each)
	w := b.work()
	b.Until("a minute was ticked", func() bool { return b.Count("front") >= 1 })
	want := fmt.Sprintf("sched: another sched work (process %d) ticks this schedule\nhint: two of them would run everything twice; end that one first\n", w.Process.Pid)
	if out, code := b.Sched("work"); code != 1 || out != want {
		t.Errorf("exit code %d: %s", code, out)
	}
	b.Until("a tick beside it is told of it", func() bool {
		out, err := b.clocked("run").CombinedOutput()
		return err == nil && strings.Contains(string(out),
			fmt.Sprintf("sched: sched work (process %d) had ", w.Process.Pid))
	})
	w.signal(syscall.SIGKILL)
	w.ended()
	again := b.work()
	ticked := b.Count("front")
	b.Until("another one can take its place", func() bool {
		pid, works := work.Running(b.Path(".sched")) // a tick that the first one left behind may come to its end, too
		return works && pid == again.Process.Pid && b.Count("front") > ticked
	})
	again.signal(syscall.SIGTERM)
	if code := again.ended(); code != 143 {
		t.Errorf("exit code %d", code)
	}
}

// A container whose file is missing fails at once. A container whose file is broken ticks, says so
// once an hour, and goes on when the file is mended.
func TestWorkAndABrokenSchedule(t *testing.T) {
	t.Parallel()
	b := newBox(t, each)
	if out, code := b.Sched("work", "-c", "no.yaml"); code != 2 || !strings.Contains(out, "no.yaml") {
		t.Errorf("exit code %d: %s", code, out)
	}
	b.Write("schedule.yaml", strings.Replace(each, "command", "comand", 2))
	w := b.work()
	b.Until("it says so at the start and with the first tick", func() bool {
		return strings.Count(b.Read("work.out"), `schedule.yaml:3:34: task "front": unknown key "comand"`) == 2
	})
	b.Write("schedule.yaml", each)
	b.Until("it was mended", func() bool { return b.Count("front") >= 1 })
	before := b.Count("front")
	b.Write("schedule.yaml", strings.Replace(each, "command", "comand", 2))
	b.Until("the last valid one runs", func() bool {
		return b.Count("front") >= before+2 &&
			strings.Contains(b.Read("work.out"), "is invalid; running the last valid schedule")
	})
	w.signal(syscall.SIGINT)
	if code := w.ended(); code != 143 {
		t.Errorf("exit code %d", code)
	}
}

// In a container sched work is process 1. Each process that loses its parent becomes its child, and
// the processes that are left at its end are killed.
func TestTheFirstProcessOfAContainer(t *testing.T) {
	t.Parallel()
	if exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").Run() != nil {
		t.Skip("a process namespace needs root")
	}
	b := newBox(t, `
defaults: {after: 'echo $SCHED_TASK $SCHED_OUTCOME >> hooks'}
tasks:
  - {name: orphans, cron: "45 10 * * *", command: '(sleep 0.05 &) ; (sleep 0.1 &) ; (exec sleep 0.01 &)'}
  - {name: back, cron: "45 10 * * *", background: true, command: 'await go'}
  - {name: forever, cron: "45 10 * * *", background: true, command: 'touch forever.runs; exec sleep 1000'}
  - {name: look, every: minute, after: [], command: 'cat /proc/[0-9]*/stat > look.tmp; mv look.tmp $SCHED_SLOT.look'}
`)
	// two seconds before the minute of the tasks: a busy machine may take one to start unshare and
	// sched
	b.setClock("2026-11-21T10:43:00Z")
	c := b.clocked("work", "--grace", "20s")
	c.Path = "/usr/bin/unshare"
	if path, err := exec.LookPath("unshare"); err == nil {
		c.Path = path
	}
	c.Args = append([]string{"unshare", "--pid", "--fork", "--mount-proc", schedtest.Binary}, c.Args[1:]...)
	w := &worker{b, c}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Process.Kill() })
	var first int
	b.Until("process 1 is there", func() bool {
		for _, pid := range schedtest.ChildrenOf(w.Process.Pid) {
			first = pid
		}
		return first != 0 && schedtest.Exists(b.Path("forever.runs"))
	})
	b.Until("nothing is left of the orphans", func() bool {
		looks, _ := filepath.Glob(b.Path("*.look"))
		slices.Sort(looks)
		if len(looks) == 0 || filepath.Base(looks[len(looks)-1]) < "2026-11-21T10:45" { // the minute of orphans
			return false
		}
		look, _ := os.ReadFile(looks[len(looks)-1])
		return !strings.Contains(string(look), "(sleep) Z ") && strings.Contains(string(look), "1 (sched) ")
	})
	if err := syscall.Kill(first, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	b.Write("go", "")
	if code := w.ended(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	for _, line := range []string{"orphans succeeded", "back succeeded", "forever stopped"} {
		if !strings.Contains(b.Read("hooks"), line+"\n") {
			t.Errorf("no hook says %q: %q", line, b.Read("hooks"))
		}
	}
	if story := b.story("forever"); !slices.Equal(story, []string{"10:45 stopped"}) {
		t.Error(story)
	}
}

// Each tick refuses a file that another user can change, and runs the last valid schedule. So a
// worker that begins goes on, and stops for no such file.
func TestAWorkerBeginsWithTheLastValidScheduleIfTheFileIsNotTrusted(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	b := newBox(t, `
timezone: UTC
tasks:
  - {name: a, every: minute, command: echo >> ran}
`)
	b.writeClock("2026-11-21T10:40:00Z", 0)
	if out, err := b.clocked("run").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := errors.Join(os.Remove(b.Path("clock")), os.Chmod(b.Path("schedule.yaml"), 0o666)); err != nil {
		t.Fatal(err)
	}
	w := b.work()
	b.Until("two ticks have run the last valid schedule", func() bool { return b.Count("ran") >= 3 })
	w.signal(syscall.SIGTERM)
	w.ended()
	if out := b.Read("work.out"); !strings.Contains(out, "others than its owner can write the file") {
		t.Errorf("nothing is said:\n%s", out)
	}
}
