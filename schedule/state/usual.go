package state

import (
	"encoding/json"
	"slices"
	"time"
)

// This file says how the last runs of a task went: what they took, and how many failed in a row.

// Usual is how long the last successful runs of a task took.
type Usual struct {
	Runs     int           // how many there were, at most 50
	Duration time.Duration // their median
}

// usualRuns bounds the successful runs of each task that Usual and Costs count. usualWindow bounds
// the runs that they read for these. So a task with ten thousand failures costs no more than a task
// without failures.
const (
	usualRuns   = 50
	usualWindow = 200
)

// A Cost is what the last successful runs of a task took: at most 50 runs among its last 200 runs.
type Cost struct {
	Runs        int // how many there were
	Median, P95 time.Duration
	CPU         time.Duration   // the median, of all processors together
	Memory      int64           // bytes: the 95th percentile of their largest process; 0 when it is not known
	Slot        time.Time       // the newest slot of the schedule that ran; zero when none has run
	Snapshot    json.RawMessage // the task as it was in its newest run; nil when it is not known
}

// costOf sums up runs. Each has its duration and its processor time, both in microseconds, and its
// memory in bytes.
func costOf(runs [][3]int64) Cost {
	if len(runs) == 0 {
		return Cost{}
	}
	column := func(i int) (all []int64) {
		for _, run := range runs {
			all = append(all, run[i])
		}
		slices.Sort(all)
		return all
	}
	durations, cpu, memory := column(0), column(1), column(2)
	return Cost{
		Runs:   len(runs),
		Median: micros(percentile(durations, 50)),
		P95:    micros(percentile(durations, 95)),
		CPU:    micros(percentile(cpu, 50)),
		Memory: percentile(memory, 95),
	}
}
