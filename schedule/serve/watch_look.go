package serve

import (
	"context"
	"fmt"
	"time"

	"sched/schedule"
	"sched/schedule/pause"
	"sched/schedule/state"
	"sched/schedule/view"
)

type sight struct {
	looked   bool
	schedule string
	tick     time.Time
	pauses   string
	waiting  string
	live     map[string]RunChange
	mark     int64
}

// look compares the state with what was seen, and tells what has changed. If a part cannot be read,
// the next look compares it again.
func (w *watcher) look(seen *sight) {
	s, invalid, err := w.Schedule()
	if err != nil {
		return
	}
	first := !seen.looked
	seen.looked = true
	changed := func(was *string, is, name string) {
		if *was != is && !first {
			w.tell(name, Changed{true})
		}
		*was = is
	}
	changed(&seen.schedule, s.Digest+fmt.Sprint(invalid), "schedule")
	if tick := view.LastTick(s.StateDir); !tick.Equal(seen.tick) {
		if seen.tick = tick; !first {
			w.tell("tick", TickChange{tick.UTC().Format(time.RFC3339)})
		}
	}
	if here, err := pause.ReadHere(s); err == nil {
		changed(&seen.pauses, fmt.Sprint(here.Pauses), "pauses")
	}
	w.lookAtRuns(s, seen, first)
}

// lookAtRuns finds the runs that live, and the runs and slots that ended, were skipped or were
// missed since the last look.
func (w *watcher) lookAtRuns(s *schedule.Schedule, seen *sight, first bool) {
	ctx, cancel := context.WithTimeout(context.Background(), longestLook)
	defer cancel()
	all, err := view.Look(ctx, s.StateDir)
	if err != nil {
		return
	}
	defer all.Close()
	added, mark, err := all.Added(ctx, seen.mark, mostRecentEvents)
	if err != nil {
		return
	}
	live, waiting := map[string]RunChange{}, ""
	for _, row := range all.Live {
		if row.NotBegun() {
			waiting += fmt.Sprintln(row.ID, row.Wait)
			continue
		}
		live[row.ID] = changeOfRow(row, view.RunRunning)
	}
	for _, row := range all.Lost {
		live[row.ID] = changeOfRow(row, view.RunVanished)
	}
	if seen.waiting != waiting && !first {
		w.tell("waiting", Changed{true})
	}
	seen.waiting = waiting
	for id, change := range live {
		if seen.live[id] != change && !first {
			w.tell("run", change)
		}
	}
	told := map[string]bool{}
	for id := range seen.live {
		if _, goesOn := live[id]; goesOn {
			continue
		}
		if row, err := all.Row(ctx, id); err == nil {
			told[id] = true
			w.tell("run", changeOfRecord(row))
		}
	}
	for _, record := range added {
		if _, goesOn := live[record.ID]; !goesOn && !told[record.ID] {
			w.tell("run", changeOfRecord(record))
		}
	}
	seen.live, seen.mark = live, mark
}

func changeOfRow(row state.Row, as view.RunState) RunChange {
	change := RunChange{Run: row.ID, Task: row.Task, State: as, Attempt: max(1, row.Attempt.Number)}
	switch {
	case row.Queued():
		change.State = view.RunQueued
	case row.Deferred():
		change.State, change.Attempt = view.RunDeferred, row.Attempt.Number+1
	case as == view.RunRunning && !row.Begun():
		change.State = view.RunStarting
	}
	return change
}

func changeOfRecord(r state.Row) RunChange {
	return RunChange{Run: r.ID, Task: r.Task, State: view.RunEnded, Attempt: r.Attempt.Number, Outcome: string(r.Outcome)}
}
