// Command cronhourcheck compares two lists of times: when a cron with a fast clock started its
// jobs, and when `sched run --dry-run` would start the tasks that were imported from its crontab.
// .ci/cronhour describes the arguments.
package main

import (
	"encoding/json"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Jobs start a little after their minute has begun. On a busy machine the minute may be over by
// then, by cron's clock. Few jobs may be so late: one of a line or a quarter of them, and at most
// by mostLate. No job may be early.
const (
	mostLate   = 5 * time.Minute
	fewAreLate = 0.05
)

var (
	dir     = os.Args[1]
	span    = os.Args[2]
	speed   = time.Duration(number(os.Args[3]))
	minutes = number(os.Args[4])
	lead    = time.Duration(number(os.Args[5])) * time.Second
)

func main() {
	log.SetFlags(0)
	log.SetPrefix(span + ": ")
	begin, err := time.Parse("2006-01-02 15:04 MST", text("begin"))
	must(err)
	cron, sched := started(begin), map[string][]time.Time{}
	for i := range minutes {
		minute := begin.Add(time.Duration(i) * time.Minute)
		for _, task := range due(minute) {
			sched[task] = append(sched[task], minute)
		}
	}
	runs, late, wrong := 0, 0, 0
	names := maps.Clone(sched)
	maps.Copy(names, cron)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		l, ok := compare(sched[name], cron[name])
		runs, late = runs+len(cron[name]), late+l
		if !ok {
			wrong++
			log.Printf("WRONG %s\n  sched: %s\n  cron:  %s", name, clocks(sched[name]), clocks(cron[name]))
		}
	}
	log.Printf("%d lines, %d starts by cron in %d minutes from %s on, %d of them late: %d lines differ",
		len(names), runs, minutes, begin.Local().Format("2006-01-02 15:04 MST"), late, wrong)
	if wrong > 0 || runs < 2*minutes || float64(late) > fewAreLate*float64(runs) {
		os.Exit(1)
	}
}

// compare reports whether a job started as often as its task is due, and each time in that minute
// or a little later. late is how many times it started after the minute.
func compare(due, started []time.Time) (late int, same bool) {
	if len(due) != len(started) {
		return 0, false
	}
	for i, at := range started {
		after := at.Sub(due[i])
		if after < 0 || after > mostLate {
			return late, false
		}
		if after >= time.Minute {
			late++
		}
	}
	return late, late <= 1 || late*4 <= len(due)
}

// started returns when each job started, by cron's clock. That clock showed lead before begin at
// the time in the file real, and goes faster. To make up for a gap, cron starts a job several times
// within one minute; started has that minute once.
func started(begin time.Time) map[string][]time.Time {
	real := time.Unix(0, int64(number(text("real"))))
	all := map[string][]time.Time{}
	for _, line := range slices.Sorted(strings.Lines(text("ran") + "\n")) { // by name, and then by time
		f := strings.Fields(line)
		if len(f) != 2 {
			continue
		}
		at := begin.Add(-lead).Add(time.Unix(0, int64(number(f[1]))).Sub(real) * speed)
		before := all[f[0]]
		if n := len(before); n == 0 || at.Truncate(time.Minute).After(before[n-1].Truncate(time.Minute)) {
			all[f[0]] = append(before, at)
		}
	}
	return all
}

// due returns the tasks that a tick of the minute would run.
func due(minute time.Time) (names []string) {
	c := exec.Command(filepath.Join(dir, "sched"), "run", "--dry-run", "--json", "--at", minute.Format(time.RFC3339))
	c.Dir, c.Stderr = filepath.Join(dir, span), os.Stderr
	out, err := c.Output()
	must(err)
	var tick struct {
		Tasks []struct{ Name, Would string }
	}
	must(json.Unmarshal(out, &tick))
	for _, task := range tick.Tasks {
		if task.Would == "run" {
			names = append(names, task.Name)
		}
	}
	return names
}

func clocks(all []time.Time) string {
	var text []string
	for _, at := range all {
		text = append(text, at.Local().Format("15:04:05 MST"))
	}
	return strings.Join(text, ", ")
}

func text(name string) string {
	b, err := os.ReadFile(filepath.Join(dir, span, name))
	must(err)
	return strings.TrimSpace(string(b))
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	must(err)
	return n
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
