package web

import (
	"net/url"
	"time"

	"sched/schedule"
)

// A button opens a dialog that says what will happen, and sends a form.
type button struct {
	ID, Label string
	Effect    string     // what will happen
	Path      string     // to which the form is sent
	Ends      []pauseEnd // of a pause, for a field that asks until when; nil for no field
	Params    []paramField
	Tag       string // the ETag of what was seen; "" for none
	Grave     bool   // the button is red
}

// A paramField is a field for a param of one more run of a task.
type paramField struct {
	Name, Target string
	Means        string   // what it may be
	Values       []string // the choices; empty for any text
	Value        string   // what it is unless somebody changes it
	Has          bool     // there is such a value
	Before       string   // the value that a run has if nobody changes it
	HasBefore    bool     // there is such a value
	Wrong        string   // why the value was refused; "" if it was not
}

// paramFields are the fields for the params of one more run of a task. The target is the task, or
// the run whose values a retry keeps.
func paramFields(t *schedule.Task, target string, given map[string]string) (fields []paramField) {
	for _, p := range t.Params {
		value, has := given[p.Name]
		if !has && p.Default != nil {
			value, has = *p.Default, true
		}
		fields = append(fields, paramField{Name: p.Name, Target: target, Means: p.String(), Values: p.Values,
			Value: value, Has: has, Before: value, HasBefore: has})
	}
	return fields
}

// typedFields are the fields of paramFields as somebody has sent them, with what is wrong in them.
func typedFields(t *schedule.Task, target string, given map[string]string, form url.Values) []paramField {
	fields := paramFields(t, target, given)
	for i, f := range fields {
		if typed, has := form["param "+target+" "+f.Name]; has {
			fields[i].Value, fields[i].Has, fields[i].Wrong = typed[0], true, t.Param(f.Name).Refuses(typed[0])
		} else if !f.Has {
			fields[i].Wrong = "it needs a value"
		}
	}
	return fields
}

// A pauseEnd is a choice of when a pause ends. Its value is a number of seconds, a time, or "" for
// the end that somebody brings about.
type pauseEnd struct{ Value, Label string }

// pauseEnds are the choices of when a pause ends, in the zone of the page. A time is sent as it is
// shown, so a page that was left open for a night ends no pause a day later.
func pauseEnds(p *page) []pauseEnd {
	ends := []pauseEnd{{"3600", "for an hour"}, {"14400", "for 4 hours"}}
	now := p.now.In(p.zones.zone)
	add := func(days, hour int, label string) {
		at := time.Date(now.Year(), now.Month(), now.Day()+days, hour, 0, 0, 0, p.zones.zone)
		ends = append(ends, pauseEnd{at.Format(time.RFC3339), "until " + label + at.Format(" 15:04 (Jan 2)")})
	}
	add(1, 0, "tomorrow")
	add(1, 9, "tomorrow")
	if days := (int(time.Monday-now.Weekday())+6)%7 + 1; days > 1 {
		add(days, 9, "Monday")
	}
	return append(ends, pauseEnd{"604800", "for a week"}, pauseEnd{"", "until somebody resumes it"})
}
