package list

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sched/cmd/app"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/forecast"
	"sched/schedule/humanize"
	"sched/schedule/view"
)

// pipeWidth is how wide a timeline is that does not go to a terminal.
const pipeWidth = 100

// A timeline is a span of time, cut into steps. It is printed as a line for each task, with a sign
// for each step.
type timeline struct {
	from    time.Time
	step    time.Duration
	steps   int                   // how many steps the span has
	stepsOf map[string][]timeStep // by the name of the task
}

// A timeStep is what a task does in one step.
type timeStep struct {
	starts int  // how many runs start
	runs   bool // a run lives, also one that starts
	skips  bool // a slot is skipped
}

// printTimeline prints the timeline of the tasks for a span from a time on. It fits the terminal.
func printTimeline(a *app.App, s *schedule.Schedule, rows []view.Task, at time.Time, span string) error {
	length, err := forecast.ReadSpan(at, span)
	if err != nil {
		return err
	}
	basis := forecast.ReadBasis(context.Background(), a.View(s),
		forecast.Input{Schedule: s, From: at, To: at.Add(length), Servers: 1})
	out := a.Stdout()
	width := pipeWidth
	if out.Width() > 0 {
		width = out.Width()
	}
	widest := 0
	for _, row := range rows {
		widest = max(widest, terminal.Width(row.Name))
	}
	nameWidth := min(widest, max(12, width/3))
	indent := nameWidth + terminal.Gap
	t := newTimeline(basis, max(24, width-indent))
	head := strings.TrimRight(terminal.Blanks(indent)+t.hoursLine(s.Location), " ")
	fmt.Fprintln(a.Out, out.Paint(terminal.Faint, head))
	for _, row := range rows {
		fmt.Fprintln(a.Out, terminal.Pad(out.Cut(row.Name, nameWidth), indent)+t.taskLine(row.Name))
	}
	fmt.Fprintf(a.Out, "from %s, a sign is %s: | starts, 2 to 9 and # several times, = runs, "+
		"x is skipped for a pause, or because it still runs\n",
		forecast.DayAndTime(t.from, s.Location), humanize.DurationPrecise(t.step))
	return nil
}

// stepMinutes are how many minutes a step may take.
var stepMinutes = []int{1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 360, 720, 1440, 2880}

// newTimeline simulates the tasks. It takes the shortest step with which the span has at most
// maxSteps steps, or else the longest step.
func newTimeline(basis *forecast.Basis, maxSteps int) *timeline {
	span := basis.To.Sub(basis.From)
	t := &timeline{from: basis.From, stepsOf: map[string][]timeStep{}}
	for _, minutes := range stepMinutes {
		if t.step = time.Duration(minutes) * time.Minute; span <= t.step*time.Duration(maxSteps) {
			break
		}
	}
	t.steps = int((span + t.step - 1) / t.step)
	for _, task := range basis.Schedule.Tasks {
		t.stepsOf[task.Name] = make([]timeStep, t.steps)
	}
	forecast.Simulate(basis.Input, t.add)
	return t
}

func (t *timeline) add(s *forecast.Slot) {
	steps := t.stepsOf[s.Task.Name]
	first := int(s.Start.Sub(t.from) / t.step)
	switch {
	case s.Skip == forecast.Unmet: // as if it were not due
	case s.Skip != forecast.NoSkip:
		steps[int(s.At.Sub(t.from)/t.step)].skips = true
	case first < t.steps:
		steps[first].starts++
		end := s.Start.Add(s.Load.Took)
		for i := first; i < t.steps && t.startOf(i).Before(end); i++ {
			steps[i].runs = true
		}
	}
}

func (t *timeline) startOf(step int) time.Time { return t.from.Add(time.Duration(step) * t.step) }

func (t *timeline) taskLine(name string) string {
	var b strings.Builder
	for _, step := range t.stepsOf[name] {
		switch n := step.starts; {
		case n > 9:
			b.WriteByte('#')
		case n > 1:
			fmt.Fprint(&b, n)
		case n == 1:
			b.WriteByte('|')
		case step.skips:
			b.WriteByte('x')
		case step.runs:
			b.WriteByte('=')
		default:
			b.WriteByte('.')
		}
	}
	return b.String()
}

// hoursLine labels the hours of the wall clock, as many as have room. Midnight shows the day.
func (t *timeline) hoursLine(zone *time.Location) string {
	line, free := "", 0 // free is the first step that no label covers
	for i := range t.steps {
		from := t.startOf(i).In(zone)
		hour := from
		// Truncate would count in UTC, whose hours begin at half past in some zones.
		if past := time.Duration(from.Minute())*time.Minute + time.Duration(from.Second())*time.Second; past > 0 {
			hour = from.Add(time.Hour - past)
		}
		if i < free || hour.Sub(from) >= t.step {
			continue
		}
		label := hour.Format("15")
		if hour.Hour() == 0 {
			label = hour.Format("Mon")
		}
		line = terminal.Pad(line, i) + label
		free = i + max(len(label)+2, int(3*time.Hour/t.step))
	}
	return line
}
