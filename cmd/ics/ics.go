// Package ics is the command `sched ics`.
package ics

import (
	"context"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/flags"
	"sched/schedule/view"
)

func New(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "ics [TASK]...",
		Short: "Print what will run in the next 60 days as a calendar (iCalendar)",
		Long: `ics prints the runs of the next 60 days as a calendar, of all tasks or of those that are named. A
run is an event, as long as the median of the task's last successful runs.

Slots that a condition of time or a pause keeps from running are not in it. It leaves out tasks that
run more than 25 times within 24 hours, and says so on stderr and in the description of the
calendar. After 5,000 runs it ends.

sched serve has the same calendar for programs that fetch it: /api/v1/calendar.ics.`,
		Example: `  sched ics > shop.ics
  sched ics nightly-report backup`,
		Args: flags.Arguments(0, flags.Unlimited),
		RunE: func(_ *cobra.Command, names []string) error { return printCalendar(a, names) },
	}
}

func printCalendar(a *app.App, names []string) error {
	s, err := a.LoadToShow()
	if err != nil {
		return err
	}
	calendar, err := view.CalendarOf(context.Background(), a.View(s), a.Now(), names)
	if err != nil {
		return err
	}
	for _, note := range calendar.Notes {
		a.Warn("%s", note)
	}
	_, err = a.Out.Write(view.ICal(calendar))
	return err
}
