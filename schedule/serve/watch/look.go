package watch

import (
	"context"
	"fmt"
	"time"

	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/pause"
	"sched/schedule/records"
	"sched/schedule/runfile"
	"sched/schedule/status"
	"sched/schedule/view/runs"
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

// look compares what there is with what was seen, and tells what has changed. What cannot be read is looked at again the next time.
func (w *Watcher) look(seen *sight) {
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
	if tick := status.LastTick(s.StateDir); !tick.Equal(seen.tick) {
		if seen.tick = tick; !first {
			w.tell("tick", TickChange{tick.UTC().Format(time.RFC3339)})
		}
	}
	if here, err := pause.ReadHere(s); err == nil {
		changed(&seen.pauses, fmt.Sprint(here.Pauses), "pauses")
	}
	if rows, err := records.Waiting(s.StateDir); err == nil {
		waiting := ""
		for _, r := range rows {
			waiting += fmt.Sprintln(r.ID, r.Wait)
		}
		changed(&seen.waiting, waiting, "waiting")
	}
	w.lookAtRuns(s, seen, first)
}

// lookAtRuns finds live runs in their files, and what ended, was skipped or missed in the history.
func (w *Watcher) lookAtRuns(s *schedule.Schedule, seen *sight, first bool) {
	live := map[string]RunChange{}
	states, lost, ended, err := records.Survey(s.StateDir, w.Files)
	if err != nil {
		return
	}
	for _, state := range states {
		live[state.Begin.Run] = changeOfState(state, runs.Running)
	}
	for _, state := range lost {
		live[state.Begin.Run] = changeOfState(state, runs.Vanished)
	}
	for _, record := range ended {
		live[record.Run] = changeOfRecord(record)
	}
	for id, change := range live {
		if seen.live[id] != change && !first {
			w.tell("run", change)
		}
	}
	db, err := history.OpenRead(s.StateDir)
	if err != nil {
		return
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	added, mark, err := db.Added(ctx, seen.mark, mostRecent)
	if err != nil {
		return
	}
	for _, record := range added {
		if change := changeOfRecord(record); seen.live[record.Run] != change && live[record.Run] != change {
			w.tell("run", change)
		}
	}
	seen.live, seen.mark = live, mark
}

func changeOfState(state runfile.State, as runs.State) RunChange {
	change := RunChange{Run: state.Begin.Run, Task: state.Begin.Task, State: as, Attempt: 1}
	switch {
	case state.Queued():
		change.State = runs.Queued
	case state.Deferred():
		change.State, change.Attempt = runs.Deferred, state.Deferral.Attempt
	case state.Attempt != nil:
		change.Attempt = state.Attempt.Number
	case as == runs.Running:
		change.State = runs.Starting
	}
	return change
}

func changeOfRecord(r outcome.Record) RunChange {
	return RunChange{Run: r.Run, Task: r.Task, State: runs.Ended, Attempt: r.Attempts, Outcome: string(r.Outcome)}
}
