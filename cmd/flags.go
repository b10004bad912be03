package cmd

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sched/schedule/cron"
	"sched/schedule/document"
	"sched/schedule/text"
)

const unlimited = math.MaxInt

// arguments checks the number of arguments, and that none is empty.
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
// mean every task. A reason may be empty.
func noEmptyFlag(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Name != "reason" && (f.Value.String() == "" || f.Value.String() == "[]") {
			err = usage(seeHelp(c), "--%s is empty", f.Name)
		}
	})
	return err
}

func seeHelp(c *cobra.Command) string { return "see `" + c.CommandPath() + " --help`" }

func flagHint(c *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return seeHelp(c)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, strings.ReplaceAll(f.Name, "-", "_")) // as Nearest compares
		}
	})
	if near := text.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return "did you mean `--" + strings.ReplaceAll(near, "_", "-") + "`?"
	}
	return seeHelp(c)
}

func tagFlag(c *cobra.Command, tags *[]string) {
	c.Flags().StringSliceVar(tags, "tag", nil, "the tasks that have one of these tags now")
}

// parseAt reads --at as parseTime does; "" is now.
func (c *console) parseAt(text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return c.now(), nil
	}
	return c.parseTime("at", text, zone)
}

// parseTime reads the time of a flag, see readTime. It prints the time used for a skipped one.
func (c *console) parseTime(flag, text string, zone *time.Location) (time.Time, error) {
	at, skipped, ok := readTime(text, c.now(), zone)
	if !ok {
		return time.Time{}, usage("write it as 2006-01-02 15:04, 14:30, tomorrow 9:00, or 2006-01-02T15:04:05Z", "--%s %q is not a time", flag, text)
	}
	if skipped != "" {
		c.problem("the clocks skip %s in %s; it is taken as %s", text, zone, at.Format("15:04"))
	}
	return at, nil
}

// parseMinute is parseAt for `sched why`. Its clock notes a time that the clocks skip.
func (c *console) parseMinute(text string, zone *time.Location) (at time.Time, clock string, err error) {
	if at, skipped, ok := readTime(text, c.now(), zone); ok {
		if skipped != "" {
			clock = fmt.Sprintf("%s did not exist on this day in %s: this is the end of the gap", skipped, zone)
		}
		return at, clock, nil
	}
	at, err = c.parseAt(text, zone)
	return at, "", err
}

// parsePast reads a time, or how long ago it was. It returns the zero time for "".
func (c *console) parsePast(flag, text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := document.ParseDuration(text); err == nil {
		return c.now().Add(-ago), nil
	}
	if _, _, ok := readTime(text, c.now(), zone); ok {
		return c.parseTime(flag, text, zone)
	}
	return time.Time{}, usage("write it as 90m, 7d, 14:30, 2006-01-02 or 2006-01-02 15:04", "--%s %q is neither a time nor a duration", flag, text)
}

var days = map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}

// readTime reads RFC 3339, or on the wall clock of the zone 2006-01-02 15:04[:05], with a T for the
// blank, 15:04[:05] of today, "tomorrow 9:00", or a date or such a word alone. A time that the
// clocks show twice is the first one; RFC 3339 can say the second. A time that they skip stands for
// the end of the gap, when such jobs are due, and is returned in skipped.
func readTime(text string, now time.Time, zone *time.Location) (at time.Time, skipped string, ok bool) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, "", true
	}
	day, clock, both := strings.Cut(strings.ToLower(strings.Join(strings.Fields(text), " ")), " ")
	if offset, isWord := days[day]; isWord {
		day = now.In(zone).AddDate(0, 0, offset).Format(time.DateOnly)
	} else if !both && strings.Contains(day, ":") && !strings.Contains(day, "t") {
		day, clock, both = now.In(zone).Format(time.DateOnly), day, true
	}
	if !both {
		clock = "0:00"
		if date, time, isTime := strings.Cut(day, "t"); isTime {
			day, clock = date, time
		}
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if wall, err := time.Parse(layout, day+" "+clock); err == nil {
			at, gap := cron.WallClock(wall, zone)
			if gap {
				skipped = wall.Format("15:04")
			}
			return at, skipped, true
		}
	}
	return time.Time{}, "", false
}
