package yamldoc

import (
	"cmp"
	"fmt"
	"slices"
)

// A Report collects the problems of files, and warnings about what is allowed but hardly meant.
//
// The exported fields say which part of the files the next problem concerns.
type Report struct {
	File    string // that is being read, as its Source is named
	Task    string // the entry that is being read; empty for none, or for one without a name
	Section string // begins each message: `defaults: `, `group "x": ` or nothing

	sources  []*Source // in the order in which they were read
	problems []Problem
	warnings []Problem
	dropped  int   // problems past MaxProblems
	cause    error // of the first file that could not be read
}

// Problems returns all that is wrong, by file, from top to bottom. If there are more than
// MaxProblems, a last problem counts the rest. cause is the error of the first file that could not
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

// ProblemsFrom returns the problems after the first n. It returns false if there are no such
// problems, or if some of them are not kept.
func (r *Report) ProblemsFrom(n int) (problems []Problem, ok bool) {
	if r.dropped > 0 || n >= len(r.problems) {
		return nil, false
	}
	return r.problems[n:], true
}

// PlaceOf returns where in the current file n stands.
func (r *Report) PlaceOf(n *Node) Place { return Place{r.File, n.Line, n.Column} }

// Problemf records that something is wrong at n. The hint may be empty.
func (r *Report) Problemf(n *Node, hint, format string, args ...any) {
	r.ProblemAt(r.PlaceOf(n), hint, format, args...)
}

// ProblemAt is Problemf for a place without a node.
func (r *Report) ProblemAt(at Place, hint, format string, args ...any) {
	r.add(r.problem(at, hint, format, args...))
}

func (r *Report) add(p Problem) {
	if len(r.problems) == MaxProblems {
		r.dropped++
		return
	}
	r.problems = append(r.problems, p)
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

// MaxProblems is how many problems a Report keeps: it bounds what cron may have to mail every
// minute.
const MaxProblems = 1000
