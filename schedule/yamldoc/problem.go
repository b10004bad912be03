package yamldoc

import (
	"fmt"
	"strings"
)

// Place is a position in a file. Lines and columns count from 1; both are 0 for the file as a
// whole.
type Place struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// String returns file:line:column, or the file alone if the place is the whole file.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// A Problem is something in a file that is wrong, or that is allowed and probably not meant.
type Problem struct {
	Place Place
	Task  string // the entry of the file that it concerns; empty if it concerns no entry, or one without a name
	Text  string // what is wrong: lower case, no full stop
	Hint  string // what to do about it; may be empty

	// Lacks names the variable or the file that is not there, of a text that is right otherwise.
	Lacks string

	Variable string // that the text names, and that is not set; empty for any other problem
}

// String returns the problem as people read it: one line, and a second line for the hint, if any.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Place.String() + ": ")
	if p.Task != "" {
		fmt.Fprintf(&b, "task %q: ", p.Task)
	}
	b.WriteString(p.Text)
	if p.Hint != "" {
		b.WriteString("\n  hint: " + p.Hint)
	}
	return b.String()
}
