package forecast

import (
	"cmp"
	"container/heap"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
)

// LateAfter is how late a run may start before it counts as late: longer than a tick takes.
const LateAfter = 5 * time.Second

// Sums are the sums of a simulation. Runs at the same time are counted over all servers.
type Sums struct {
	Starts  int
	Peak    Peak // of runs at once
	CPU     Peak // of processors in use, in thousandths
	Memory  Peak // in bytes
	Hours   []Hour
	Crowded []Minute // minutes in which most runs are due to start, at most maxCrowded, the fullest first
	Tasks   []Task   // active ones, in file order
}

const maxCrowded = 5

// A Peak is the most there is of something at one moment.
type Peak struct {
	Most int64
	At   time.Time // when Most is reached first; zero if Most is 0
}

func (p *Peak) raise(to, at int64) {
	if to > p.Most {
		p.Most, p.At = to, time.Unix(0, at).UTC()
	}
}

// An Hour is an hour of the wall clock in the schedule's zone, or the part of it that lies in the
// span.
type Hour struct {
	Start   time.Time // in the schedule's zone
	Most    int       // runs at once
	Starts  int
	Skipped int // slots that are skipped because another run has the mutex, the pool is full, or it is too late
	Late    int // runs that start more than LateAfter after their slots
}

// A Minute is a minute and how many runs of its slots start.
type Minute struct {
	At     time.Time
	Starts int
}

// A Task is what the forecast has of one task.
type Task struct {
	*schedule.Task
	First     time.Time // its first slot; zero for none
	TimesHash uint64    // of all its slots: in one process, the same for the same times
	Starts    int
	Skips     map[Skip]int
	LateRuns  int  // that start more than LateAfter after their slots
	MostLate  Slot // the late run that starts furthest behind its slot; without a Task: no run is late

	FirstTroubleSkip Slot // without a Task: TroubleSkips is 0
}

// TroubleSkips returns how many slots are skipped, but not by a condition or a pause.
func (t Task) TroubleSkips() int { return t.Skips[Overlap] + t.Skips[Full] + t.Skips[TooLate] }

// Sum simulates the span and adds up what happens in it. If the input is done before the end, the
// sums cover the beginning only.
func Sum(in Input) *Sums {
	c := newCollector(in)
	Simulate(in, c.observe)
	return c.result()
}

// LateTasks returns the tasks with late runs. The task whose run starts furthest behind its slot
// comes first.
func (s *Sums) LateTasks() []Task {
	late := slices.DeleteFunc(slices.Clone(s.Tasks), func(t Task) bool { return t.LateRuns == 0 })
	byLateness := func(a, b Task) int { return cmp.Compare(b.MostLate.Lateness(), a.MostLate.Lateness()) }
	slices.SortStableFunc(late, byLateness)
	return late
}

// SkippingTasks returns the tasks with TroubleSkips. The task with the most of them comes first.
func (s *Sums) SkippingTasks() []Task {
	skipping := slices.DeleteFunc(slices.Clone(s.Tasks), func(t Task) bool { return t.TroubleSkips() == 0 })
	slices.SortStableFunc(skipping, func(a, b Task) int { return cmp.Compare(b.TroubleSkips(), a.TroubleSkips()) })
	return skipping
}

// SkipsOf returns how many slots of all tasks are skipped for a kind of reason.
func (s *Sums) SkipsOf(kind Skip) (n int) {
	for _, t := range s.Tasks {
		n += t.Skips[kind]
	}
	return n
}

// LateRuns returns how many runs of all tasks start late.
func (s *Sums) LateRuns() (n int) {
	for _, t := range s.Tasks {
		n += t.LateRuns
	}
	return n
}

// TroubleSkips returns how many slots of all tasks are skipped, but not by a condition or a pause.
func (s *Sums) TroubleSkips() int { return s.SkipsOf(Overlap) + s.SkipsOf(Full) + s.SkipsOf(TooLate) }

