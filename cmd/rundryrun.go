package cmd

import (
	"cmp"
	"fmt"
	"time"

	"sched/cmd/terminal"
	"sched/schedule/humanize"
	"sched/schedule/tick"
	"sched/schedule/view"
)

type planJSON struct {
	Minute string         `json:"minute"`
	Tasks  []planTaskJSON `json:"tasks"`
}

type planTaskJSON struct {
	Name       string   `json:"name"`
	Slots      []string `json:"slots"`
	Background bool     `json:"background"`
	Would      string   `json:"would"`
	Reason     string   `json:"reason"`
}

func (a runCommand) dryRun(tick *tick.Tick, asJSON bool) error {
	plan := planOf(tick)
	if asJSON {
		return a.printJSON(plan)
	}
	a.printPlan(plan, humanize.MinuteZone(tick.Minute, tick.Schedule.Location))
	return nil
}

func planOf(tick *tick.Tick) planJSON {
	plan := planJSON{tick.Minute.UTC().Format(time.RFC3339), []planTaskJSON{}}
	for _, p := range tick.Plan() {
		t := planTaskJSON{p.Task.Name, nil, p.Task.Background, "run", p.Reason}
		if p.Reason != "" {
			t.Would = "skip"
		} else {
			t.Reason = cmp.Or(p.Waits, view.ConditionCommands(p.Task))
		}
		for _, slot := range p.Slots {
			t.Slots = append(t.Slots, slot.UTC().Format(time.RFC3339))
		}
		plan.Tasks = append(plan.Tasks, t)
	}
	return plan
}

func (a runCommand) printPlan(plan planJSON, minute string) {
	if len(plan.Tasks) == 0 {
		fmt.Fprintf(a.out, "nothing is due at %s\n", minute)
		return
	}
	fmt.Fprintf(a.out, "at %s:\n", minute)
	out := a.stdout()
	table := out.Table()
	defer table.Flush()
	for _, t := range plan.Tasks {
		how, tone := "would run", terminal.Good
		if t.Background {
			how, tone = "would run in the background", terminal.Active
		}
		switch {
		case t.Would == "skip":
			how, tone = "would be skipped: "+t.Reason, terminal.Caution
		case t.Reason != "":
			how += "; " + t.Reason
		}
		if len(t.Slots) > 1 {
			how += fmt.Sprintf(" (%d times in this minute)", len(t.Slots))
		}
		table.Row(t.Name, out.Paint(tone, how))
	}
}
