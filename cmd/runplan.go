package cmd

import (
	"fmt"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/run"
	"sched/schedule/tick"
	"sched/schedule/view"
)

// mostOfSpan is how many slots `sched run --from --to` runs at most: a slip in a date must not run
// a task for weeks.
const mostOfSpan = 1000

// runSpan runs the slots of one task from --from to before --to, one after another in the
// foreground, the oldest first. Each is the tick of its minute, as with --at.
func (a runCommand) runSpan(o runOptions) error {
	s, invalid, err := a.loadSchedule(o)
	if err != nil {
		return err
	}
	task, err := view.FindTask(s, o.only)
	if err != nil {
		return err
	}
	slots, err := a.slotsOfSpan(o, task, s.Location)
	if err == nil {
		err = control.Runnable(s, task)
	}
	if err != nil {
		return err
	}
	i := slices.Index(s.Tasks, task)
	here := *task // here and now, whatever another server has run
	here.Background, here.OneServer = false, false
	s.Tasks[i] = &here

	span := fmt.Sprintf("from %s to %s", humanize.SlotZone(slots[0], task.When.Location), humanize.SlotZone(slots[len(slots)-1], task.When.Location))
	if !o.quiet || !o.yes {
		fmt.Fprintf(a.err, "%s of %s, %s, one after another\n", humanize.Count(len(slots), "slot"), task.Name, span)
	}
	ticks := a.ticksOf(s, slots, o)
	if o.dryRun {
		for _, t := range ticks {
			if o.json {
				a.printJSON(planOf(t))
			}
		}
		return invalid
	}
	if goOn, err := a.confirm("run them?", o.yes); err != nil {
		return err
	} else if !goOn {
		return &exit{code: exitFailed}
	}
	a.noteChange(s, "run", task.Name, humanize.Count(len(slots), "slot")+" "+span)
	terminate, kill, _ := signals() // never released: after the last tick this process ends
	var result error
	for _, t := range ticks {
		if err := a.runTick(t, o, invalid, terminate, terminate, kill); err != nil {
			result = err
		}
		if terminate.Err() != nil {
			break
		}
	}
	return result
}

// ticksOf returns a tick for each minute of the slots. It starts these slots alone.
func (a runCommand) ticksOf(s *schedule.Schedule, slots []time.Time, o runOptions) (ticks []*tick.Tick) {
	for len(slots) > 0 {
		minute := slots[0].Truncate(time.Minute)
		t := a.tick(s, minute, o)
		n := 0
		for n < len(slots) && slots[n].Before(minute.Add(time.Minute)) {
			n++
		}
		t.Slots, slots = slots[:n], slots[n:]
		t.Replay, t.Storage = true, run.StorageAt(s.StateDir, t.Storage.Store) // a tick closes its database
		ticks = append(ticks, t)
	}
	return ticks
}

// slotsOfSpan returns the slots of the task in the span that the flags say.
func (a runCommand) slotsOfSpan(o runOptions, task *schedule.Task, zone *time.Location) (slots []time.Time, err error) {
	from, err := a.parseTime("from", o.from, zone)
	if err != nil {
		return nil, err
	}
	to, err := a.parseTime("to", o.to, zone)
	if err != nil {
		return nil, err
	}
	switch now := a.now(); {
	case !from.Before(to):
		return nil, usage("", "--to %s is not after --from %s", o.to, o.from)
	case to.Sub(now) > mostAhead && !o.dryRun:
		return nil, usage("see what is due with --dry-run", "%s is yet to come: it is %s now", humanize.MinuteZone(to, zone), humanize.MinuteZone(now, zone))
	}
	for slot := range task.When.Forward(from, to) {
		if slots = append(slots, slot); len(slots) > mostOfSpan {
			return nil, usage("take a shorter span", "%s is due more than %d times in that span", task.Name, mostOfSpan)
		}
	}
	if len(slots) == 0 {
		return nil, failed(fmt.Sprintf("`sched list %s --at %q` says when it is due", task.Name, o.from), "%s is not due in that span", task.Name)
	}
	return slots, nil
}
