package view

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/pause"
	"sched/schedule/run"
	"sched/schedule/state"
)

// A Running is a run that lives.
type Running struct {
	Run   string `json:"run"`
	PID   *int   `json:"pid"` // null until the command has started
	Host  string `json:"host"`
	Since string `json:"since"` // empty if the holder of a lock did not write it down

	LastTold *string `json:"last_told"` // when its server last said so, if that server is silent now; else null

	Began time.Time `json:"-"` // the time of Since, exactly
}

func toRunning(row state.Row) Running {
	r := runningOf(run.HolderOf(row))
	r.LastTold = timeOrNil(row.LastTold)
	return r
}

func runningOf(holder mutex.Holder) Running {
	since := ""
	if !holder.Since.IsZero() {
		since = timeText(holder.Since)
	}
	return Running{Run: holder.Run, PID: pidOrNil(holder.PID), Host: holder.Host, Since: since, Began: holder.Since}
}

// pidOrNil is nil for 0, which stands for a command that has not started yet.
func pidOrNil(pid int) *int {
	if pid == 0 {
		return nil
	}
	return &pid
}

// HolderOf says which of the live runs holds the mutex of a task. It returns "" when the mutex is
// free, or the task needs no mutex.
func HolderOf(live []state.Row, t *schedule.Task) string {
	if !t.WithoutOverlapping {
		return ""
	}
	for _, row := range live {
		if row.Locked && row.Mutex == t.Mutex && !row.Waits() {
			return "by " + row.Task + " " + run.HolderOf(row).String()
		}
	}
	return ""
}

// A Pool says which runs have the seats of a pool at one moment.
type Pool struct {
	Name    string `json:"pool"`
	Seats   int    `json:"seats"`
	Holders []Seat `json:"holders"` // of the seats that are taken

	holders []mutex.Holder
}

// A Seat is a run that has a seat of a pool.
type Seat struct {
	Task string `json:"task"`
	Running
}

// Pool returns the runs that have the seats of a pool; nil for a task without a pool. The live runs
// are runs of this machine. If the schedule's store does not answer, Pool reports that and leaves
// out the runs of other servers.
func (s Source) Pool(ctx context.Context, live []state.Row, of schedule.Pool) *Pool {
	if of.Name == "" {
		return nil
	}
	holders, err := run.Storage{Dir: s.Schedule.StateDir, Store: s.Controls.Store}.SeatHolders(ctx, live, of)
	if err != nil {
		s.LeftOut(err)
	}
	return poolOf(of, holders)
}

func poolOf(of schedule.Pool, holders []mutex.Holder) *Pool {
	p := &Pool{Name: of.Name, Seats: of.Seats, Holders: []Seat{}, holders: holders}
	for _, holder := range holders {
		p.Holders = append(p.Holders, Seat{holder.Task, runningOf(holder)})
	}
	return p
}

// Full says in words that every seat is taken, and by whom. It returns "" while a seat is free, and
// for nil.
func (p *Pool) Full() string {
	if p == nil || len(p.holders) < p.Seats {
		return ""
	}
	return (&mutex.FullError{Pool: p.Name, Seats: p.Seats, Holders: p.holders}).Error()
}

// Text says how many seats are taken, and by which tasks: "pool db: 1 of 2 (report)".
func (p *Pool) Text() string {
	var tasks []string
	for _, seat := range p.Holders {
		tasks = append(tasks, seat.Task)
	}
	text := fmt.Sprintf("pool %s: %d of %d", p.Name, len(p.Holders), p.Seats)
	if len(tasks) > 0 {
		text += " (" + strings.Join(tasks, ", ") + ")"
	}
	return text
}

// A Pause keeps a task from starting.
type Pause struct {
	Everything bool    `json:"everything"` // all tasks are paused, and not this one by its name
	By         string  `json:"by"`         // the name of the schedule's file for one of its `pauses`
	Server     string  `json:"server"`
	Since      string  `json:"since"`
	Until      *string `json:"until"` // null for a pause without an end
	Reason     string  `json:"reason"`
	Stop       bool    `json:"stop,omitempty"`    // the runs that had begun before it are stopped
	Planned    bool    `json:"planned,omitempty"` // it is to come: since is when it begins

	Raw pause.Pause `json:"-"`
}

// A TaskPause is a pause in effect, or one that is planned.
type TaskPause struct {
	Task string `json:"task"` // empty for the pause of everything
	Pause
}

// PauseOf returns the pause that keeps the task from starting at a time; nil if no pause does.
func PauseOf(all pause.Pauses, t *schedule.Task, at time.Time) *Pause {
	one, ok := all.Of(t, at)
	if !ok {
		return nil
	}
	return new(toPause(one, at))
}

func toPause(p pause.Pause, now time.Time) Pause {
	return Pause{Everything: p.Everything, By: p.By, Server: p.Server, Since: timeText(p.Since), Until: timeOrNil(p.Until), Reason: p.Reason,
		Stop: p.Stop, Planned: p.ToCome(now), Raw: p}
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

// soon is how near the next pause of the schedule itself must be for lists of tasks to have it:
// such a pause may come each day.
const soon = 24 * time.Hour

// Told reports whether lists of tasks say that the planned pause is to come.
func (p *Pause) Told(now time.Time) bool { return !p.Raw.InFile || p.Raw.Since.Sub(now) < soon }

// PausesNow returns the pauses in effect, and those that are planned: the pauses of everything,
// without the name of a task, and the pauses of active tasks. Of a pause of the
// schedule that comes again, only the next one is planned.
func PausesNow(s *schedule.Schedule, all pause.Pauses, active func(task string) bool, now time.Time) (paused, planned []TaskPause) {
	paused, planned = []TaskPause{}, []TaskPause{}
	add := func(task string, one pause.Pause) {
		if one.Everything = task == pause.Everything; one.Everything {
			task = ""
		}
		switch out := (TaskPause{task, toPause(one, now)}); {
		case one.InEffect(now):
			paused = append(paused, out)
		case one.ToCome(now):
			planned = append(planned, out)
		}
	}
	names := append([]string{pause.Everything}, slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool {
		return name == pause.Everything || !active(name)
	})...)
	for _, name := range names {
		for _, one := range all[name] {
			add(name, one)
		}
	}
	for _, one := range s.Pauses {
		names := []string{pause.Everything}
		if !one.Everything {
			names = nil
			for _, t := range s.Tasks {
				if active(t.Name) && one.IsFor(t) {
					names = append(names, t.Name)
				}
			}
		}
		from, until, ok := one.At(now)
		if !ok {
			from, until, ok = one.Next(now)
		}
		for _, name := range names {
			if ok {
				add(name, pause.OfFile(one, from, until))
			}
		}
	}
	slices.SortStableFunc(paused, func(a, b TaskPause) int { return cmp.Compare(min(len(a.Task), 1), min(len(b.Task), 1)) })
	slices.SortStableFunc(planned, func(a, b TaskPause) int { return a.Raw.Since.Compare(b.Raw.Since) })
	return paused, planned
}

// EverythingPaused returns the pause of everything that is in effect; nil without one.
func EverythingPaused(s *schedule.Schedule, all pause.Pauses, now time.Time) *Pause {
	paused, _ := PausesNow(s, all, func(string) bool { return false }, now)
	if len(paused) == 0 {
		return nil
	}
	return &paused[0].Pause
}

// InSchedule returns whether the schedule has a task of a name.
func InSchedule(s *schedule.Schedule) func(name string) bool {
	names := map[string]bool{}
	for _, t := range s.Tasks {
		names[t.Name] = true
	}
	return func(name string) bool { return names[name] }
}
