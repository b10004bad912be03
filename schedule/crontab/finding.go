package crontab

import "fmt"

// A Finding is something to know about a line of a crontab.
type Finding struct {
	File string
	Line int
	Text string
	Hint string // what to do; may be empty
	Left bool   // the line is not in the schedule
}

// String puts the hint on a line of its own.
func (f Finding) String() string {
	text := fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text)
	if f.Hint != "" {
		text += "\n  hint: " + f.Hint
	}
	return text
}
