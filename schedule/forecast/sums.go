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
	Crowded []Minute // minutes in which most runs are due to start, at most mostCrowded, the fullest first
	Tasks   []Task   // active ones, in file order
}

const mostCrowded = 5

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
	Times     uint64    // a hash of all its slots: in one process, the same for the same times
	Starts    int
	Skips     map[Skip]int
	FirstSkip Slot // of kind Overlap, Full or TooLate; without a Task: no skip
	LateRuns  int  // that start more than LateAfter after their slots
	Latest    Slot // the latest of them
}

// Trouble returns how many slots are skipped, but not by a condition or a pause.
func (t Task) Trouble() int { return t.Skips[Overlap] + t.Skips[Full] + t.Skips[TooLate] }

// Sum simulates the span and adds up what happens in it. If the input is done before the end, the
// sums cover the beginning only.
func Sum(in Input) *Sums {
	c := newCollector(in)
	Simulate(in, c.observe)
	return c.result()
}

// Late returns the tasks with late runs, the latest first.
func (f *Sums) Late() []Task {
	late := slices.DeleteFunc(slices.Clone(f.Tasks), func(t Task) bool { return t.LateRuns == 0 })
	slices.SortStableFunc(late, func(a, b Task) int { return cmp.Compare(b.Latest.Late(), a.Latest.Late()) })
	return late
}

// Worst returns the latest start of all tasks; without a Task nothing is late.
func (f *Sums) Worst() Slot {
	if late := f.Late(); len(late) > 0 {
		return late[0].Latest
	}
	return Slot{}
}

// Skipping returns the tasks with slots that are skipped, but not by a condition or a pause. The
// tasks with the most such slots come first.
func (f *Sums) Skipping() []Task {
	skipping := slices.DeleteFunc(slices.Clone(f.Tasks), func(t Task) bool { return t.Trouble() == 0 })
	slices.SortStableFunc(skipping, func(a, b Task) int { return cmp.Compare(b.Trouble(), a.Trouble()) })
	return skipping
}

// Skips returns how many slots of all tasks are skipped for a kind of reason.
func (f *Sums) Skips(kind Skip) (n int) {
	for _, t := range f.Tasks {
		n += t.Skips[kind]
	}
	return n
}

// LateRuns returns how many runs of all tasks start late.
func (f *Sums) LateRuns() (n int) {
	for _, t := range f.Tasks {
		n += t.LateRuns
	}
	return n
}

// Troubles returns how many slots of all tasks are skipped, but not by a condition or a pause.
func (f *Sums) Troubles() int { return f.Skips(Overlap) + f.Skips(Full) + f.Skips(TooLate) }

type collector struct {
	sums    *Sums
	to      time.Time
	tasks   map[*schedule.Task]*Task
	minutes []int // starts by minute of the slot
	first   int64 // the minute of minutes[0], in minutes since 1970
	hour    int   // in sums.Hours
	ends    heapOf[end]
	cpu     int64
	memory  int64
}

