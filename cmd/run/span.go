package run

import (
	"fmt"
	"slices"
	"time"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/run/holding"
	"sched/schedule/tick"
	"sched/schedule/view"
)

// maxSpanSlots is how many slots `sched run --from --to` runs at most: a slip in a date must not
// run a task for weeks.
const maxSpanSlots = 1000

// runSpan runs the slots of one task from --from to before --to, if the person who asks for them
// confirms that. The slots run one after another in the foreground, the oldest first. Each is the
// tick of its minute, as with --at. The error is the exit of the last tick that failed.
func runSpan(a *app.App, o options) (lastErr error) {
	s, invalidExit, err := loadForTick(a, o)
	if err != nil {
		return err
	}
	task, err := view.FindTask(s, o.Only)
	if err != nil {
		return err
	}
	slots, err := slotsOfSpan(a, o, task, s.Location)
	if err != nil {
		return err
	}
	if err := control.CheckRunnable(s, task); err != nil {
		return err
	}
	first, last := slots[0], slots[len(slots)-1]
	count := humanize.Count(len(slots), "slot")
	span := fmt.Sprintf("from %s to %s",
		humanize.SlotZone(first, task.When.Location), humanize.SlotZone(last, task.When.Location))
	if !o.Quiet || !o.yes { // a question needs it, even with --quiet
		fmt.Fprintf(a.Err, "%s of %s, %s, one after another\n", count, task.Name, span)
	}
	ticks := ticksOf(a, withTaskHere(s, task), slots, o)
	if o.dryRun {
		for _, t := range ticks {
			if o.JSON {
				a.PrintJSON(previewOf(t))
			}
		}
		return invalidExit
	}
	goOn, err := a.Confirm("run them?", o.yes)
	if err != nil {
		return err
	}
	if !goOn {
		return &exit.Error{Code: exit.Failure}
	}
	a.NoteChange(s, "run", task.Name, count+" "+span)
	stops := stopsBySignals()
	for _, t := range ticks {
		if err := runTick(a, t, o, invalidExit, stops); err != nil {
			lastErr = err
		}
		if stops.terminate.Err() != nil {
			break
		}
	}
	return lastErr
}

// withTaskHere returns the schedule with a copy of the task that runs in the foreground, and here
// even if another server has run the slot. Its failures do not pause it: the person sees them, and
// the next slots shall run.
func withTaskHere(s *schedule.Schedule, task *schedule.Task) *schedule.Schedule {
	foreground := *task
	foreground.Background, foreground.OneServer, foreground.PauseAfter = false, false, 0
	changed := *s
	changed.Tasks = slices.Clone(s.Tasks)
	changed.Tasks[slices.Index(s.Tasks, task)] = &foreground
	return &changed
}

// ticksOf returns a tick for each minute of the slots. Each tick starts the slots of its minute,
// and nothing else.
func ticksOf(a *app.App, s *schedule.Schedule, slots []time.Time, o options) (ticks []*tick.Tick) {
	for len(slots) > 0 {
		minute := slots[0].Truncate(time.Minute)
		next := minute.Add(time.Minute)
		n := 0
		for n < len(slots) && slots[n].Before(next) {
			n++
		}
		t := newTick(a, s, minute, o)
		t.Slots, slots = slots[:n], slots[n:]
		t.Replay = true
		t.Storage = holding.StorageAt(s.StateDir, t.Storage.Store) // of its own: a tick closes its database
		ticks = append(ticks, t)
	}
	return ticks
}

// slotsOfSpan returns the slots of the task in the span of --from and --to.
func slotsOfSpan(a *app.App, o options, task *schedule.Task, zone *time.Location) (slots []time.Time, err error) {
	from, err := a.ParseTime("from", o.from, zone)
	if err != nil {
		return nil, err
	}
	to, err := a.ParseTime("to", o.to, zone)
	if err != nil {
		return nil, err
	}
	switch now := a.Now(); {
	case !from.Before(to):
		return nil, exit.Usage("", "--to %s is not after --from %s", o.to, o.from)
	case to.Sub(now) > maxAhead && !o.dryRun:
		return nil, exit.Usage("see what is due with --dry-run",
			"%s is yet to come: it is %s now", humanize.MinuteZone(to, zone), humanize.MinuteZone(now, zone))
	}
	for slot := range task.When.Forward(from, to) {
		if slots = append(slots, slot); len(slots) > maxSpanSlots {
			return nil, exit.Usage("take a shorter span",
				"%s is due more than %d times in that span", task.Name, maxSpanSlots)
		}
	}
	if len(slots) == 0 {
		hint := fmt.Sprintf("`sched list%s %s --at %q` says when it is due", a.ConfigFlag(), task.Name, o.from)
		return nil, exit.Failed(hint, "%s is not due in that span", task.Name)
	}
	return slots, nil
}
