package schedule

import (
	"fmt"
	"strings"
)

// A Problem is something in the file that is wrong (then the schedule is invalid), or that is
// allowed and probably not meant (then it is one of Schedule.Warnings).
type Problem struct {
	Place Place
	Task  string // the task it concerns; empty where it concerns none, or where that one has no name
	Text  string // what is wrong: lower case, no full stop
	Hint  string // what to do about it; may be empty
}

// String returns the problem as people read it: one line, and a line for the hint where there is one.
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

// String returns file:line:column, or the file alone where the problem is the whole file.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// An InvalidError holds every problem of a schedule: those of the main file first, then those of
// its includes in their order, each file's from top to bottom.
type InvalidError struct {
	Problems []Problem // at least one
	StateDir string    // of the schedule, as far as the file still says; it may hold the last valid one
	cause    error     // of a file that could not be read
}

// Error returns the problems, each on lines of its own.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns why a file could not be read, so that errors.Is knows fs.ErrNotExist.
func (e *InvalidError) Unwrap() error { return e.cause }
