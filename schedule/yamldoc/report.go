package yamldoc

import (
	"cmp"
	"fmt"
	"slices"
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

// A Report collects what is wrong with files, and what is allowed and probably not meant.
//
// The exported fields say which part of the files the next problem concerns.
type Report struct {
	File    string // that is being read, as its Source is named
	Task    string // the entry that is being read; empty for none, or for one without a name
	Section string // begins each message: `defaults: `, `group "x": ` or nothing

	// Lines has the files whose text was made of another one. For each line of the text, the first
	// at 0, it has the line's place in the file.
	Lines map[string][]Place

	sources  []*Source // in the order in which they were read
	problems []Problem
	warnings []Problem
	dropped  int   // problems past MostProblems
	cause    error // of the first file that could not be read
}

// MostProblems is how many problems a Report keeps: it bounds what cron may have to mail every
// minute.
const MostProblems = 1000

// Problems returns all that is wrong, by file, from top to bottom. If there are more than
// MostProblems, a last problem counts the rest. cause is the error of the first file that could not
// be read, or nil.
func (r *Report) Problems() (problems []Problem, cause error) {
	problems = r.inOrder(r.problems)
	if r.dropped > 0 {
		problems = append(problems, Problem{
			Place: Place{File: r.sources[0].Name},
			Text:  fmt.Sprintf("%d more problems are not shown", r.dropped),
		})
	}
	return problems, r.cause
}

// Warnings returns what is allowed and probably not meant, in the order of Problems.
func (r *Report) Warnings() []Problem { return r.inOrder(r.warnings) }

// ProblemCount returns how many problems were found so far, including those that are not kept.
func (r *Report) ProblemCount() int { return len(r.problems) + r.dropped }

// PlaceOf returns where in the current file n stands.
func (r *Report) PlaceOf(n *Node) Place {
	at := Place{r.File, n.Line, n.Column}
	if lines := r.Lines[r.File]; 0 < at.Line && at.Line <= len(lines) {
		at.Line, at.Column = lines[at.Line-1].Line, lines[at.Line-1].Column
	}
	return at
}

// Problemf records that something is wrong at n. The hint may be empty.
func (r *Report) Problemf(n *Node, hint, format string, args ...any) {
	r.ProblemAt(r.PlaceOf(n), hint, format, args...)
}

// ProblemAt is Problemf for a place without a node.
func (r *Report) ProblemAt(at Place, hint, format string, args ...any) {
	if len(r.problems) == MostProblems {
		r.dropped++
		return
	}
	r.problems = append(r.problems, r.problem(at, hint, format, args...))
}

// Warnf records that something at n is allowed and probably not meant.
func (r *Report) Warnf(n *Node, hint, format string, args ...any) {
	r.warnings = append(r.warnings, r.problem(r.PlaceOf(n), hint, format, args...))
}

// WarnAt is Warnf for an entry that was read before.
func (r *Report) WarnAt(at Place, task, hint, format string, args ...any) {
	r.warnings = append(r.warnings, Problem{Place: at, Task: task, Text: fmt.Sprintf(format, args...), Hint: hint})
}

func (r *Report) problem(at Place, hint, format string, args ...any) Problem {
	return Problem{Place: at, Task: r.Task, Text: r.Section + fmt.Sprintf(format, args...), Hint: hint}
}

func (r *Report) inOrder(problems []Problem) []Problem {
	order := make(map[string]int, len(r.sources))
	for i, src := range r.sources {
		order[src.Name] = i
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(order[a.Place.File]-order[b.Place.File], a.Place.Line-b.Place.Line, a.Place.Column-b.Place.Column)
	})
	return problems
}

// Sources returns the files in the order in which they were read.
func (r *Report) Sources() []*Source { return r.sources }
