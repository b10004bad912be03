package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/run"
	"sched/schedule/tick"
	"sched/schedule/view"
)

// This file is about ticks that are looked at before they run: the preview of --dry-run, and the
// span of --from and --to, which people confirm.

type previewJSON struct {
	Minute string            `json:"minute"`
	Tasks  []previewTaskJSON `json:"tasks"`
}

type previewTaskJSON struct {
	Name       string   `json:"name"`
	Slots      []string `json:"slots"`
	Background bool     `json:"background"`
	Would      string   `json:"would"`  // run or skip
	Reason     string   `json:"reason"` // why it would be skipped, or may wait
}

// previewOf returns what the tick would do.
func previewOf(t *tick.Tick) previewJSON {
	preview := previewJSON{Minute: t.Minute.UTC().Format(time.RFC3339), Tasks: []previewTaskJSON{}}
	for _, p := range t.DryRun() {
		task := previewTaskJSON{Name: p.Task.Name, Background: p.Task.Background}
		if p.Reason != "" {
			task.Would, task.Reason = "skip", p.Reason
		} else {
			task.Would, task.Reason = "run", cmp.Or(p.Waits, view.ConditionCommands(p.Task))
		}
		for _, slot := range p.Slots {
			task.Slots = append(task.Slots, slot.UTC().Format(time.RFC3339))
		}
		preview.Tasks = append(preview.Tasks, task)
	}
	return preview
}

// printPreview prints what the tick would do, for people or as JSON.
func (a runCommand) printPreview(t *tick.Tick, o runOptions) {
	preview := previewOf(t)
	if o.json {
		a.printJSON(preview)
		return
	}
	minute := humanize.MinuteZone(t.Minute, t.Schedule.Location)
	if len(preview.Tasks) == 0 {
		fmt.Fprintf(a.out, "nothing is due at %s\n", minute)
		return
	}
	fmt.Fprintf(a.out, "at %s:\n", minute)
	out := a.stdout()
	table := out.Table()
	defer table.Flush()
	for _, task := range preview.Tasks {
		text, tone := "would run", terminal.Good
		if task.Background {
			text, tone = "would run in the background", terminal.Active
		}
		switch {
		case task.Would == "skip":
			text, tone = "would be skipped: "+task.Reason, terminal.Caution
		case task.Reason != "":
			text += "; " + task.Reason
		}
		if len(task.Slots) > 1 {
			text += fmt.Sprintf(" (%d times in this minute)", len(task.Slots))
		}
		table.Row(task.Name, out.Paint(tone, text))
	}
}

// maxSpanSlots is how many slots `sched run --from --to` runs at most: a slip in a date must not
// run a task for weeks.
const maxSpanSlots = 1000

// runSpan runs the slots of one task from --from to before --to, one after another in the
// foreground, the oldest first. Each is the tick of its minute, as with --at.
func (a runCommand) runSpan(o runOptions) error {
	s, invalid, err := a.loadForTick(o)
	if err != nil {
		return err
	}
	task, err := view.FindTask(s, o.only)
	if err != nil {
		return err
	}
	slots, err := a.slotsOfSpan(o, task, s.Location)
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
	if !o.quiet || !o.yes {
		fmt.Fprintf(a.err, "%s of %s, %s, one after another\n", count, task.Name, span)
	}
	ticks := a.ticksOf(withTaskHere(s, task), slots, o)
	if o.dryRun {
		if o.json {
			for _, t := range ticks {
				a.printJSON(previewOf(t))
			}
		}
		return invalid
	}
	goOn, err := a.confirm("run them?", o.yes)
	if err != nil {
		return err
	}
	if !goOn {
		return &exit{code: exitFailed}
	}
	a.noteChange(s, "run", task.Name, count+" "+span)
	return a.runTicks(ticks, o, invalid)
}

// withTaskHere returns the schedule with a copy of the task that runs here and in the foreground,
// whatever another server has run. A person sees its failures, so they do not pause the task: a
// slot that fails does not keep the next ones from running.
func withTaskHere(s *schedule.Schedule, task *schedule.Task) *schedule.Schedule {
	foreground := *task
	foreground.Background, foreground.OneServer, foreground.PauseAfter = false, false, 0
	changed := *s
	changed.Tasks = slices.Clone(s.Tasks)
	changed.Tasks[slices.Index(s.Tasks, task)] = &foreground
	return &changed
}

// runTicks runs the ticks one after another, until a signal ends them. The error is the exit of the
// last tick that failed.
func (a runCommand) runTicks(ticks []*tick.Tick, o runOptions, invalid error) (lastErr error) {
	stops := stopsBySignals()
	for _, t := range ticks {
		if err := a.runTick(t, o, invalid, stops); err != nil {
			lastErr = err
		}
		if stops.terminate.Err() != nil {
			break
		}
	}
	return lastErr
}

// ticksOf returns a tick for each minute of the slots. Each tick starts the slots of its minute,
// and nothing else.
func (a runCommand) ticksOf(s *schedule.Schedule, slots []time.Time, o runOptions) (ticks []*tick.Tick) {
	for len(slots) > 0 {
		minute := slots[0].Truncate(time.Minute)
		next := minute.Add(time.Minute)
		n := 0
		for n < len(slots) && slots[n].Before(next) {
			n++
		}
		t := a.tick(s, minute, o)
		t.Slots, slots = slots[:n], slots[n:]
		t.Replay = true
		t.Storage = run.StorageAt(s.StateDir, t.Storage.Store) // of its own: a tick closes its database
		ticks = append(ticks, t)
	}
	return ticks
}

// slotsOfSpan returns the slots of the task in the span of --from and --to.
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
	case to.Sub(now) > maxAhead && !o.dryRun:
		return nil, usage("see what is due with --dry-run",
			"%s is yet to come: it is %s now", humanize.MinuteZone(to, zone), humanize.MinuteZone(now, zone))
	}
	for slot := range task.When.Forward(from, to) {
		if slots = append(slots, slot); len(slots) > maxSpanSlots {
			return nil, usage("take a shorter span",
				"%s is due more than %d times in that span", task.Name, maxSpanSlots)
		}
	}
	if len(slots) == 0 {
		hint := fmt.Sprintf("`sched list %s --at %q` says when it is due", task.Name, o.from)
		return nil, failed(hint, "%s is not due in that span", task.Name)
	}
	return slots, nil
}
