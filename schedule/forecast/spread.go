package forecast

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
)

// A Move is another minute of the hour for a task.
type Move struct {
	Task     *schedule.Task
	From, To int
	Cron     string // the expression with the new minute
}

// Spread looks for minutes at which fewer runs are at once in the span. It moves only background tasks that are due at one minute of
// their hours, in the zone of the schedule, and that may accepts, and only to a later minute of the same hour. So it keeps
//
//   - the order: what was due before something else of a fixed time, on whatever days, still is; tasks of one minute that are moved
//     keep their order in the file (foreground tasks wait for each other and stay where they are);
//   - the windows: each slot of the span meets its conditions of time as before.
//
// It returns nothing where it finds nothing better. Whether fewer runs are at once is to be seen by a forecast of what comes of it.
func Spread(in Input, may func(*schedule.Task) bool) []Move {
	p := newPlan(in, may)
	if len(p.movable) == 0 {
		return nil
	}
	least, most := 1, len(p.movable)+int(slices.Max(p.others))
	for least < most {
		if middle := (least + most) / 2; p.place(middle) {
			most = middle
		} else {
			least = middle + 1
		}
	}
	if most >= p.now() || !p.place(most) {
		return nil
	}
	return p.moves()
}

// A movable is a task that may be moved.
type movable struct {
	task          *schedule.Task
	index         int // in the file
	fields        []string
	minute        int
	hours         uint32 // those of the day in which it is due, on whatever days: bit 0 is midnight
	slots         []time.Time
	took          time.Duration
	latest, moved int // the latest minute that it may be moved to, and the one that it is moved to
}

// A plan is an attempt to place tasks.
type plan struct {
	in      Input
	movable []*movable // in the order in which they are due in an hour
	others  []int32    // how many runs of other tasks each minute of the span touches
}

func newPlan(in Input, may func(*schedule.Task) bool) *plan {
	p := &plan{in: in, others: make([]int32, int(in.To.Sub(in.From)/time.Minute)+1)}
	moved := map[*schedule.Task]*movable{}
	var fixed []int // minutes of the day
	for i, t := range in.Schedule.Tasks {
		if !in.Schedule.Active(t) {
			continue
		}
		m, ok := asMovable(t, i)
		if ok && t.Background && t.When.Location.String() == in.Schedule.Location.String() && may(t) {
			m.took = in.Loads[t.Name].Took
			m.slots = slices.Collect(t.When.Forward(in.From, in.To))
		}
		if len(m.slots) > 0 {
			moved[t] = m
			p.movable = append(p.movable, m)
		} else {
			fixed = append(fixed, fixedMinutes(in, t)...)
		}
	}
	Simulate(in, func(s *Slot) {
		if moved[s.Task] == nil && s.Skip == Runs {
			p.touch(p.others, s.Start, s.Load.Took, 1)
		}
	})
	slices.SortStableFunc(p.movable, func(a, b *movable) int { return a.minute - b.minute })
	p.bound(fixed)
	return p
}

// asMovable reports whether a task is due at one minute of its hours.
func asMovable(t *schedule.Task, index int) (*movable, bool) {
	m := &movable{task: t, index: index}
	if len(t.When.Crons) != 1 {
		return m, false
	}
	m.fields = strings.Fields(t.When.Crons[0].String())
	minute, err := strconv.Atoi(m.fields[0])
	if err != nil || len(m.fields) != 5 {
		return m, false
	}
	m.minute = minute
	for _, of := range minutesOfDay(m.fields) {
		m.hours |= 1 << (of / 60)
	}
	return m, m.hours != 0
}

// minutesOfDay returns at which minutes of a day an expression is due, on the days on which it is.
func minutesOfDay(fields []string) (minutes []int) {
	daily, err := cron.Parse(fields[0]+" "+fields[1]+" * * *", "")
	if err != nil {
		return nil
	}
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for at := range (cron.When{Crons: []cron.Expression{daily}}).Forward(day, day.AddDate(0, 0, 1)) {
		minutes = append(minutes, at.Hour()*60+at.Minute())
	}
	return minutes
}

