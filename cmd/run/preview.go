package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/cmd/app"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/preview"
	"sched/schedule/tick"
	"sched/schedule/view"
)

// A Preview is what --dry-run --json prints.
type Preview struct {
	Minute string        `json:"minute"`
	Tasks  []PreviewTask `json:"tasks"`
}

// A PreviewTask says what would become of a task.
type PreviewTask struct {
	Name       string   `json:"name"`
	Slots      []string `json:"slots"`
	Background bool     `json:"background"`
	Would      string   `json:"would"`  // run or skip
	Reason     string   `json:"reason"` // why it would be skipped, or may wait

	values []string // of the slots whose params have values, in words
}

func previewOf(t *tick.Tick) Preview {
	shown := Preview{Minute: t.Minute.UTC().Format(time.RFC3339), Tasks: []PreviewTask{}}
	for _, p := range preview.Of(t) {
		task := PreviewTask{Name: p.Task.Name, Background: p.Task.Background}
		if p.Reason != "" {
			task.Would, task.Reason = "skip", p.Reason
		} else {
			task.Would, task.Reason = "run", cmp.Or(p.Waits, view.ConditionCommands(p.Task))
		}
		for _, slot := range p.Slots {
			task.Slots = append(task.Slots, slot.UTC().Format(time.RFC3339))
			if values := p.Task.ValuesAt(slot); len(values) > 0 {
				task.values = append(task.values, schedule.WithValues("", values))
			}
		}
		shown.Tasks = append(shown.Tasks, task)
	}
	return shown
}

func printPreview(a *app.App, t *tick.Tick, o options) {
	preview := previewOf(t)
	if o.JSON {
		a.PrintJSON(preview)
		return
	}
	minute := humanize.MinuteZone(t.Minute, t.Schedule.Location)
	if len(preview.Tasks) == 0 {
		fmt.Fprintf(a.Out, "nothing is due at %s\n", minute)
		return
	}
	fmt.Fprintf(a.Out, "at %s:\n", minute)
	out := a.Stdout()
	table := a.Table()
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
		if values := slices.Compact(task.values); task.Would == "run" && len(values) > 0 {
			text += " " + strings.Join(values, "; ")
		}
		if len(task.Slots) > 1 {
			text += fmt.Sprintf(" (%d times in this minute)", len(task.Slots))
		}
		table.Row(task.Name, out.Paint(tone, text))
	}
}

// completePreview says what the preview leaves out: that a tick has had this minute already, or
// which tasks may run slots between the last tick and this one. Only a tick reads which of those
// slots have an outcome.
func completePreview(a *app.App, t *tick.Tick) {
	last, err := view.LastTick(t.Storage.Dir)
	if err != nil || last.IsZero() {
		return
	}
	if last.Equal(t.Minute) {
		a.Warn("%s was ticked already, and nothing starts twice",
			humanize.SlotOfDayZone(last, t.Schedule.Location))
	}
	var names []string
	for task := range t.Schedule.ActiveTasks() {
		from := humanize.Later(last.Add(time.Minute), t.Minute.Add(-task.MissedWithin))
		slot, ok := task.When.Next(from.Add(-time.Second))
		if ok && slot.Before(t.Minute) && task.RunMissed {
			names = append(names, task.Name)
		}
	}
	if len(names) > 0 {
		a.Warn("no tick came since %s, so slots that were missed may run, too, of %s",
			humanize.MinuteZone(last, t.Schedule.Location), humanize.Names(names, 5))
	}
}
