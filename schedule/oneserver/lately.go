package oneserver

import (
	"context"
	"slices"
	"strings"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
	"sched/schedule/statedir"
)

// most bounds the slots that a machine tells of, so that they are soon read: each task has an equal part, its newest ones.
const most = 20_000

// Lately returns slots of the one_server tasks whose claims were still to be kept at the time now: those that have run on this machine
// or run now, and those that it skipped since another server had claimed them. What cannot be read is left out.
func Lately(dir string, tasks []*schedule.Task, now time.Time) (slots []mutex.ClaimedSlot) {
	shared := map[string]*schedule.Task{}
	for _, task := range tasks {
		if task.OneServer {
			shared[task.Name] = task
		}
	}
	if len(shared) == 0 {
		return nil
	}
	add := func(r outcome.Record) {
		task := shared[r.Task]
		if task == nil || r.Origin != "" || r.Slots > 1 {
			return
		}
		if until := Until(schedule.Slot{Task: task, At: r.Slot}); until.After(now) {
			slots = append(slots, mutex.ClaimedSlot{Task: r.Task, At: r.Slot, Until: until})
		}
	}
	for _, record := range withFiles(dir) {
		add(record)
	}
	db, err := history.OpenRead(dir)
	if err != nil {
		return slots
	}
	defer db.Close()
	for name, task := range shared {
		found, err := db.Find(context.Background(), history.Query{Task: name, Since: now.Add(-keep(task)), Limit: max(1, most/len(shared)), Short: true})
		if err != nil || len(slots) >= most {
			return slots
		}
		for _, record := range found {
			if tells(record) {
				add(record)
			}
		}
	}
	return slots
}

// tells reports whether a record of the history says that its slot was claimed, here or by another server.
func tells(r outcome.Record) bool {
	return slices.Contains(outcome.Ran, r.Outcome) || r.Outcome == outcome.Skipped && strings.HasPrefix(r.Reason, outcome.AnotherTick)
}

// withFiles returns how the runs began that live, or whose ends are not in the history yet.
func withFiles(dir string) (begun []outcome.Record) {
	for _, folder := range statedir.Folders(dir) {
		ids, _ := runfile.List(folder)
		for _, id := range ids {
			if state, _, err := runfile.Read(folder, id); err == nil {
				begun = append(begun, state.Begin)
			}
		}
	}
	return begun
}