func newCollector(in Input) *collector {
	f := &Sums{Hours: hours(in.From, in.To, in.Schedule.Location)}
	c := &collector{sums: f, to: in.To, tasks: map[*schedule.Task]*Task{}, first: in.From.Unix() / 60}
	c.minutes = make([]int, in.To.Add(time.Minute-1).Unix()/60-c.first) // the last one may hold To
	for t := range in.Schedule.ActiveTasks() {
		c.tasks[t] = &Task{Task: t, Skips: map[Skip]int{}}
		f.Tasks = append(f.Tasks, *c.tasks[t])
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
	task.due(slot.At)
	if slot.Skip != Runs {
		task.skip(slot, hour)
		return
	}
	task.Starts++
	hour.Starts++
	c.sums.Starts++
	c.minutes[slot.At.Unix()/60-c.first]++
	if slot.Late() > LateAfter {
		hour.Late++
		if task.LateRuns++; slot.Late() > task.Latest.Late() {
			task.Latest = *slot
		}
	}
	c.run(slot.Load, at)
}

// timesSeed makes the hashes of one process comparable.
var timesSeed = maphash.MakeSeed()

// due adds a slot, in any order.
func (t *Task) due(at time.Time) {
	if t.First.IsZero() || at.Before(t.First) {
		t.First = at
	}
	t.Times += maphash.Comparable(timesSeed, at.UnixNano())
}

func (t *Task) skip(slot *Slot, hour *Hour) {
	t.Skips[slot.Skip]++
	if slot.Skip != Overlap && slot.Skip != Full && slot.Skip != TooLate {
		return
	}
	hour.Skipped++
	if t.FirstSkip.Task == nil {
		t.FirstSkip = *slot
	}
}

func (c *collector) run(load Load, at int64) {
	e := end{at: at + int64(load.Took), memory: load.Memory}
	if load.Took > 0 {
		e.cpu = int64(1000 * load.CPU.Seconds() / load.Took.Seconds())
	}
	heap.Push(&c.ends, e)
	c.cpu, c.memory = c.cpu+e.cpu, c.memory+e.memory
	c.sums.Peak.raise(int64(len(c.ends)), at)
	c.sums.CPU.raise(c.cpu, at)
	c.sums.Memory.raise(c.memory, at)
	hour := &c.sums.Hours[c.hour]
	hour.Most = max(hour.Most, len(c.ends))
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
		c.end(begins)
		c.hour++
		next.Most = len(c.ends)
	}
	c.end(at)
}

func (c *collector) end(until int64) {
	for len(c.ends) > 0 && c.ends[0].at <= until {
		e := heap.Pop(&c.ends).(end)
		c.cpu, c.memory = c.cpu-e.cpu, c.memory-e.memory
	}
}

func (c *collector) result() *Sums {
	f := c.sums
	c.advance(c.to.UnixNano() - 1)
	for i := range f.Tasks {
		f.Tasks[i] = *c.tasks[f.Tasks[i].Task]
	}
	for i, n := range c.minutes {
		if n > 1 {
			f.Crowded = append(f.Crowded, Minute{time.Unix((c.first+int64(i))*60, 0).UTC(), n})
		}
	}
	slices.SortStableFunc(f.Crowded, func(a, b Minute) int { return cmp.Compare(b.Starts, a.Starts) })
	f.Crowded = f.Crowded[:min(len(f.Crowded), mostCrowded)]
	return f
}

type end struct {
	at          int64
	cpu, memory int64
}

func (e end) Before(other end) bool { return e.at < other.at }

// A heapOf is a heap for package container/heap. Its first element comes before all others.
type heapOf[T interface{ Before(T) bool }] []T

func (h heapOf[T]) Len() int           { return len(h) }
func (h heapOf[T]) Less(i, j int) bool { return h[i].Before(h[j]) }
func (h heapOf[T]) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

func (h *heapOf[T]) Push(x any) { *h = append(*h, x.(T)) }

func (h *heapOf[T]) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// A Day is a row of the heatmap: the hours of a day on the wall clock of the schedule's zone.
type Day struct {
	Date  time.Time // some time of it
	Hours [24]Cell
}

// A Cell is an hour of a heatmap. If an hour comes twice, its cell has both together.
type Cell struct {
	Exists bool // it lies in the span, and the clocks do not skip it
	Hour
	Level int // 0 if nothing runs; else from 1, the emptiest hour, to at most Levels
}

// Levels is how many levels of a heatmap there are above 0.
const Levels = 4

// Trouble reports whether something of the hour is late or is skipped.
func (c Cell) Trouble() bool { return c.Late > 0 || c.Skipped > 0 }

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

// Days returns the rows of the heatmap. The levels divide the spread between its emptiest hour with
// runs and its fullest hour, so hours that are alike look alike.
func (f *Sums) Days() (days []Day) {
	most, least := 0, math.MaxInt
	for _, hour := range f.Hours {
		if most = max(most, hour.Most); hour.Most > 0 {
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
