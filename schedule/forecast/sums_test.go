package forecast

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAForecastAddsUp(t *testing.T) {
	in := input(t, "UTC", "2026-03-02 09:50", 3*time.Hour, map[string]string{"long": "70m", "slow": "20s", "sync": "100s"}, `tasks:
- {name: long, cron: "55 9 * * *", command: "true", background: true}
- {name: slow, cron: "0 10 * * *", command: "true"}
- {name: behind, cron: "0 10 * * *", command: "true"}
- {name: sync, cron: "0,1,2 10 * * *", command: "true", background: true, without_overlapping: true}
- {name: off, cron: "* * * * *", command: "true", enabled: false}
`)
	for name, load := range in.Loads {
		in.Loads[name] = Load{Took: load.Took, CPU: load.Took / 2, Memory: 100}
	}
	f := Sum(in)
	var b strings.Builder
	fmt.Fprintf(&b, "%d starts, at most %d at %s, cpu %d, memory %d\n",
		f.Starts, f.Peak.Most, f.Peak.At.Format("15:04:05"), f.CPU.Most, f.Memory.Most)
	for _, h := range f.Hours {
		fmt.Fprintf(&b, "%s most %d, starts %d, skipped %d, late %d\n",
			h.Start.Format("15:04"), h.Most, h.Starts, h.Skipped, h.Late)
	}
	for _, task := range f.LateTasks() {
		fmt.Fprintf(&b, "%s is late %d times, at most %s behind %s\n",
			task.Name, task.LateRuns, task.MostLate.Lateness(), task.MostLate.By.Name)
	}
	for _, task := range f.SkippingTasks() {
		fmt.Fprintf(&b, "%s skips %d, first at %s\n", task.Name, task.Skips[Overlap], task.FirstTroubleSkip.At.Format("15:04"))
	}
	fmt.Fprintf(&b, "%d tasks, fullest minute %s with %d\n", len(f.Tasks),
		f.Crowded[0].At.Format("15:04"), f.Crowded[0].Starts)
	want := `5 starts, at most 3 at 10:00:00, cpu 1500, memory 300
09:50 most 1, starts 1, skipped 0, late 0
10:00 most 3, starts 4, skipped 1, late 1
11:00 most 1, starts 0, skipped 0, late 0
12:00 most 0, starts 0, skipped 0, late 0
behind is late 1 times, at most 20s behind slow
sync skips 1, first at 10:01
4 tasks, fullest minute 10:00 with 3
`
	if b.String() != want {
		t.Errorf("got:\n%swant:\n%s", b.String(), want)
	}
}

// A span that begins in the first second of a minute, as now may be, ends in the first second of
// its last minute, and holds the slot of that minute.
func TestASpanMayEndInTheFirstSecondOfAMinute(t *testing.T) {
	in := input(t, "UTC", "2026-03-02 10:00", time.Hour, nil, `tasks: [{name: each, cron: "* * * * *", command: "true"}]`)
	in.From, in.To = in.From.Add(time.Second/2), in.To.Add(time.Second/2)
	if f := Sum(in); f.Starts != 60 {
		t.Errorf("%d starts in an hour", f.Starts)
	}
}

// A week of a thousand tasks as they are in life: few every minute, many each hour, most at night.
func BenchmarkAWeekOfAThousandTasks(b *testing.B) {
	var text strings.Builder
	text.WriteString("tasks:\n")
	for i := range 1000 {
		cron := fmt.Sprintf("%d %d * * *", i%60, i%7)
		switch {
		case i%20 == 0:
			cron = "* * * * *"
		case i%4 == 0:
			cron = "*/5 * * * *"
		case i%3 == 0:
			cron = fmt.Sprintf("%d * * * *", i%60)
		}
		fmt.Fprintf(&text, "- {name: task-%d, cron: %q, command: \"true\", background: %v, without_overlapping: %v}\n",
			i, cron, i%5 > 0, i%2 > 0)
	}
	in := input(b, "Europe/Berlin", "2026-03-23 00:00", 7*24*time.Hour, nil, text.String())
	starts := 0
	for b.Loop() {
		starts = Sum(in).Starts
	}
	b.ReportMetric(float64(starts), "starts")
}

// The levels of a heatmap tell hours apart that differ, and no hours that are alike.
func TestLevelsFollowTheSpreadOfTheHours(t *testing.T) {
	for _, tt := range []struct{ most, levels []int }{
		{[]int{14, 14, 15}, []int{1, 1, 3}},
		{[]int{7, 7, 0}, []int{1, 1, 0}},
		{[]int{1, 5, 12}, []int{1, 2, 4}},
	} {
		f := Sums{}
		for i, most := range tt.most {
			f.Hours = append(f.Hours, Hour{Start: time.Date(2026, 3, 1, i, 0, 0, 0, time.UTC), Most: most})
		}
		for i, level := range tt.levels {
			if got := f.Days()[0].Hours[i].Level; got != level {
				t.Errorf("of %v, hour %d has level %d, want %d", tt.most, i, got, level)
			}
		}
	}
}
