//go:build linux

package main

import (
	"cmp"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// figures are what a scheduler took, alone on the machine.
type figures struct {
	half, last  time.Duration // when half and all of 100 lines had started, after they were due
	rest, busy  int           // KiB of its processes before they were due, and while they ran (PSS)
	late, worst time.Duration // of a job of every second: the median, and the latest start
}

const lines = 100

// String is the figures as cells of a table.
func (f figures) String() string {
	cells := fmt.Sprintf("%d ms|%d ms|", f.half.Milliseconds(), f.last.Milliseconds())
	if f.rest == 0 {
		return cells + "–|–|–"
	}
	cells += fmt.Sprintf("%.1f MiB|%.1f MiB|", float64(f.rest)/1024, float64(f.busy)/1024)
	if f.worst == 0 {
		return cells + "–"
	}
	return cells + fmt.Sprintf("%d, %d ms", f.late.Milliseconds(), f.worst.Milliseconds())
}

// measure returns a line of figures for each target with one server and its best settings. The
// lines of a target that knows seconds are due in the middle of a minute.
func measure(dir string, rows []target) (table []string) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(row target) bool {
		return row.settings == "" || row.servers > 1 || row.root && os.Geteuid() != 0
	})
	log.Print("figures, about eight minutes")
	add := func(name string, f figures, err error) {
		if err != nil {
			log.Printf("%s: %v", name, err)
			return
		}
		table = append(table, fmt.Sprintf("|%s|%s|", name, f))
	}
	for len(rows) > 0 {
		due := time.Now().Add(22 * time.Second).Truncate(30 * time.Second).Add(30 * time.Second)
		for i, row := range rows {
			if (row.half != "") == (due.Second() == 30) {
				f, err := row.figures(filepath.Join(dir, "figures-"+due.Format("150405")), due)
				add(row.name, f, err)
				rows = slices.Delete(rows, i, i+1)
				break
			}
		}
		time.Sleep(time.Until(due.Add(6 * time.Second)))
	}
	f, err := bareForks(filepath.Join(dir, "figures-bare"))
	add("*a loop that starts 100 shells*", f, err)
	return table
}

// figures measures a target whose lines are due at an instant.
func (g target) figures(dir string, due time.Time) (f figures, err error) {
	until := due.Add(-15 * time.Second)
	if g.half == "" && g.second != "" { // it begins with a minute, so its lines have to wait
		until, due = due.Add(15*time.Second), due.Add(time.Minute)
	}
	if g.second != "" {
		if err := f.everySecond(&trial{target: g, dir: dir + "-seconds"}, until); err != nil {
			return f, err
		}
	}
	t, cron := &trial{target: g, dir: dir}, cmp.Or(g.half, "* * * * *")
	for i := range lines {
		t.jobs = append(t.jobs, starter(fmt.Sprintf("line%d", i), cron, dir, 8))
	}
	err = t.while(func() {
		time.Sleep(time.Until(due.Add(-2 * time.Second)))
		f.rest = t.memory()
		time.Sleep(time.Until(due.Add(6 * time.Second)))
		f.busy = t.memory()
	})
	if err != nil {
		return f, err
	}
	return f, f.starts(dir, due)
}

// everySecond measures a job of every second until some time.
func (f *figures) everySecond(t *trial, until time.Time) error {
	t.jobs = []job{starter("second", t.target.second, t.dir, 0)}
	if err := t.while(func() { time.Sleep(time.Until(until)) }); err != nil {
		return err
	}
	starts, err := startsOf(t.dir)
	if err != nil || len(starts) < 5 {
		return fmt.Errorf("%d starts of a job of every second: %w", len(starts), err)
	}
	const early = time.Second / 10 // by so much a start may be early
	var late []time.Duration
	for _, at := range starts[2:] { // as it begins, it has other work
		at = at.Add(early)
		late = append(late, at.Sub(at.Truncate(time.Second))-early)
	}
	slices.Sort(late)
	f.late, f.worst = late[len(late)/2], late[len(late)-1]
	return nil
}

// while runs a target, and something while it runs.
func (t *trial) while(do func()) error {
	defer t.cleanUp()
	t.first = time.Now()
	if err := t.prepare(); err != nil {
		return err
	}
	if err := t.start(0); err != nil {
		return err
	}
	do()
	return nil
}

// starter is a job that writes down the time since the machine began, which a shell can read
// without another process, in hundredths of a second.
func starter(name, cron, dir string, seconds int) job {
	return job{name: name, cron: cron,
		line: fmt.Sprintf("read up rest </proc/uptime; echo $up >>%s; exec sleep %d", filepath.Join(dir, "job-starts"), seconds)}
}

// startsOf reads what the jobs wrote.
func startsOf(dir string) (starts []time.Time, err error) {
	text, err := os.ReadFile("/proc/uptime")
	must(err)
	up, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	must(err)
	now := time.Now()
	text, err = os.ReadFile(filepath.Join(dir, "job-starts"))
	for _, line := range strings.Fields(string(text)) {
		at, err := strconv.ParseFloat(line, 64)
		must(err)
		starts = append(starts, now.Add(time.Duration((at-up)*1e9)))
	}
	slices.SortFunc(starts, time.Time.Compare)
	return starts, err
}

// starts fills in when the lines started.
func (f *figures) starts(dir string, due time.Time) error {
	starts, err := startsOf(dir)
	if err != nil {
		return err
	}
	if len(starts) != lines {
		return fmt.Errorf("%d of %d lines started", len(starts), lines)
	}
	f.half, f.last = max(0, starts[lines/2-1].Sub(due)), max(0, starts[lines-1].Sub(due))
	return nil
}

// memory is the memory of the processes of the scheduler in KiB. Memory that they share
// with each other counts once (PSS).
func (t *trial) memory() (kib int) {
	for _, pid := range t.processes(0, false) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		_, rest, _ := strings.Cut(string(text), "\nPss:")
		if words := strings.Fields(rest); len(words) > 0 {
			n, _ := strconv.Atoi(words[0])
			kib += n
		}
	}
	return kib
}

// bareForks starts the lines as fast as Go can.
func bareForks(dir string) (f figures, err error) {
	must(os.MkdirAll(dir, 0o755))
	due, line := time.Now(), starter("", "", dir, 1).line
	var started []*exec.Cmd
	for range lines {
		c := exec.Command("sh", "-c", line)
		must(c.Start())
		started = append(started, c)
	}
	for _, c := range started {
		must(c.Wait())
	}
	return f, f.starts(dir, due)
}
