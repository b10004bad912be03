// Package forecast is the command `sched forecast`.
package forecast

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/schedule"
	"sched/schedule/forecast"
	"sched/schedule/humanize"
	"sched/schedule/load"
)

type options struct {
	since, until  string
	span          string // --for
	servers       int
	json          bool
	compare       string
	slots         bool
	maxConcurrent int

	spanGiven  bool // --for was given
	limitGiven bool // --max-concurrent was given
}

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "forecast",
		Short: "Show what the next days will look like: when it is crowded, late, or skips",
		Long: `forecast goes through the ticks of a time to come and says how many tasks run at once and when,
which foreground tasks start late and behind what, and which runs are skipped because another one
has their mutex. It decides as ticks do, with the same code.

How long runs take it knows from the history: the median of a task's last successful runs. For a
task without such runs it says so and takes 1 s. It assumes that ticks come on time, that runs
succeed, and that when and skip let them start.

Exit codes: 0 all well, 1 the limit of --max-concurrent is exceeded, 2 wrong usage.`,
		Example: `  sched forecast
  sched forecast --since "2026-03-28 12:00" --for 2d  around a change of the clocks
  sched forecast --slots --for 1h                     what becomes of each slot
  sched forecast --compare new.yaml                   what an edit would change`,
		RunE: func(c *cobra.Command, _ []string) error {
			o.spanGiven, o.limitGiven = c.Flags().Changed("for"), c.Flags().Changed("max-concurrent")
			if o.slots && !o.spanGiven {
				o.span = "24h"
			}
			return foresee(a, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.since, "since", "", "where it begins, instead of now: "+console.TimeForms)
	f.StringVar(&o.until, "until", "", "where it ends")
	f.StringVar(&o.span, "for", "7d", "how long it is: 12h, 7d, at most 31d")
	f.IntVar(&o.servers, "servers", 1, "how many servers tick, of a schedule with a store")
	f.BoolVar(&o.slots, "slots", false,
		"print what becomes of each slot instead, of 24h unless --for or --until says less")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.StringVar(&o.compare, "compare", "", "show what would be different with this schedule")
	f.IntVar(&o.maxConcurrent, "max-concurrent", 0, "exit with 1 where more runs than this are at once")
	flags.Seldom(f, "servers", "max-concurrent")
	return c
}

// foresee prints the forecast, a comparison, or what becomes of each slot.
func foresee(a *app.App, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	s, err := a.LoadToShow()
	if err != nil {
		return err
	}
	from := a.Now()
	if o.since != "" {
		if from, err = a.ParseTime("since", o.since, s.Location); err != nil {
			return err
		}
	}
	basis, err := readBasis(a, s, from, o)
	if err != nil {
		return err
	}
	switch {
	case o.slots && o.json:
		return a.PrintJSON(slotsJSON(basis))
	case o.slots:
		printSlots(a, basis)
		return nil
	case o.compare != "":
		return compare(a, basis, o)
	}
	report := forecast.Foresee(basis)
	if o.json {
		err = a.PrintJSON(report.JSON())
	} else {
		printForecast(a, report)
	}
	if err != nil {
		return err
	}
	return o.checkLimit(report)
}

func compare(a *app.App, basis *forecast.Basis, o options) error {
	other, err := load.File(o.compare, a.Options())
	if err != nil {
		return err
	}
	if o.servers > 1 && len(other.Store.Servers) == 0 {
		return exit.Usage("leave --servers out", "--servers %d: %s has no store", o.servers, o.compare)
	}
	before, after := forecast.Foresee(basis), forecast.Foresee(basis.WithSchedule(other))
	if o.json {
		err = a.PrintJSON(map[string]forecast.Forecast{"before": before.JSON(), "after": after.JSON()})
	} else {
		printComparison(a, before, after)
	}
	if err != nil {
		return err
	}
	return o.checkLimit(after)
}

// check refuses flags that do not go together, and numbers out of range.
func (o options) check() error {
	switch {
	case o.until != "" && o.spanGiven:
		return exit.Usage("", "--until and --for exclude each other")
	case o.limitGiven && o.maxConcurrent < 1:
		return exit.Usage("say how many runs may be at once: --max-concurrent 20",
			"--max-concurrent %d is no limit", o.maxConcurrent)
	case o.servers < 1 || o.servers > 100:
		return exit.Usage("write a number from 1 to 100", "--servers %d makes no sense", o.servers)
	case o.slots && (o.compare != "" || o.limitGiven):
		return exit.Usage("ask for them alone, or as --slots --json",
			"--slots does not go with --compare or --max-concurrent")
	}
	return nil
}

