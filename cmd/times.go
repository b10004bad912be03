package cmd

import (
	"fmt"
	"time"

	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

// parseAt reads --at as parseTime does; "" is now.
func (c *console) parseAt(text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return c.now(), nil
	}
	return c.parseTime("at", text, zone)
}

// parseTime reads the time of a flag, see view.ReadTime. It prints the time used for a skipped one.
func (c *console) parseTime(flag, text string, zone *time.Location) (time.Time, error) {
	at, skipped, ok := view.ReadTime(text, c.now(), zone, c.zones...)
	if !ok {
		return time.Time{}, usage("write it as "+timeForms, "--%s %q is not a time", flag, text)
	}
	c.saySkipped(text, skipped, at, zone)
	return at, nil
}

func (c *console) saySkipped(text, skipped string, at time.Time, zone *time.Location) {
	if skipped != "" {
		c.problem("the clocks skip %s in %s; it is taken as %s", text, zone, at.Format("15:04"))
	}
}

// parseMinute is parseAt for `sched why`. Its clock notes a time that the clocks skip.
func (c *console) parseMinute(text string, zone *time.Location) (at time.Time, clock string, err error) {
	if at, skipped, ok := view.ReadTime(text, c.now(), zone, c.zones...); ok {
		if skipped != "" {
			clock = fmt.Sprintf("%s did not exist on this day in %s: this is the end of the gap", skipped, zone)
		}
		return at, clock, nil
	}
	at, err = c.parseAt(text, zone)
	return at, "", err
}

// parseSpan reads --since and --until. An empty one is the zero time.
func (c *console) parseSpan(since, until string, zone *time.Location) (from, to time.Time, err error) {
	if from, err = c.parsePast("since", since, zone); err != nil {
		return from, to, err
	}
	if to, err = c.parsePast("until", until, zone); err != nil {
		return from, to, err
	}
	if !to.IsZero() && !from.Before(to) {
		return from, to, usage("", "--until %s is not after --since %s", until, since)
	}
	return from, to, nil
}

// parsePast reads a time, or how long ago it was. It returns the zero time for "".
func (c *console) parsePast(flag, text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := yamldoc.ParseDuration(text); err == nil && ago > 0 {
		return c.now().Add(-ago), nil
	}
	if at, skipped, ok := view.ReadPast(text, c.now(), zone, c.zones...); ok {
		c.saySkipped(text, skipped, at, zone)
		return at, nil
	}
	return time.Time{}, usage("write it as 90m, 7d, "+timeForms, "--%s %q is neither a time nor a duration", flag, text)
}

// timeForms are how a time is written, for the help.
const timeForms = "14:30, tomorrow 9:00, 2006-01-02 15:04, 2h ago, in 2h, or as sched prints it"
