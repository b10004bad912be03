// Package dialect says what an expression for the times of a job means to other programs: when each
// would start it, and which line of a schedule.yaml means the same.
//
// A Dialect is data: the grammar of its fields, and rules for days, for the changes of the clocks
// and for what it refuses. TestEvidence compares the readings with results of the real programs.
// The package is pure: it reads no clock and no file but the zones that expressions name.
package dialect

import (
	"errors"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/machine/oncalendar"
)

// maxLength is how long an expression may be.
const maxLength = 1000

// A Dialect is how one program reads an expression.
type Dialect struct {
	Name    string // by which people ask for it: "quartz"
	Program string // the program and its version
	Users   string // what else reads expressions so; may be empty

	otherNames string // by which people may ask, too
	rules      rules
}

// Parse reads an expression as the program does. zone is for expressions that name no zone; nil is
// UTC.
// An error says why the program refuses the expression. Texts of errors and of a Reading can be
// printed: control characters are refused.
func (d *Dialect) Parse(expr string, zone *time.Location) (*Reading, error) {
	r := &Reading{Text: strings.TrimSpace(strings.ReplaceAll(expr, "\t", " ")), Location: zone, rules: &d.rules}
	if zone == nil {
		r.Location, r.named = time.UTC, d.rules.inUTC || d.rules.onlyUTC
	}
	switch {
	case r.Text == "":
		return nil, errors.New("it is empty")
	case len(r.Text) > maxLength:
		return nil, errors.New("it is too long")
	case humanize.Line(r.Text) != r.Text:
		return nil, errors.New("it has control characters")
	}
	if d.rules.calendar {
		text := r.Text
		if d.rules.read != nil {
			var err error
			if text, err = d.rules.read(text); err != nil {
				return nil, err
			}
			r.Notes = append(r.Notes, "it becomes OnCalendar="+text)
		}
		spec, err := oncalendar.Parse(text, r.Location)
		r.spec = &spec
		if zone, zoneErr := time.LoadLocation(spec.Zone()); spec.Zone() != "" && zoneErr == nil {
			r.Location = zone
		}
		return r, err
	}
	if err := parse(r, r.Text); err != nil {
		return nil, err
	}
	return r, nil
}

// Zone returns the zone for Parse: the one that people ask for, and else the one of the machine. It
// returns nil for a program that means UTC, whatever the machine has.
func (d *Dialect) Zone(given, machine *time.Location) *time.Location {
	switch {
	case d.rules.onlyUTC, given == nil && d.rules.inUTC:
		return nil
	case given != nil:
		return given
	}
	return machine
}