// A collector adds up the outcomes of slots, which come in the order of their starts. Instants are
// nanoseconds since 1970.
type collector struct {
	sums    *Sums
	to      time.Time
	tasks   map[*schedule.Task]*Task
	minutes []int // starts by minute of the slot
	first   int64 // the minute of minutes[0], in minutes since 1970

	// The state at the instant to which the collector has come.
	hour   int // the index in sums.Hours
	live   heapOf[runEnd]
	cpu    int64 // of the live runs together, as in Sums
	memory int64
}

func newCollector(in Input) *collector {
	sums := &Sums{Hours: hours(in.From, in.To, in.Schedule.Location)}
	c := &collector{sums: sums, to: in.To, tasks: map[*schedule.Task]*Task{}, first: in.From.Unix() / 60}
	c.minutes = make([]int, in.To.Add(time.Minute-1).Unix()/60-c.first) // the last one may hold To
	for t := range in.Schedule.ActiveTasks() {
		c.tasks[t] = &Task{Task: t, Skips: map[Skip]int{}}
		sums.Tasks = append(sums.Tasks, *c.tasks[t])
	}
	return c
}

// hours cuts a span at the full hours of a zone's wall clock, and at the changes of its clocks.
func hours(from, to time.Time, zone *time.Location) (all []Hour) {
	for at := from.In(zone); at.Before(to); {
		all = append(all, Hour{Start: at})
		past := time.Duration(at.Minute()*60+at.Second())*time.Second + time.Duration(at.Nanosecond())
		next := at.Add(time.Hour - past)
		if _, change := at.ZoneBounds(); !change.IsZero() && change.Before(next) {
			next = change
		}
		at = next.In(zone)
	}
	return all
}

func (c *collector) observe(slot *Slot) {
	at := slot.Start.UnixNano()
	c.advance(at)
	task, hour := c.tasks[slot.Task], &c.sums.Hours[c.hour]
	task.addTime(slot.At)
	if slot.Skip != NoSkip {
		task.addSkip(slot, hour)
		return
	}
	task.Starts++
	hour.Starts++
	c.sums.Starts++
	c.minutes[slot.At.Unix()/60-c.first]++
	if slot.Lateness() > LateAfter {
		hour.Late++
		task.LateRuns++
		if slot.Lateness() > task.MostLate.Lateness() {
			task.MostLate = *slot
		}
	}
	c.addRun(slot.Load, at)
}

// timesSeed makes the hashes of one process comparable.
var timesSeed = maphash.MakeSeed()

// addTime adds the time of a slot. The order of the times makes no difference.
func (t *Task) addTime(at time.Time) {
	if t.First.IsZero() || at.Before(t.First) {
		t.First = at
	}
	t.TimesHash += maphash.Comparable(timesSeed, at.UnixNano())
}

func (t *Task) addSkip(slot *Slot, hour *Hour) {
	t.Skips[slot.Skip]++
	if slot.Skip != Overlap && slot.Skip != Full && slot.Skip != TooLate {
		return
	}
	hour.Skipped++
	if t.FirstTroubleSkip.Task == nil {
		t.FirstTroubleSkip = *slot
	}
}

// addRun adds a run that starts at an instant.
func (c *collector) addRun(load Load, at int64) {
	e := runEnd{at: at + int64(load.Took), memory: load.Memory}
	if load.Took > 0 {
		e.cpu = int64(1000 * load.CPU.Seconds() / load.Took.Seconds())
	}
	heap.Push(&c.live, e)
	c.cpu, c.memory = c.cpu+e.cpu, c.memory+e.memory
	c.sums.Peak.raise(int64(len(c.live)), at)
	c.sums.CPU.raise(c.cpu, at)
	c.sums.Memory.raise(c.memory, at)
	hour := &c.sums.Hours[c.hour]
	hour.Most = max(hour.Most, len(c.live))
}

