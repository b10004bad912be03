package cmd

import (
	"fmt"
	"strings"
	"time"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/forecast"
	"sched/schedule/humanize"
	"sched/schedule/view"
)

// pipeWidth is how wide a timeline is that does not go to a terminal.
const pipeWidth = 100

// A timeline is a span of time as a line for each task, with a sign for each step.
type timeline struct {
	from  time.Time
	step  time.Duration
	signs int
	tasks map[string][]timeStep // the steps of each task
}

// A timeStep is what a task does in one step.
type timeStep struct {
	starts int  // how many runs start
	runs   bool // a run that started before goes on
	skips  bool // a slot is skipped
}

// printTimeline prints the timeline of the rows from a time on. It fits the terminal.
func (a listCommand) printTimeline(s *schedule.Schedule, rows []view.Task, at time.Time, span string) error {
	in, err := forecastCommand(a).inputs(s, at, forecastOptions{span: span, servers: 1})
	if err != nil {
		return err
	}
	out := a.stdout()
	width := pipeWidth
	if out.Width() > 0 {
		width = out.Width()
	}
	longest := 0
	for _, row := range rows {
		longest = max(longest, terminal.Width(row.Name))
	}
	nameWidth := min(longest, max(12, width/3))
	t := newTimeline(in, max(24, width-nameWidth-terminal.Gap))
	fmt.Fprintln(a.out, out.Paint(terminal.Faint, strings.TrimRight(terminal.Blanks(nameWidth+terminal.Gap)+t.hours(s.Location), " ")))
	for _, row := range rows {
		fmt.Fprintln(a.out, terminal.Pad(out.Cut(row.Name, nameWidth), nameWidth+terminal.Gap)+t.line(row.Name))
	}
	fmt.Fprintf(a.out, "from %s, a sign is %s: | starts, 2 to 9 and # several times, = runs, x is skipped for a pause, or because it still runs\n", forecast.DayAndTime(t.from, s.Location), humanize.DurationPrecise(t.step))
	return nil
}

// timeSteps are how many minutes a step may take.
var timeSteps = []int{1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 360, 720, 1440, 2880}

// newTimeline simulates the tasks. It takes the shortest step with which the span has room in most
// signs, or else the longest step.
func newTimeline(in *forecast.Inputs, most int) *timeline {
	span := in.To.Sub(in.From)
	t := &timeline{from: in.From, tasks: map[string][]timeStep{}}
	for _, minutes := range timeSteps {
		if t.step = time.Duration(minutes) * time.Minute; span <= t.step*time.Duration(most) {
			break
		}
	}
	t.signs = int((span + t.step - 1) / t.step)
	for _, task := range in.Schedule.Tasks {
		t.tasks[task.Name] = make([]timeStep, t.signs)
	}
	forecast.Simulate(in.Input, t.draw)
	return t
}

// draw adds a slot to the steps of its task.
func (t *timeline) draw(s *forecast.Slot) {
	steps := t.tasks[s.Task.Name]
	first := int(s.Start.Sub(t.from) / t.step)
	switch {
	case s.Skip == forecast.Unmet:
	case s.Skip != forecast.Runs:
		steps[int(s.At.Sub(t.from)/t.step)].skips = true
	case first < t.signs:
		steps[first].starts++
		for i := first; i < t.signs && t.from.Add(time.Duration(i)*t.step).Before(s.Start.Add(s.Load.Took)); i++ {
			steps[i].runs = true
		}
	}
}

// line is the steps of a task, a sign for each.
func (t *timeline) line(name string) string {
	var b strings.Builder
	for _, step := range t.tasks[name] {
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

// hours labels the hours of the wall clock, as many as have room; midnight shows the day.
func (t *timeline) hours(zone *time.Location) string {
	line, free := "", 0
	for i := range t.signs {
		from := t.from.Add(time.Duration(i) * t.step).In(zone)
		hour := from.Truncate(time.Hour)
		if !hour.Equal(from) {
			hour = hour.Add(time.Hour)
		}
		if i < free || hour.Sub(from) >= t.step {
			continue
		}
		words := hour.Format("15")
		if hour.Hour() == 0 {
			words = hour.Format("Mon")
		}
		line = terminal.Pad(line, i) + words
		free = i + max(len(words)+2, int(3*time.Hour/t.step))
	}
	return line
}
