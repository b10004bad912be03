package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"sched/schedule/document"
	"sched/schedule/forecast"
	"sched/schedule/forecast/report"
	"sched/schedule/text"
)

type forecastOptions struct {
	from, span    string
	servers       int
	assume        []string
	slow          bool
	json          bool
	svg           string
	compare       string
	suggest       bool
	slots         bool
	maxConcurrent int
	maxLate       string

	limited bool // --max-concurrent was given
}

// A forecastCommand is `sched forecast`.
type forecastCommand struct{ *app }

func newForecastCommand(a *app) *cobra.Command {
	var o forecastOptions
	c := &cobra.Command{
		Use:   "forecast",
		Short: "Show what the next days will look like: when it is crowded, late, or skips",
		Long: `forecast goes through the ticks of a time to come and says how many tasks run at once and when,
which foreground tasks start late and behind what, and which runs are skipped since another one has
their mutex. It decides as ticks do, with the same code.

How long runs take it knows from the history: the median of a task's last successful runs, and the
95th percentile for --slow. Where there are none it says so and takes 1 s, or what --assume says.
That ticks come on time, runs succeed, and when and skip let them start, is assumed.

Exit codes: 0 all well, 1 a limit of --max-concurrent or --max-late is exceeded, 2 wrong usage.`,
		Example: `  sched forecast
  sched forecast --from "2026-03-28 12:00" --for 2d   around a change of the clocks
  sched forecast --slots --for 1h                     what becomes of each slot
  sched forecast --assume import=20m --svg week.svg
  sched forecast --compare new.yaml                   what an edit would change
  sched forecast --suggest | patch -p0                other minutes, where it is crowded
  sched forecast --max-concurrent 20 --max-late 5m    for CI: exits with 1 beyond that`,
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			o.limited = c.Flags().Changed("max-concurrent")
			if o.slots && !c.Flags().Changed("for") {
				o.span = "24h"
			}
			return forecastCommand{a}.forecast(o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.from, "from", "", "where it begins (default: now; 2006-01-02 15:04, 14:30 or tomorrow 9:00 in the schedule's zone, or RFC 3339)")
	f.StringVar(&o.span, "for", "7d", "how long it is: 12h, 7d, at most 31d")
	f.IntVar(&o.servers, "servers", 1, "how many servers tick, of a schedule with a store")
	f.StringSliceVar(&o.assume, "assume", nil, "what a run of a task takes: task=20m; may come several times")
	f.BoolVar(&o.slots, "slots", false, "print what becomes of each slot instead, of 24h unless --for says less")
	f.BoolVar(&o.slow, "slow", false, "take every run to be as slow as the 95th percentile, not the median")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.StringVar(&o.svg, "svg", "", "write the heatmap to this file as a picture, too")
	f.StringVar(&o.compare, "compare", "", "show what would be different with this schedule")
	f.BoolVar(&o.suggest, "suggest", false, "print a diff of the schedule that spreads the load: other minutes, the same order")
	f.IntVar(&o.maxConcurrent, "max-concurrent", 0, "exit with 1 where more runs than this are at once")
	f.StringVar(&o.maxLate, "max-late", "", "exit with 1 where a run starts later than this: 90s, 5m")
	return c
}

// forecast prints a forecast, or what one is used for.
func (a forecastCommand) forecast(o forecastOptions) error {
	limits, err := o.check()
	if err != nil {
		return err
	}
	a.look()
	a.origins = o.suggest
	s, err := a.loadAnyway()
	if err != nil {
		return err
	}
	inputs, err := a.inputs(s, o)
	if err != nil {
		return err
	}
	switch {
	case o.suggest:
		return a.suggest(inputs)
	case o.slots && o.json:
		return a.printJSON(slotsJSON(inputs))
	case o.slots:
		a.printSlots(inputs)
		return nil
	case o.compare != "":
		return a.compare(inputs, o, limits)
	}
	r := report.Foresee(inputs, true)
	if o.json {
		err = a.printJSON(r.JSON())
	} else {
		a.printForecast(r)
	}
	if err == nil && o.svg != "" {
		err = a.writePicture(o.svg, r)
	}
	if err != nil {
		return err
	}
	return limits.exceeded(s.Location, r.Usual)
}

// limits are what a forecast must keep to; zero for no limit.
type limits struct {
	concurrent int
	late       time.Duration
	isLate     bool
}

// check refuses flags that mean nothing.
func (o forecastOptions) check() (l limits, err error) {
	switch {
	case o.limited && o.maxConcurrent < 1:
		return l, usage("say how many runs may be at once: --max-concurrent 20", "--max-concurrent %d is no limit", o.maxConcurrent)
	case o.servers < 1 || o.servers > 100:
		return l, usage("write a number from 1 to 100", "--servers %d makes no sense", o.servers)
	case o.suggest && (o.json || o.svg != "" || o.compare != "" || o.limited || o.maxLate != ""):
		return l, usage("ask for the suggestion alone: it is a diff", "--suggest does not go with --json, --svg, --compare or limits")
	case o.slots && (o.suggest || o.svg != "" || o.compare != "" || o.limited || o.maxLate != ""):
		return l, usage("ask for them alone, or as --slots --json", "--slots does not go with --suggest, --svg, --compare or limits")
	case o.compare != "" && o.svg != "":
		return l, usage("draw the other schedule with `sched forecast -c "+o.compare+" --svg "+o.svg+"`", "--svg does not go with --compare")
	}
	l.concurrent = o.maxConcurrent
	if o.maxLate != "" {
		l.isLate = true
		if l.late, err = document.ParseDuration(o.maxLate); err != nil || l.late < 0 {
			return l, usage("write it as 90s or 5m", "--max-late %q is not a duration", o.maxLate)
		}
	}
	return l, nil
}

// exceeded is an error with exit code 1 where the forecast does not keep to the limits.
func (l limits) exceeded(zone *time.Location, f *forecast.Forecast) error {
	if peak := f.Peak; l.concurrent > 0 && peak.Most > int64(l.concurrent) {
		return failed("`sched forecast --suggest` looks for minutes that spread the load", "%d runs at once on %s, and --max-concurrent is %d",
			peak.Most, report.DayAndTime(peak.At, zone), l.concurrent)
	}
	worst := f.Worst()
	if l.isLate && worst.Task != nil && worst.Late() > l.late {
		return failed("move it to another time, or run what it waits for in the background", "%s starts %s late on %s, and --max-late is %s",
			worst.Task.Name, text.Duration(worst.Late()), report.DayAndTime(worst.At, zone), text.Duration(l.late))
	}
	return nil
}

// writePicture writes the heatmap as SVG.
func (a forecastCommand) writePicture(path string, r report.Report) error {
	title := fmt.Sprintf("%s, from %s to %s", filepath.Base(r.Schedule.File), report.DayAndTime(r.From, r.Schedule.Location), report.DayAndTime(r.To, r.Schedule.Location))
	if err := os.WriteFile(path, []byte(r.Usual.SVG(title)), 0o644); err != nil {
		return usage("name a file in a folder that you can write", "the picture cannot be written: %w", err)
	}
	return nil
}
