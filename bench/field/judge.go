//go:build linux

package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A run is one start of a job, as the job itself wrote it down.
type run struct {
	job    string
	server int // the number of its scheduler
	pid    int
	begun  time.Time
	seen   time.Time // its last sign of life
	ended  bool
}

// readJournal returns the runs of a journal, in the order in which they began. Each line is one
// write(2) with O_APPEND: "begin JOB PID NANOSECONDS SERVER", then "beat" lines, then "end".
func readJournal(path string) (runs []*run, err error) {
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	open := map[string]*run{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 5 {
			return nil, fmt.Errorf("%s: %q is no line of a journal", path, line)
		}
		pid, err := strconv.Atoi(f[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		nanos, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		server, err := strconv.Atoi(f[4])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		at, key := time.Unix(0, nanos), f[1]+" "+f[2]
		if f[0] == "begin" {
			open[key] = &run{job: f[1], server: server, pid: pid, begun: at}
			runs = append(runs, open[key])
		}
		r := open[key]
		if r == nil {
			return nil, fmt.Errorf("%s: %q belongs to no run", path, line)
		}
		r.seen, r.ended = at, f[0] == "end"
	}
	slices.SortStableFunc(runs, func(a, b *run) int { return a.begun.Compare(b.begun) })
	return runs, nil
}

// A verdict counts what became of the slots of a trial.
type verdict struct {
	late       int    // they started in a later minute: the scheduler made up for them
	never      int    // they never started
	said       int    // of never and of cut: a line of the scheduler names the slot
	twice      int    // starts for which there was no slot
	overlapped int    // starts of a job that must not run beside itself, while it ran
	cut        int    // runs that were going on when the scheduler was killed
	left       int    // jobs that ran on when the scheduler had ended
	few        string // of a job of every five minutes there were so few starts
}

// saidSo is in a cell whose lost and cut off runs are all named by the scheduler.
const saidSo = "said so"

// String is the verdict as a cell of the table. An empty verdict is that all went well.
func (v verdict) String() string {
	var words []string
	add := func(n int, word string) {
		if n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, word))
		}
	}
	if silent := v.never + v.cut - v.said; v.never+v.cut > 0 {
		add(v.never, "lost")
		add(v.cut, "cut off")
		switch silent {
		case 0:
			words = append(words, saidSo)
		case v.never + v.cut:
		default:
			words = append(words, fmt.Sprintf("%d said", v.said))
		}
	}
	add(v.late, "late")
	add(v.twice, "twice")
	add(v.overlapped, "overlapped")
	add(v.left, "left behind")
	if v.few != "" {
		words = append(words, v.few)
	}
	if len(words) == 0 {
		return "✓"
	}
	return strings.Join(words, ", ")
}

// minutely judges a job that is due in each of these minutes, and counts what became of some of
// them. A start belongs to the minute in which it came. If another start came before it in that
// minute, it makes up for the newest earlier minute that has none.
func (v *verdict) minutely(runs []*run, slots, counted []time.Time) (never []time.Time) {
	const early = 500 * time.Millisecond // by so much a timer of the scheduler may be fast
	taken, late, more := map[int64]bool{}, map[int64]bool{}, []*run{}
	for _, r := range runs {
		switch slot := r.begun.Add(early).Truncate(time.Minute); {
		case slot.Before(slots[0]), slot.After(slots[len(slots)-1].Add(time.Minute)):
		case taken[slot.Unix()] || !slices.ContainsFunc(slots, slot.Equal):
			more = append(more, r)
		default:
			taken[slot.Unix()] = true
		}
	}
	for _, r := range more {
		made := false
		for _, slot := range slices.Backward(slots) {
			if slot.Before(r.begun) && !taken[slot.Unix()] {
				taken[slot.Unix()], late[slot.Unix()], made = true, true, true
				break
			}
		}
		if !made && r.begun.Before(slots[len(slots)-1].Add(time.Minute)) {
			v.twice++
		}
	}
	for _, slot := range counted {
		switch {
		case late[slot.Unix()]:
			v.late++
		case !taken[slot.Unix()]:
			v.never++
			never = append(never, slot)
		}
	}
	return never
}

// alone counts the starts of a job that must not run beside itself, while an earlier run of it
// lived.
func (v *verdict) alone(runs []*run) {
	for i, r := range runs {
		if slices.ContainsFunc(runs[:i], func(earlier *run) bool { return earlier.seen.After(r.begun) }) {
			v.overlapped++
		}
	}
}

// once judges a job that is due once in a trial.
func (v *verdict) once(runs []*run) {
	v.never += max(0, 1-len(runs))
	v.twice += max(0, len(runs)-1)
}

// of returns the runs of a job.
func of(runs []*run, job string) (some []*run) {
	for _, r := range runs {
		if r.job == job {
			some = append(some, r)
		}
	}
	return some
}

// slotForms are the ways in which schedulers write a minute.
var slotForms = []string{
	"2006-01-02T15:04", "2006-01-02 15:04", "2006/01/02 15:04", "Mon Jan 02 2006 15:04", "Jan 02 15:04", "Jan _2 15:04",
}

var (
	outcomeWords = regexp.MustCompile(`(?i)\b(missed|lost|skipp(ed|ing)|vanished|killed|crashed|interrupted|failed|abandoned|rescued|discarded|cancell?ed)\b`)
	missedBy     = regexp.MustCompile(`^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d).* was missed by (\d+):(\d\d):(\d\d)`)
)

// says reports whether a line of what a scheduler wrote tells that something became of this minute
// other than a run: it names the minute and has a word for it, or says by how much it was missed.
func says(log string, slot time.Time) bool {
	for line := range strings.Lines(log) {
		if m := missedBy.FindStringSubmatch(line); m != nil {
			at, _ := time.ParseInLocation(time.DateTime, m[1], slot.Location())
			hours, _ := strconv.Atoi(m[2])
			minutes, _ := strconv.Atoi(m[3])
			seconds, _ := strconv.Atoi(m[4])
			late := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second
			if at.Add(-late).Sub(slot).Abs() < 2*time.Second {
				return true
			}
		}
		if outcomeWords.MatchString(line) &&
			slices.ContainsFunc(slotForms, func(form string) bool { return strings.Contains(line, slot.Format(form)) }) {
			return true
		}
	}
	return false
}
