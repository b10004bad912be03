package forecast

import (
	"fmt"
	"math"
	"time"

	"sched/schedule/humanize"
)

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
	words := fmt.Sprintf("%s: at most %s at once, %s", c.Start.Format("Mon 2006-01-02 15:04 MST"), humanize.Count(c.Most, "run"), humanize.Count(c.Starts, "start"))
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
