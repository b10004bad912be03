package plan

import (
	"context"
	"slices"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// addRows writes the rows of slots that this tick starts or skips. They are accounted for if the
// tick covers its minute.
func addRows(ctx context.Context, l *Ledger, slots []schedule.Slot) error {
	if len(slots) == 0 {
		return nil
	}
	own, err := l.tx.Become(ctx, l.Self)
	if err != nil {
		return err
	}
	var rows []state.Row
	for _, slot := range slots {
		if waiting, ok := l.waiting[keyOf(slot)]; ok {
			if err := own.Apply(ctx, state.TakeIntoPlan(), &waiting); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, newRow(l, slot, own))
	}
	added, err := l.tx.Add(ctx, rows)
	if err != nil || len(added) == len(rows) {
		return err
	}
	return addSecondRows(ctx, l, rows, added)
}

// newRow returns the row of a slot, which belongs to the owner. A slot that a dead tick had claimed
// keeps its run; any other slot gets a new one.
func newRow(l *Ledger, slot schedule.Slot, own state.Owned) state.Row {
	key := keyOf(slot)
	if l.runs[key].run == "" {
		l.runs[key] = plannedRun{run: outcome.NewID()}
	}
	return state.Row{
		ID:         l.runs[key].run,
		Task:       key.task,
		Mutex:      slot.Task.Mutex,
		Slot:       key.slot,
		Scheduled:  l.Covers,
		Background: slot.Task.Background,
		Server:     l.Server,
		Phase:      state.Planned,
		Owner:      own.ID,
	}
}

// addSecondRows adds the rows that were not added, because their slots have a row already. They
// are not Scheduled, so both rows may stay.
func addSecondRows(ctx context.Context, l *Ledger, rows, added []state.Row) error {
	again := slices.DeleteFunc(rows, func(row state.Row) bool {
		return slices.ContainsFunc(added, func(a state.Row) bool { return a.ID == row.ID })
	})
	for i, row := range again {
		again[i].Scheduled = false
		key := slotKey{row.Task, row.Slot}
		l.runs[key] = plannedRun{run: row.ID, note: l.runs[key].note, hasRow: true}
	}
	_, err := l.tx.Add(ctx, again)
	return err
}
