package view

import (
	"maps"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/pause"
)

// A Pause keeps a task from starting.
type Pause struct {
	Everything bool               `json:"everything"` // all tasks are paused, and not this one by its name
	By         string             `json:"by"`         // the name of the schedule's file for one of its `pauses`
	Server     string             `json:"server"`
	Since      humanize.JSONTime  `json:"since"`
	Until      *humanize.JSONTime `json:"until"` // null for a pause without an end
	Reason     string             `json:"reason"`
	Stop       bool               `json:"stop,omitempty"`    // the runs that had begun before it are stopped
	Planned    bool               `json:"planned,omitempty"` // it is to come: since is when it begins

	Raw pause.Pause `json:"-"`
}

// A TaskPause is a pause in effect, or one that is planned.
type TaskPause struct {
	Task string `json:"task"` // empty for the pause of everything
	Pause
}

// PauseOf returns the pause that keeps the task from starting at a time; nil if no pause does.
func PauseOf(all pause.Pauses, t *schedule.Task, at time.Time) *Pause {
	p, ok := all.ForTask(t, at)
	if !ok {
		return nil
	}
	return new(pauseOf(p, at))
}

func pauseOf(p pause.Pause, now time.Time) Pause {
	return Pause{
		Everything: p.Everything,
		By:         p.By,
		Server:     p.Server,
		Since:      humanize.UTC(p.Since),
		Until:      humanize.UTCOrNil(p.Until),
		Reason:     p.Reason,
		Stop:       p.Stop,
		Planned:    p.ToCome(now),
		Raw:        p,
	}
}

// Text says in few words that a task is paused. If everything is paused, it leaves out by whom:
// another line says that once.
func (p *Pause) Text(now time.Time, zone *time.Location) string {
	if p.Everything {
		return "paused"
	}
	return p.Raw.Text(now, zone)
}

// Ends says what may end a pause early, for sentences about a slot in it.
func (p *Pause) Ends() string {
	if p.Raw.InFile {
		return ""
	}
	return " unless it is resumed"
}

// soon is how near a planned pause of the schedule itself must be before lists of tasks announce
// it: such a pause may come each day.
const soon = 24 * time.Hour

// Announced reports whether lists of tasks say that the planned pause is to come.
func (p *Pause) Announced(now time.Time) bool { return !p.Raw.InFile || p.Raw.Since.Sub(now) < soon }

// PausesNow returns the pauses in effect, and those that are planned: the pauses of everything,
// without the name of a task, and the pauses of active tasks. Of a pause of the schedule that comes
// again, only the next one is planned. Pauses of everything in effect come first; planned pauses
// are in the order in which they begin.
func PausesNow(
	s *schedule.Schedule, all pause.Pauses, active func(task string) bool, now time.Time,
) (paused, planned []TaskPause) {
	everything, planned := []TaskPause{}, []TaskPause{}
	for _, p := range slices.Concat(fromPeople(all, active, now), fromSchedule(s, active, now)) {
		switch {
		case p.Raw.InEffect(now) && p.Everything:
			everything = append(everything, p)
		case p.Raw.InEffect(now):
			paused = append(paused, p)
		case p.Raw.ToCome(now):
			planned = append(planned, p)
		}
	}
	slices.SortStableFunc(planned, func(a, b TaskPause) int { return a.Raw.Since.Compare(b.Raw.Since) })
	return append(everything, paused...), planned
}

// fromPeople returns the pauses that people made. The pauses of everything come first, then the
// pauses of each active task, by name.
func fromPeople(all pause.Pauses, active func(task string) bool, now time.Time) (pauses []TaskPause) {
	for _, p := range all[pause.Everything] {
		pauses = append(pauses, taskPauseOf("", p, now))
	}
	for _, task := range slices.Sorted(maps.Keys(all)) {
		if task == pause.Everything || !active(task) {
			continue
		}
		for _, p := range all[task] {
			pauses = append(pauses, taskPauseOf(task, p, now))
		}
	}
	return pauses
}

// fromSchedule returns each pause of the schedule that is in effect, or else the next time at which
// that pause comes, once for each active task that it is for.
func fromSchedule(s *schedule.Schedule, active func(task string) bool, now time.Time) (pauses []TaskPause) {
	for _, inFile := range s.Pauses {
		from, until, ok := inFile.At(now)
		if !ok {
			from, until, ok = inFile.Next(now)
		}
		if !ok {
			continue
		}
		p := pause.OfFile(inFile, from, until)
		if inFile.Everything {
			pauses = append(pauses, taskPauseOf("", p, now))
			continue
		}
		for _, t := range s.Tasks {
			if active(t.Name) && t.Obeys(inFile) {
				pauses = append(pauses, taskPauseOf(t.Name, p, now))
			}
		}
	}
	return pauses
}

// taskPauseOf returns a pause of a task, or of everything for "".
func taskPauseOf(task string, p pause.Pause, now time.Time) TaskPause {
	p.Everything = task == ""
	return TaskPause{task, pauseOf(p, now)}
}

// EverythingPaused returns the pause of everything that is in effect; nil without one.
func EverythingPaused(s *schedule.Schedule, all pause.Pauses, now time.Time) *Pause {
	paused, _ := PausesNow(s, all, func(string) bool { return false }, now)
	if len(paused) == 0 {
		return nil
	}
	return &paused[0].Pause
}
