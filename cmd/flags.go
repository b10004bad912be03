package cmd

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/text"
)

// unlimited is the most arguments of a command that takes any number.
const unlimited = math.MaxInt

// arguments checks that a command gets from least to most arguments, none of them empty.
func arguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if slices.Contains(args, "") {
			return usage(seeHelp(c), "an argument of %s is empty", c.Name())
		}
		if least <= len(args) && len(args) <= most {
			return nil
		}
		takes := text.Count(most, "argument")
		switch {
		case most == unlimited:
			takes = "at least " + text.Count(least, "argument")
		case most == 0:
			return usage(seeHelp(c), "%s takes no arguments", c.Name())
		case least == 0:
			takes = "at most " + takes
		case least < most:
			takes = fmt.Sprintf("%d or %s", least, takes)
		}
		return usage(seeHelp(c), "%s takes %s: sched %s", c.Name(), takes, c.Use)
	}
}

// noEmptyFlag refuses a flag that is given without a value, as with --only "$TASK" where the variable is not set: it would
// mean every task.
func noEmptyFlag(c *cobra.Command) error {
	for _, name := range []string{"at", "in", "only", "run", "since", "until", "outcome", "prometheus", "for", "tag"} {
		if f := c.Flags().Lookup(name); f != nil && f.Changed && (f.Value.String() == "" || f.Value.String() == "[]") {
			return usage(seeHelp(c), "--%s is empty", name)
		}
	}
	return nil
}

// seeHelp is the hint for wrong usage of a command.
func seeHelp(c *cobra.Command) string { return "see `" + c.CommandPath() + " --help`" }

func tagFlag(c *cobra.Command, tags *[]string) {
	c.Flags().StringSliceVar(tags, "tag", nil, "the tasks that have one of these tags now")
}

// wallLayouts are the forms in which people write a time on the wall clock of the schedule.
var wallLayouts = []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"}

// parseAt reads --at as parseTime does. Without one it is now.
func (a *app) parseAt(text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return a.now(), nil
	}
	return a.parseTime("at", text, zone)
}

// parseTime reads the time of a flag: RFC 3339, or a wall clock in the zone. For one that the clocks skip it prints
// which time it takes.
func (a *app) parseTime(flag, text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range wallLayouts {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			if t.Format(layout) != text {
				a.problem("the clocks skip %s in %s; it is taken as %s", text, zone, t.Format("15:04"))
			}
			return t, nil
		}
	}
	return time.Time{}, usage("write it as 2006-01-02 15:04, or as 2006-01-02T15:04:05Z", "--%s %q is not a time", flag, text)
}

// parseMinute reads --at as parseAt does, but takes a time that the clocks skip for the first minute after the gap, when
// jobs with that time are due; clock then says so, and is empty otherwise.
func (a *app) parseMinute(text string, zone *time.Location) (at time.Time, clock string, err error) {
	for _, layout := range wallLayouts {
		wall, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		at, skipped := cron.WallClock(wall, zone)
		if skipped {
			clock = fmt.Sprintf("%s did not exist on this day in %s: this is the end of the gap", wall.Format("15:04"), zone)
		}
		return at, clock, nil
	}
	at, err = a.parseAt(text, zone)
	return at, "", err
}

// parsePast reads the value of a flag that is a time, or how long ago that was. It is the zero time for an empty one.
func (a *app) parsePast(flag, text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := schedule.ParseDuration(text); err == nil {
		return a.now().Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usage("write it as 90m, 7d, 2006-01-02 or 2006-01-02 15:04", "--%s %q is neither a time nor a duration", flag, text)
}
