package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/pause"
	"sched/schedule/state"
	"sched/schedule/view"
)

// reasonFlag adds --reason to a command that changes something.
func reasonFlag(c *cobra.Command, reason *string) {
	c.Flags().StringVar(reason, "reason", "", "why, for those who wonder")
}

// changes prints what people changed, the newest first.
func (a historyCommand) changes(s *schedule.Schedule, q state.Query, o historyOptions) error {
	all, err := a.view(s).Changes(ctx, view.ChangeQuery{Target: q.Task, Since: q.Since, Until: q.Until, Limit: q.Limit})
	if err != nil {
		return failed("", "%w", err)
	}
	named := func(c view.Change) bool { return c.Target != view.Everything }
	if q.Task != "" && !slices.ContainsFunc(all, named) {
		if _, err := view.FindTask(s, q.Task); err != nil {
			return err
		}
	}
	cut := o.limit > 0 && len(all) > o.limit
	if cut {
		all = all[:o.limit]
	}
	switch {
	case o.json:
		err = a.printJSON(all)
	case len(all) == 0:
		fmt.Fprintln(a.out, "nobody has changed anything")
	default:
		a.printChanges(s, all)
	}
	a.sayCut(o, cut)
	return err
}

func (a historyCommand) printChanges(s *schedule.Schedule, all []view.Change) {
	t := a.stdout().Table()
	t.Head("TIME", "WHO", "FROM", "DID", "TO", "REASON")
	for _, c := range all {
		at, _ := time.Parse(time.RFC3339, c.At)
		target := c.Target
		if c.Action == "stop" || c.Action == "retry" {
			target = humanize.ShortRun(target)
		}
		because := cmp.Or(c.Reason, "-")
		if c.Error != "" {
			because += " (not done: " + c.Error + ")"
		}
		t.Row(humanize.SecondZone(at, s.Location), humanize.Line(c.Who), c.From, c.Action, humanize.Line(target), humanize.Line(because))
	}
	t.Flush()
}

// noteChange writes a change that was just made into the log of changes. If the log cannot be
// written, it says so, and the change stays.
func (a *app) noteChange(s *schedule.Schedule, action, target, reason string) {
	if target == pause.Everything {
		target = view.Everything
	}
	line := state.Change{
		At: a.now(), Who: caller(), From: view.FromCommand, Action: action, Target: target, Reason: control.Reason(reason),
	}
	db, err := state.Open(s.StateDir, state.Patience)
	if err == nil {
		_, err = db.Audit().Add(ctx, line)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		a.problem("this is done, but `sched history --changes` will not show it: %v", err)
	}
}
