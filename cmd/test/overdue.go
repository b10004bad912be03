package test

import (
	"context"
	"fmt"
	"os"
	"time"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/exit"
	"sched/cmd/follow"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/overdue"
	"sched/schedule/view"
)

// asOverdue is the value of --as that is no outcome of a run.
const asOverdue = "overdue"

// testOverdue fires the on_overdue hooks of a task as a tick does that finds the task overdue at
// this moment. It leaves nothing in the history.
func testOverdue(a *app.App, s *schedule.Schedule, t *schedule.Task) error {
	if len(t.Hooks.OnOverdue) == 0 {
		return exit.Usage("give it `on_overdue`, and `expect: {every: 26h}`", "%s has no on_overdue", t.Name)
	}
	if err := app.CheckState(s); err != nil {
		return err
	}
	printedByHooks := a.Err
	if a.IsForeign(s, t.Name) {
		printedByHooks = console.Harmless(printedByHooks, humanize.Plain)
	}
	row := incidentOf(t, a.ServerName(s.Server), a.Now()).Record()
	row.Test = true
	caller := a.Caller(s)
	caller.Sender = notify.NewSender(context.Background(), caller.DB, caller.Environ)
	caller.Sender.Undelivered = func(sent *notify.Delivery, err error, fate string) {
		a.Warn("%s: %s: %v; %s", t.Name, sent.Hook, err, fate)
	}
	caller.Sender.Delivered = func(sent *notify.Delivery, target string) {
		a.Warn("%s: %s: sent %s", t.Name, sent.Hook, target)
	}
	notes := caller.Overdue(row, t)
	caller.Sender.Wait(context.Background(), notify.Patience)
	printed := view.OutputOf(s.StateDir, row)
	follow.Hooks(printedByHooks, printed)
	os.Remove(output.HooksPath(printed))
	for _, note := range notes {
		a.Warn("%s: %s", t.Name, note)
	}
	fmt.Fprintf(a.Err, "sched: %s is overdue: %s\n", t.Name, row.Reason)
	return caller.DB.ForgetHooks(context.Background(), row.ID)
}

// incidentOf returns the incident that begins now if the task has done nothing: a success is
// overdue, or if none is expected, the end of a run.
func incidentOf(t *schedule.Task, server string, now time.Time) overdue.Incident {
	i := overdue.Incident{
		ID:       outcome.NewIDAt(now),
		Task:     t.Name,
		Kind:     overdue.Every,
		Expected: t.Expect.Every,
		Slot:     now,
		Found:    now.UTC(),
		Server:   server,
	}
	if t.Expect.Every == 0 {
		i.Kind, i.Expected = overdue.Within, t.Expect.Within
	}
	i.Since = now.Add(-i.Expected).UTC()
	return i
}