// advance ends the runs that end until an instant, and enters the hour that holds it. Runs that go
// on count there, too.
func (c *collector) advance(at int64) {
	for c.hour+1 < len(c.sums.Hours) {
		next := &c.sums.Hours[c.hour+1]
		begins := next.Start.UnixNano()
		if begins > at {
			break
		}
		c.endRuns(begins)
		c.hour++
		next.Most = len(c.live)
	}
	c.endRuns(at)
}

// endRuns ends the runs that end at an instant or before it.
func (c *collector) endRuns(until int64) {
	for len(c.live) > 0 && c.live[0].at <= until {
		e := heap.Pop(&c.live).(runEnd)
		c.cpu, c.memory = c.cpu-e.cpu, c.memory-e.memory
	}
}

func (c *collector) result() *Sums {
	sums := c.sums
	c.advance(c.to.UnixNano() - 1)
	for i := range sums.Tasks {
		sums.Tasks[i] = *c.tasks[sums.Tasks[i].Task]
	}
	for i, n := range c.minutes {
		if n > 1 {
			sums.Crowded = append(sums.Crowded, Minute{time.Unix((c.first+int64(i))*60, 0).UTC(), n})
		}
	}
	slices.SortStableFunc(sums.Crowded, func(a, b Minute) int { return cmp.Compare(b.Starts, a.Starts) })
	sums.Crowded = sums.Crowded[:min(len(sums.Crowded), maxCrowded)]
	return sums
}

// A runEnd is the end of a run that lives, and what the run uses until then.
type runEnd struct {
	at          int64
	cpu, memory int64
}

func (e runEnd) Before(other runEnd) bool { return e.at < other.at }

// Days returns the rows of the heatmap. The levels divide the spread between its emptiest hour with
// runs and its fullest hour, so hours that are alike look alike.
func (s *Sums) Days() (days []Day) {
	most, least := 0, math.MaxInt
	for _, hour := range s.Hours {
		most = max(most, hour.Most)
		if hour.Most > 0 {
			least = min(least, hour.Most)
		}
		if n := len(days); n == 0 || days[n-1].Date.YearDay() != hour.Start.YearDay() {
			days = append(days, Day{Date: hour.Start})
		}
		cell := &days[len(days)-1].Hours[hour.Start.Hour()]
		if !cell.Exists {
			cell.Start = hour.Start
		}
		cell.Exists = true
		cell.Most = max(cell.Most, hour.Most)
		cell.Starts, cell.Late, cell.Skipped = cell.Starts+hour.Starts, cell.Late+hour.Late, cell.Skipped+hour.Skipped
	}
	for i := range days {
		for j := range days[i].Hours {
			if cell := &days[i].Hours[j]; cell.Most > 0 {
				cell.Level = 1 + (cell.Most-least)*Levels/(most-least+1)
			}
		}
	}
	return days
}

// A Cell is an hour of a heatmap. If an hour comes twice, its cell has both together.
type Cell struct {
	Exists bool // it lies in the span, and the clocks do not skip it
	Hour
	Level int // 0 if nothing runs; else from 1, the emptiest hour, to at most Levels
}

// HasTrouble reports whether something of the hour is late or is skipped.
func (c Cell) HasTrouble() bool { return c.Late > 0 || c.Skipped > 0 }

// Text describes a cell in words.
func (c Cell) Text() string {
	words := fmt.Sprintf("%s: at most %s at once, %s", c.Start.Format("Mon 2006-01-02 15:04 MST"),
		humanize.Count(c.Most, "run"), humanize.Count(c.Starts, "start"))
	if c.Late > 0 {
		words += fmt.Sprintf(", %d late", c.Late)
	}
	if c.Skipped > 0 {
		words += fmt.Sprintf(", %d skipped", c.Skipped)
	}
	return words
}

// A Day is a row of the heatmap: the hours of a day on the wall clock of the schedule's zone.
type Day struct {
	Date  time.Time // some time of it
	Hours [24]Cell
}

// Levels is how many levels of a heatmap there are above 0.
const Levels = 4
