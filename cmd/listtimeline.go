package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/forecast"
	"sched/schedule/humanize"
	"sched/schedule/view"
)

const pipeWidth = 100

// A timeline is a span of time as a line a task, a sign for each step.
type timeline struct {
	from   time.Time
	step   time.Duration
	signs  int
	starts map[string][]int // by task, how many runs start in each step
	runs   map[string][]bool
	skips  map[string][]bool
}

func (a listCommand) printTimeline(s *schedule.Schedule, rows []view.Task, at time.Time, span string) error {
	in, err := forecastCommand(a).inputs(s, at, forecastOptions{span: span, servers: 1})
	if err != nil {
		return err
	}
	name := 0
	for _, row := range rows {
		name = max(name, terminal.Width(row.Name))
	}
	out := a.stdout()
	width := pipeWidth
	if out.Width() > 0 {
		width = out.Width()
	}
	name = min(name, max(12, width/3))
	t := newTimeline(in, max(24, width-name-terminal.Gap))
	fmt.Fprintln(a.out, out.Paint(terminal.Faint, strings.TrimRight(terminal.Blanks(name+terminal.Gap)+t.hours(s.Location), " ")))
	for _, row := range rows {
		fmt.Fprintln(a.out, terminal.Pad(out.Cut(row.Name, name), name+terminal.Gap)+t.line(row.Name))
	}
	fmt.Fprintf(a.out, "from %s, a sign is %s: | starts, 2 to 9 and # several times, = runs, x is skipped for a pause, or since it still runs\n", forecast.DayAndTime(t.from, s.Location), humanize.DurationPrecise(t.step))
	return nil
}

func newTimeline(in *forecast.Inputs, signs int) *timeline {
	span := in.To.Sub(in.From)
	t := &timeline{from: in.From, starts: map[string][]int{}, runs: map[string][]bool{}, skips: map[string][]bool{}}
	for _, minutes := range []int{1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 360, 720, 1440, 2880} {
		if t.step = time.Duration(minutes) * time.Minute; span <= t.step*time.Duration(signs) {
			break
		}
	}
	t.signs = int((span + t.step - 1) / t.step)
	for _, task := range in.Schedule.Tasks {
		t.starts[task.Name] = make([]int, t.signs)
		t.runs[task.Name], t.skips[task.Name] = make([]bool, t.signs), make([]bool, t.signs)
	}
	forecast.Simulate(in.Input, t.draw)
	return t
}

func (t *timeline) draw(s *forecast.Slot) {
	if s.Skip != forecast.Runs {
		if s.Skip != forecast.Unmet {
			t.skips[s.Task.Name][int(s.At.Sub(t.from)/t.step)] = true
		}
		return
	}
	first := int(s.Start.Sub(t.from) / t.step)
	if first >= t.signs {
		return
	}
	t.starts[s.Task.Name][first]++
	for i := first; i < t.signs && t.from.Add(time.Duration(i)*t.step).Before(s.Start.Add(s.Load.Took)); i++ {
		t.runs[s.Task.Name][i] = true
	}
}

func (t *timeline) line(name string) string {
	var b strings.Builder
	for i, n := range t.starts[name] {
		switch {
		case n > 9:
			b.WriteByte('#')
		case n > 1:
			fmt.Fprint(&b, n)
		case n == 1:
			b.WriteByte('|')
		case t.skips[name][i]:
			b.WriteByte('x')
		case t.runs[name][i]:
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

func sortByNext(rows []view.Task) {
	slices.SortStableFunc(rows, func(a, b view.Task) int {
		if len(a.Times) == 0 || len(b.Times) == 0 {
			return len(b.Times) - len(a.Times)
		}
		return a.Times[0].Compare(b.Times[0])
	})
}
