package view

import (
	"container/heap"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/controls"
)

// An Upcoming is a slot that is to come, or was to come.
type Upcoming struct {
	Task   string `json:"task"`
	Slot   string `json:"slot"`   // UTC
	Unmet  string `json:"unmet"`  // the condition of time that will keep it from running; empty where none will
	Paused bool   `json:"paused"` // it will be skipped unless it is resumed

	At time.Time `json:"-"` // Slot, exactly
}

// Upcoming returns the slots at or after from and before to, in the order of their times, those of one time in file order: at most
// limit, after the slot of a task that after names (the zero value: all). More reports whether there are others.
func (s Source) Upcoming(from, to time.Time, after Upcoming, limit int) (slots []Upcoming, more bool) {
	pauses := s.Pauses()
	names := TaskNames(s.Schedule)
	last := slices.Index(names, after.Task)
	if from.Before(after.At) {
		from = after.At
	}
	var queue dueQueue
	for i, t := range s.Schedule.Tasks {
		start := from.Add(-1)
		if i <= last && from.Equal(after.At) {
			start = from
		}
		if at, ok := t.When.Next(start); ok && at.Before(to) && s.Schedule.Active(t) {
			queue = append(queue, dueTask{at, i, t})
		}
	}
	heap.Init(&queue)
	slots = []Upcoming{}
	for len(queue) > 0 {
		if len(slots) == limit {
			return slots, true
		}
		first := &queue[0]
		slots = append(slots, upcoming(first.task, first.at, pauses))
		if next, ok := first.task.When.Next(first.at); ok && next.Before(to) {
			first.at = next
			heap.Fix(&queue, 0)
		} else {
			heap.Pop(&queue)
		}
	}
	return slots, false
}

func upcoming(t *schedule.Task, at time.Time, pauses controls.Pauses) Upcoming {
	return Upcoming{t.Name, timeText(at), t.UnmetCondition(at), PauseOf(pauses, t, at) != nil, at.UTC()}
}

// A dueTask is a task and its next slot.
type dueTask struct {
	at    time.Time
	index int // of the task in the file
	task  *schedule.Task
}

// A dueQueue is a heap of tasks, the next to be due first.
type dueQueue []dueTask

func (q dueQueue) Len() int { return len(q) }

func (q dueQueue) Less(i, j int) bool {
	if q[i].at.Equal(q[j].at) {
		return q[i].index < q[j].index
	}
	return q[i].at.Before(q[j].at)
}

func (q dueQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push is for container/heap.
func (q *dueQueue) Push(x any) { *q = append(*q, x.(dueTask)) }

// Pop is for container/heap.
func (q *dueQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
