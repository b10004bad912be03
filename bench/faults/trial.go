//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A trialSize says how many ticks a trial has, and how fast they come.
type trialSize struct {
	servers, tasks, minutes int
	minute                  time.Duration // how long a minute takes
	binary                  string        // sched, with the clock of the tests
}

// A trial is a schedule on several servers while one fault goes on. Its minutes are shorter than
// real ones: SCHED_TEST_CLOCK tells each tick its minute.
type trial struct {
	testing.TB
	fault     fault
	size      trialSize
	store     *store
	dir       string
	first     time.Time // the first minute, by the clock of the schedule
	begun     time.Time // when it began, by the real one
	faultEnds int       // the minute in the middle of which the fault is mended
	mended    time.Time // when it was
	struck    time.Time
	blips     sync.WaitGroup
	frozen    atomic.Int64 // the server that is frozen, from 1 on
	ticks     sync.WaitGroup
	failed    atomic.Int64 // ticks that did not exit with 0
	tickCount atomic.Int64
}

// build builds sched with the clock of the tests, which can be told the time.
func build(t testing.TB, dir string) string {
	path := filepath.Join(dir, "sched")
	c := exec.Command("go", "build", "-tags", "schedtest,"+*tags, "-o", path, "sched")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

func newTrial(tb testing.TB, f fault, size trialSize) *trial {
	t := &trial{TB: tb, fault: f, size: size, store: startStore(tb, f.kind, f.options...), dir: tb.TempDir()}
	t.first = time.Now().UTC().Truncate(time.Minute).Add(time.Hour) // no slot is in the past by the clock of Redis
	for i := range size.servers {
		if err := os.MkdirAll(t.folder(i), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(t.folder(i), "schedule.yaml"), []byte(t.schedule(i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return t
}

func (t *trial) folder(server int) string { return filepath.Join(t.dir, name(server)) }

func name(server int) string { return fmt.Sprintf("web-%d", server+1) }

// few returns how many servers share a network of their own: a fifth of them.
func (t *trial) few() int { return max(1, t.size.servers/5) }

// The names of tasks begin with the promise that is checked.
const (
	once  = "once"  // each slot runs on one server
	waits = "waits" // each slot runs on one server, and waits for the store
	locks = "locks" // the task never runs beside itself
)

// schedule is the schedule of a server. It is the same on each server but for the network to the
// store. A task with a lock runs for one and a half minutes, but for less than a lease: if an
// outage takes its lock, it has ended before another run may get the lock.
func (t *trial) schedule(server int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: trial\nlease: %s\nstore: %s\nenv: {SERVER: %s, JOURNAL: %s}\n",
		lease, t.store.url(server >= t.size.servers-t.few()), name(server), t.journal())
	b.WriteString("tasks:\n")
	const note = `"$SCHED_TASK $SCHED_SLOT $SERVER $SCHED_RUN" >> $JOURNAL`
	for i := range t.size.tasks {
		kind, down := kindOf(i), "skip"
		if kind == waits {
			down = "wait"
		}
		fmt.Fprintf(&b, "  - {name: %s-%d, cron: '* * * * *', one_server: true, store_down: %s, background: %t, command: 'echo begin %s'}\n", kind, i, down, i%2 == 1, note)
	}
	long := min(t.size.minute*3/2, lease-500*time.Millisecond).Seconds()
	for i := range 2 {
		fmt.Fprintf(&b, "  - {name: %s-%d, cron: '* * * * *', without_overlapping: true, background: true, command: 'echo begin %s; sleep %g; echo end %s'}\n", locks, i, note, long, note)
	}
	return b.String()
}

func (t *trial) journal() string { return filepath.Join(t.dir, "journal") }

// tracePath is the file into which a sched with -tags schedtrace writes what it does.
func (t *trial) tracePath() string { return filepath.Join(t.dir, "trace") }

// trace writes a line into that file, too.
func (t *trial) trace(what string) {
	file, err := os.OpenFile(t.tracePath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	_, isDatabase := databases[t.fault.kind]
	json.NewEncoder(file).Encode(map[string]any{"what": what, "name": t.fault.name, "database": isDatabase,
		"lease": lease, "at": now.Nano()})
}

// settling is how many minutes follow at most on the minutes that are judged. In them, slots that
// waited run.
func (t *trial) settling() int { return int((lease+4*time.Second)/t.size.minute) + 2 }

// at is the real time at which a minute begins.
func (t *trial) at(minute int) time.Time { return t.begun.Add(time.Duration(minute) * t.size.minute) }

func (t *trial) nextMinute() int { return int(time.Since(t.begun)/t.size.minute) + 1 }

// run ticks all servers through all minutes. The fault begins in the middle of a minute, after a
// quarter of the minutes. It ends in the middle of a minute, after three fifths.
func (t *trial) run() {
	begins := max(1, t.size.minutes/4)
	t.faultEnds = max(begins+1, t.size.minutes*3/5)
	t.begun = time.Now().Add(t.size.minute)
	t.trace("trial")
	over := make(chan struct{})
	go func() {
		t.makeFault(begins)
		close(over)
	}()
	minute := 0
	for ; minute < t.size.minutes; minute++ {
		t.tickAll(minute)
	}
	<-over
	for last := max(minute, t.nextMinute()) + t.settling(); minute < last && t.someWait(); minute++ {
		t.tickAll(minute)
	}
	t.ticks.Wait()
}

// makeFault begins the fault in the middle of a minute, and mends it.
func (t *trial) makeFault(begins int) {
	if t.fault.begin == nil {
		return
	}
	half := t.size.minute / 2
	time.Sleep(time.Until(t.at(begins).Add(half)))
	t.struck = time.Now()
	if t.fault.forgets {
		t.trace("forgets")
	}
	t.fault.begin(t)
	if t.fault.forgets {
		t.trace("forgot")
	}
	t.mended = time.Now()
	if t.fault.end != nil {
		time.Sleep(max(time.Until(t.at(t.faultEnds).Add(half)), t.fault.atLeast-time.Since(t.struck)))
		t.fault.end(t)
		t.mended = time.Now()
	}
}

// someWait reports whether a slot that waits for the store has not run yet.
func (t *trial) someWait() bool {
	runs := t.runs()
	for minute := range t.size.minutes {
		for task := 2; task < t.size.tasks; task += 3 {
			if len(runs[t.key(minute, task)]) == 0 {
				return true
			}
		}
	}
	return false
}

// tickAll starts the tick of a minute on each server, when its clock shows that minute. It returns
// when the minute is over.
func (t *trial) tickAll(minute int) {
	for i := range t.size.servers {
		skew := t.fault.skews[i]
		ahead := time.Duration(float64(skew) / float64(time.Minute) * float64(t.size.minute))
		t.ticks.Go(func() {
			time.Sleep(time.Until(t.at(minute).Add(-ahead)))
			if t.frozen.Load() != int64(i)+1 {
				t.tick(i, minute)
			}
		})
	}
	time.Sleep(time.Until(t.at(minute + 1).Add(-t.size.minute / 2))) // half a minute early: a clock may be ahead
}

// tick runs the tick of a minute, and keeps what it printed.
func (t *trial) tick(server, minute int) {
	c := exec.Command(t.size.binary, "run")
	c.Dir = t.folder(server)
	clock := t.first.Add(time.Duration(minute) * time.Minute)
	c.Env = append(os.Environ(), "TZ=UTC", "NO_COLOR=1", "HOME="+c.Dir, "SCHED_TEST_SERVER="+name(server),
		"SCHED_TEST_CLOCK="+clock.Format(time.RFC3339), "SCHED_TRACE="+t.tracePath(), t.mark(server))
	out, err := c.CombinedOutput()
	t.tickCount.Add(1)
	if err != nil {
		t.failed.Add(1)
	}
	log, openErr := os.OpenFile(filepath.Join(c.Dir, "ticks"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if openErr == nil {
		fmt.Fprintf(log, "== %s, from %s: %v\n%s", clock.Format("15:04"), t.at(minute).Format("05.000"), err, out)
		log.Close()
	}
}

// mark is in the environment of each process of a server of this trial.
func (t *trial) mark(server int) string { return "FAULTS_OF=" + t.folder(server) }

// processes returns the ids of all processes of a server.
func (t *trial) processes(server int) (pids []int) {
	mark := []byte("\x00" + t.mark(server) + "\x00")
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		environ, _ := os.ReadFile(path)
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil &&
			bytes.Contains(append([]byte{0}, environ...), mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// signal sends a signal to all processes of a server.
func (t *trial) signal(server int, s syscall.Signal) {
	for _, pid := range t.processes(server) {
		syscall.Kill(pid, s)
	}
}
