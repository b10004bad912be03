package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/state"
)

// unrecorded says why nothing was recorded for a slot of the past: the first reason that suffices.
func (w *Inquiry) unrecorded(ctx context.Context, slot time.Time) (string, error) {
	if waits := w.waitsFor(slot); waits != "" {
		return waits, nil
	}
	keep := w.source.Schedule.History
	around, err := w.records.Around(ctx, w.Task.Name, slot, max(keep.RunsPerTask, 1))
	if err != nil {
		return "", err
	}
	minute := slot.Truncate(time.Minute)
	switch {
	case w.Now.Sub(slot) < time.Minute:
		return "nothing is recorded yet: the tick of this minute has just begun, or did not come", nil
	case around.First.IsZero():
		return "nothing was ever recorded here: no `sched run` came, so look at the crontab, or the state folder is new", nil
	case keep.Keep > 0 && slot.Before(w.Now.Add(-keep.Keep)):
		return "nothing is recorded any more: it is longer ago than history.keep", nil
	case slot.Before(around.First):
		return "nothing is recorded: the history begins at " + w.Time(around.First), nil
	case keep.RunsPerTask > 0 && around.TaskSince >= keep.RunsPerTask:
		return fmt.Sprintf("nothing is recorded any more: the %d records that history.runs_per_task keeps are newer", keep.RunsPerTask), nil
	case around.After.IsZero():
		return "nothing was recorded since " + w.Time(around.Before) + ": no `sched run` came since, or one that did is still at work or was killed", nil
	case around.TaskFirst.IsZero():
		return "nothing was ever recorded of this task: it is new, or was switched off or called something else then", nil
	case slot.Before(around.TaskFirst):
		return "nothing is recorded: the first record of this task is of " + w.Time(around.TaskFirst) +
			"; it was not in the schedule yet, switched off, or called something else", nil
	case around.After.Before(minute.Add(time.Minute)):
		return "nothing is recorded, though a tick of this minute recorded other tasks: it was killed before this one, " +
			"or the schedule was another one then", nil
	}
	return "nothing was recorded between " + w.Time(around.Before) + " and " + w.Time(around.After) +
		": no `sched run` came then, or it was killed", nil
}

// waitsFor says that the tick of the slot's minute is still at work, if a foreground run of that
// minute lives; else "".
func (w *Inquiry) waitsFor(slot time.Time) string {
	minute := slot.Truncate(time.Minute)
	i := slices.IndexFunc(w.Live, func(row state.Row) bool {
		return !row.Background && row.Slot.Truncate(time.Minute).Equal(minute)
	})
	if i < 0 {
		return ""
	}
	return "nothing is recorded yet: the tick of this minute is still at work, and runs " + w.Live[i].Task + " now"
}

// Time writes a time in the zone of texts.
func (w *Inquiry) Time(t time.Time) string { return humanize.SlotZone(t, w.zone()) }

func (w *Inquiry) zone() *time.Location {
	return cmp.Or(w.source.Zone, w.Task.When.Location)
}