// checkLimit returns an error if more runs are at once than --max-concurrent allows.
func (o options) checkLimit(report forecast.Report) error {
	if !o.limitGiven || report.Peak.Most <= int64(o.maxConcurrent) {
		return nil
	}
	when := forecast.DayAndTime(report.Peak.At, report.Schedule.Location)
	return exit.Failed("move some of them to other minutes: see `sched forecast --slots`",
		"%d runs at once on %s, and --max-concurrent is %d", report.Peak.Most, when, o.maxConcurrent)
}

// maxSlotsSpan is the longest time for --slots.
const maxSlotsSpan = 24 * time.Hour

// readBasis reads what a forecast from a time on needs, such as how long runs take.
func readBasis(a *app.App, s *schedule.Schedule, from time.Time, o options) (*forecast.Basis, error) {
	if o.servers > 1 && len(s.Store.Servers) == 0 {
		return nil, exit.Usage("each of them does all of it: forecast one, or give the schedule a store",
			"--servers %d: servers without a store know nothing of each other", o.servers)
	}
	span, err := readSpan(a, s, from, o)
	if err != nil {
		return nil, err
	}
	if o.slots && span > maxSlotsSpan {
		return nil, exit.Usage("ask for 24h, or leave --slots out",
			"%s is too long for a line a slot", humanize.Duration(span))
	}
	return forecast.ReadBasis(context.Background(), a.View(s), forecast.Input{
		Schedule: s,
		From:     from,
		To:       from.Add(span),
		Servers:  o.servers,
	}), nil
}

// readSpan returns how long the forecast is, from --until or --for.
func readSpan(a *app.App, s *schedule.Schedule, from time.Time, o options) (time.Duration, error) {
	if o.until == "" {
		return forecast.ReadSpan(from, o.span)
	}
	until, err := a.ParseTime("until", o.until, s.Location)
	switch {
	case err != nil:
		return 0, err
	case !until.After(from):
		return 0, exit.Usage("", "--until %s is not after the beginning, %s",
			o.until, humanize.MinuteZone(from, s.Location))
	}
	return until.Sub(from), forecast.CheckSpan(from, until.Sub(from))
}

func slotsOf(basis *forecast.Basis) (slots []forecast.Slot) {
	forecast.Simulate(basis.Input, func(s *forecast.Slot) { slots = append(slots, *s) })
	return slots
}

func printSlots(a *app.App, basis *forecast.Basis) {
	zone := basis.Schedule.Location
	t := a.Table()
	t.Head("DUE", "TASK", "START", "")
	for _, s := range slotsOf(basis) {
		start, remark := "on time", ""
		switch {
		case s.Skip == forecast.Overlap:
			start, remark = "skipped", s.By.Name+" still runs"
		case s.Skip == forecast.Full:
			start, remark = "skipped", "pool "+s.Task.Pool.Name+" is full"
		case s.Skip != forecast.NoSkip:
			start, remark = "skipped", s.Reason
		case s.Lateness() > 0 && s.By != nil:
			start, remark = humanize.Duration(s.Lateness())+" late", "behind "+s.By.Name
		}
		if basis.Servers > 1 && s.Skip == forecast.NoSkip {
			remark = strings.TrimSpace(fmt.Sprintf("%s on server %d", remark, s.Server+1))
		}
		if moved := s.Task.When.Meaning(s.At).Moved; moved != "" {
			remark = strings.TrimPrefix(remark+"; "+moved, "; ")
		}
		t.Row(forecast.DayAndTime(s.At, zone), s.Task.Name, start, remark)
	}
	t.Flush()
	printNotes(a, basis.Notes)
}

type slotJSON struct {
	Task    string            `json:"task"`
	Slot    humanize.JSONTime `json:"slot"`
	Skipped forecast.Skip     `json:"skipped"`
	Late    float64           `json:"lateness"`
	Behind  *string           `json:"behind"`
	Reason  string            `json:"reason"`
	Moved   string            `json:"moved,omitempty"`
	Server  int               `json:"server"`
}

func slotsJSON(basis *forecast.Basis) []slotJSON {
	slots := []slotJSON{}
	for _, s := range slotsOf(basis) {
		slot := slotJSON{
			Task:    s.Task.Name,
			Slot:    humanize.UTC(s.At),
			Skipped: s.Skip,
			Late:    s.Lateness().Seconds(),
			Reason:  s.Reason,
			Moved:   s.Task.When.Meaning(s.At).Moved,
			Server:  s.Server + 1,
		}
		if s.By != nil {
			slot.Behind = &s.By.Name
		}
		slots = append(slots, slot)
	}
	return slots
}
