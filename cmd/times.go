package cmd

import (
	"os"
	"strings"
	"sync"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

// timeForms lists for the help how a time can be written.
const timeForms = "14:30, tomorrow 9:00, 2006-01-02 15:04, 2h ago, in 2h, or as sched prints it"

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
		return time.Time{}, notATime(flag, text)
	}
	c.saySkipped(text, skipped, at, zone)
	return at, nil
}

// notATime is the error for a flag whose value is no time.
func notATime(flag, text string) error {
	return usage("write it as "+timeForms, "--%s %q is not a time", flag, text)
}

// saySkipped says which time is taken for a skipped one: the clocks skip times when summer time
// begins. It says nothing if skipped is empty.
func (c *console) saySkipped(text, skipped string, at time.Time, zone *time.Location) {
	if skipped != "" {
		c.problem("the clocks skip %s in %s; it is taken as %s", text, zone, at.Format("15:04"))
	}
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

// parsePast reads a time, or a duration before now. It returns the zero time for "".
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

// parseRequestTime reads --in and --at. Without both it returns the present time.
func (c *console) parseRequestTime(o requestOptions, zone *time.Location) (time.Time, error) {
	if err := o.check(); err != nil {
		return time.Time{}, err
	}
	now := c.now()
	at := now
	switch {
	case o.in != "":
		wait, err := yamldoc.ParseDuration(o.in)
		if err != nil || wait <= 0 {
			return at, usage("write it as 90s, 10m, 2h or 1d", "--in %q is not a time to wait", o.in)
		}
		at = now.Add(wait)
	case o.at != "":
		var err error
		if at, err = c.parseTime("at", o.at, zone); err != nil {
			return at, err
		}
		if !at.After(now) {
			return at, usage("leave --at out to run it now",
				"--at %q is in the past: it is %s", o.at, humanize.MinuteZone(now, zone))
		}
	}
	return at.UTC().Round(0).Truncate(time.Microsecond), nil // the precision of the history
}

// minuteText writes a time to the minute with its zone, and with its date unless that is today.
func (c *console) minuteText(t time.Time, zone *time.Location) string {
	return humanize.MinuteNear(t, c.now(), zone)
}

// ago writes how long ago a time was. It is 0 for a time in the future: the clock of another server
// may be ahead.
func (c *console) ago(t time.Time) string { return humanize.Age(t, c.now()) }

// localZone is the zone under its IANA name, which time.Local lacks, from $TZ or /etc/localtime.
var localZone = sync.OnceValue(readLocalZone)

func readLocalZone() *time.Location {
	name, set := os.LookupEnv("TZ")
	name = strings.TrimPrefix(name, ":")
	if !set {
		link, _ := os.Readlink("/etc/localtime")
		_, name, _ = strings.Cut(link, "zoneinfo/")
	}
	if zone, err := time.LoadLocation(name); err == nil && name != "" {
		return zone
	}
	return time.Local
}
