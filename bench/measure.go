//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/state"
)

// A sample is how long a program took, with all processes that it started.
type sample struct {
	first time.Duration // until the program itself ended
	all   time.Duration // until the last process that it left behind ended
	cpu   time.Duration // user and system time of all of them
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) sched(dir string, args ...string) sample {
	if slices.Equal(args, []string{"run"}) {
		b.uncover(dir)
	}
	return b.tree(dir, "sched", args...)
}

// uncover lets `sched run` tick once more in a minute that was ticked already, as if that tick had
// been in another minute: the second run of a slot costs more than the first.
func (b *bench) uncover(dir string) {
	db, err := state.Open(filepath.Join(dir, ".sched"), state.Patience)
	must(err)
	for _, minute := range []string{"covered", "newest_covered"} {
		must(db.Values().Set(context.Background(), minute, nil))
	}
	must(db.Close())
	rows, err := sql.Open("sqlite", filepath.Join(dir, ".sched/sched.db"))
	must(err)
	b.uncovered++
	by, since := time.Duration(b.uncovered)*time.Hour, time.Now().Add(-2*time.Minute)
	_, err = rows.Exec("UPDATE run SET slot = slot - ? WHERE slot > ?", by.Microseconds(), since.UnixMicro())
	must(errors.Join(err, rows.Close()))
}

// tree runs one of our programs in the folder and waits for it and everything that it left behind:
// this process is its subreaper (prctl(2)), so orphans become its children, and their CPU time is
// counted.
func (b *bench) tree(dir, program string, args ...string) (s sample) {
	before, begun := used(), time.Now()
	pid := b.start(dir, program, args...)
	for ended := b.wait(-1); ended != 0; ended = b.wait(-1) {
		s.all = time.Since(begun)
		if ended == pid {
			s.first = s.all
		}
	}
	s.cpu = used() - before
	return s
}

// used returns the CPU time of all processes that this process, or its children, waited for.
func used() time.Duration {
	var usage unix.Rusage
	must(unix.Getrusage(unix.RUSAGE_CHILDREN, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// start starts a program of the benchmark. Its output goes to a file: it must not be a terminal,
// because under cron it is a pipe.
func (b *bench) start(dir, program string, args ...string) (pid int) {
	argv := append([]string{b.path(program)}, args...)
	process, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Dir: dir, Files: []*os.File{nil, b.out, os.Stderr}})
	must(err)
	defer process.Release()
	return process.Pid
}

// wait waits for a child, -1 for any, and returns its pid; 0 if no child is left. A child that
// fails ends the benchmark: its figure would mean nothing.
func (b *bench) wait(which int) (pid int) {
	var status unix.WaitStatus
	err := error(unix.EINTR)
	for err == unix.EINTR {
		pid, err = unix.Wait4(which, &status, 0, nil)
	}
	if err == unix.ECHILD {
		return 0
	}
	if err != nil || status != 0 {
		log.Fatalf("process %d: %v, status %#x; see %s", pid, err, status, b.out.Name())
	}
	return pid
}

// anonymous returns the anonymous resident memory of a process in MiB (proc_pid_status(5)).
func anonymous(pid int) (mib float64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(err)
	_, after, _ := strings.Cut(string(text), "RssAnon:")
	_, err = fmt.Sscan(after, &mib)
	must(err)
	return mib / 1024
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

const none = -1 // no budget

// busyness estimates how many times as long as on a machine at rest a program took, because other
// programs had the processors. It is the smaller of two ratios of time to CPU time: of work in this
// process now, and of the program. It is at least 1.
func (s sample) busyness() float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	worked := func() time.Duration {
		var t unix.Timespec
		must(unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t))
		return time.Duration(t.Nano())
	}
	const work = 20 * time.Millisecond
	begun, before := time.Now(), worked()
	for worked()-before < work {
	}
	return max(1, min(ratio(time.Since(begun), work), ratio(s.first, s.cpu)))
}

// A row is a line of the table.
type row struct {
	what, figure string
	beside       string // what the yardstick, or another program, had in the same minutes
	budget       string
	verdict      string // ok or over; empty without a budget
	part         string // of the benchmark, which repeats the row
}

// row adds a figure to the table.
func (b *bench) row(what string, figure float64, unit string, limit float64) {
	b.busyRow(what, figure, unit, limit, nil)
}

// rowBeside adds a figure that is a ratio, and what the ratio is to.
func (b *bench) rowBeside(what string, figure float64, unit string, limit float64, beside string) {
	b.row(what, figure, unit, limit)
	b.rows[len(b.rows)-1].beside = beside
}

// busyRow adds a figure of samples with a busyness. The budget is larger by that factor, and the
// table says so.
func (b *bench) busyRow(what string, figure float64, unit string, limit float64, busy []float64) {
	r := row{what: what, figure: inUnit(figure, unit), part: b.part}
	factor := 1.0
	if limit != none {
		r.budget, r.verdict = fmt.Sprint(limit), "ok"
	}
	if limit != none && len(busy) > 0 && median(busy) >= 1.1 {
		factor = median(busy)
		r.budget += fmt.Sprintf(" × %.1f, busy", factor)
	}
	if limit != none && figure > limit*factor {
		r.verdict, b.over = "over", true
	}
	b.rows = append(b.rows, r)
}

// inUnit writes a figure with two decimals; without decimals if it is large, or a number of things.
func inUnit(figure float64, unit string) string {
	decimals := 2
	if figure >= 10 || unit == "" {
		decimals = 0
	}
	return strings.TrimSpace(fmt.Sprintf("%.*f %s", decimals, figure, unit))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
