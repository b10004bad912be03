package cmd

import (
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/document"
	"sched/schedule/forecast"
	"sched/schedule/forecast/report"
	"sched/schedule/view"
)

// longestSlots is for how long each slot has a line.
const longestSlots = 24 * time.Hour

// inputs reads what a forecast of the schedule goes by.
func (a forecastCommand) inputs(s *schedule.Schedule, o forecastOptions) (*report.Inputs, error) {
	from := a.now()
	if o.from != "" {
		var err error
		if from, err = a.parseTime("from", o.from, s.Location); err != nil {
			return nil, err
		}
	}
	return a.inputsFrom(s, from, o)
}

// inputsFrom is inputs from a time on.
func (a forecastCommand) inputsFrom(s *schedule.Schedule, from time.Time, o forecastOptions) (*report.Inputs, error) {
	if o.servers > 1 && len(s.Store.Servers) == 0 {
		return nil, usage("each of them does all of it: forecast one, or give the schedule a store",
			"--servers %d: servers without a store know nothing of each other", o.servers)
	}
	span, err := document.ParseDuration(o.span)
	if err != nil {
		return nil, usage("write it as 12h or 7d", "%q is not a duration", o.span)
	}
	if err := report.CheckSpan(from, span); err != nil {
		return nil, err
	}
	if o.slots && span > longestSlots {
		return nil, usage("ask for 24h, or leave --slots out", "%s is too long for a line a slot", o.span)
	}
	in := report.Read(ctx, a.view(s), forecast.Input{Schedule: s, From: from, To: from.Add(span), Servers: o.servers}, o.slow)
	assume, err := assumptions(s, o)
	if err != nil {
		return nil, err
	}
	in.Assume(assume)
	return in, nil
}

// assumptions reads the values of --assume. With --compare a task may be one of the other schedule.
func assumptions(s *schedule.Schedule, o forecastOptions) (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	for _, one := range o.assume {
		name, value, ok := strings.Cut(one, "=")
		d, err := document.ParseDuration(value)
		switch {
		case !ok || name == "":
			return nil, usage("write it as --assume task=20m", "--assume %q is not a task and a duration", one)
		case err != nil || d < 0:
			return nil, usage("write it as --assume "+name+"=20m", "--assume %s: %q is not a duration", one, value)
		}
		if _, err := view.FindTask(s, name); err != nil && o.compare == "" {
			return nil, err
		}
		all[name] = d
	}
	return all, nil
}