// fixedMinutes returns the minutes of the day at which a task is due that is not moved, in the schedule's zone. There are none of a
// task that is due several times an hour: it comes before and after everything.
func fixedMinutes(in Input, t *schedule.Task) (minutes []int) {
	own := t.When.Location.String() == in.Schedule.Location.String()
	for _, c := range t.When.Crons {
		fields := strings.Fields(c.String())
		switch {
		case len(fields) >= 5 && strings.HasPrefix(fields[len(fields)-5], "*"):
		case own && len(fields) == 5 && fields[0][0] >= '0' && fields[0][0] <= '9':
			minutes = append(minutes, minutesOfDay(fields)...)
		default:
			for at := range (cron.When{Crons: []cron.Expression{c}, Location: t.When.Location}).Forward(in.From, in.To) {
				local := at.In(in.Schedule.Location)
				minutes = append(minutes, local.Hour()*60+local.Minute())
			}
		}
	}
	return minutes
}

// bound fills in how late each task may be, so that none comes behind what it came before.
func (p *plan) bound(fixed []int) {
	for i, m := range slices.Backward(p.movable) {
		m.latest = 59
		for _, of := range fixed {
			if m.hours&(1<<(of/60)) != 0 && of%60 > m.minute {
				m.latest = min(m.latest, of%60-1)
			}
		}
		for _, later := range p.movable[i+1:] {
			if m.hours&later.hours != 0 {
				m.latest = min(m.latest, later.latest-m.behind(later))
			}
		}
	}
}

// behind is by how many minutes m has to come before one that comes after it: 0 where the order of the file says the same.
func (m *movable) behind(later *movable) int {
	if m.index > later.index {
		return 1
	}
	return 0
}

// place moves each task to the first minute at which no more runs than most are at once, and reports whether there is one for all.
func (p *plan) place(most int) bool {
	touched := slices.Clone(p.others)
	for i, m := range p.movable {
		earliest := m.minute
		for _, before := range p.movable[:i] {
			if m.hours&before.hours != 0 {
				earliest = max(earliest, before.moved+before.behind(m))
			}
		}
		found := false
		for m.moved = earliest; m.moved <= m.latest; m.moved++ {
			if found = p.fits(touched, m, most); found {
				break
			}
		}
		if !found {
			return false
		}
		for _, at := range m.shifted() {
			p.touch(touched, at, m.took, 1)
		}
	}
	return true
}

// fits reports whether a task may run at the minute that it is moved to.
func (p *plan) fits(touched []int32, m *movable, most int) bool {
	for i, at := range m.shifted() {
		if (m.task.UnmetCondition(at) == "") != (m.task.UnmetCondition(m.slots[i]) == "") {
			return false
		}
		first, last := p.minutes(at, m.took)
		for minute := first; minute <= last; minute++ {
			if int(touched[minute]) >= most {
				return false
			}
		}
	}
	return true
}

// shifted are the slots of a task at the minute that it is moved to.
func (m *movable) shifted() []time.Time {
	slots := make([]time.Time, len(m.slots))
	for i, at := range m.slots {
		slots[i] = at.Add(time.Duration(m.moved-m.minute) * time.Minute)
	}
	return slots
}

// minutes returns the first and the last minute of the span that a run touches; of one beyond its end none.
func (p *plan) minutes(at time.Time, took time.Duration) (first, last int) {
	first = max(0, int(at.Sub(p.in.From)/time.Minute))
	end := at.Add(max(took-1, 0)).Sub(p.in.From)
	return first, min(int(end/time.Minute), len(p.others)-1)
}

func (p *plan) touch(minutes []int32, at time.Time, took time.Duration, n int32) {
	first, last := p.minutes(at, took)
	for i := first; i <= last; i++ {
		minutes[i] += n
	}
}

// now is how many runs there are in the fullest minute as it is.
func (p *plan) now() int {
	touched := slices.Clone(p.others)
	for _, m := range p.movable {
		for _, at := range m.slots {
			p.touch(touched, at, m.took, 1)
		}
	}
	return int(slices.Max(touched))
}

// moves are the tasks that are moved, in file order.
func (p *plan) moves() (moves []Move) {
	for _, m := range p.movable {
		if m.moved != m.minute {
			fields := append([]string{strconv.Itoa(m.moved)}, m.fields[1:]...)
			moves = append(moves, Move{m.task, m.minute, m.moved, strings.Join(fields, " ")})
		}
	}
	slices.SortFunc(moves, func(a, b Move) int {
		return slices.Index(p.in.Schedule.Tasks, a.Task) - slices.Index(p.in.Schedule.Tasks, b.Task)
	})
	return moves
}
