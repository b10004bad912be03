package view

import (
	"fmt"
	"path/filepath"

	"sched/schedule"
	"sched/schedule/humanize"
)

// An Error says what is wrong with a question or a request, and what to do about it.
type Error struct {
	Kind Kind
	Err  error
	Hint string // may be empty
}

// A Kind says whose fault an Error is.
type Kind int

const (
	NotFound Kind = iota // it does not exist
	Conflict             // it exists, but its state does not allow the request
	Invalid              // the request itself is wrong
	Denied               // it is not allowed
)

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error without its hint.
func (e *Error) Unwrap() error { return e.Err }

// Fail returns an error of that kind, with a hint that may be empty.
func Fail(kind Kind, hint, format string, args ...any) error {
	return &Error{kind, fmt.Errorf(format, args...), hint}
}

// FindTask returns the task of that name, or an error that names the nearest.
func FindTask(s *schedule.Schedule, name string) (*schedule.Task, error) {
	for _, t := range s.Tasks {
		if t.Name == name {
			return t, nil
		}
	}
	return nil, Fail(NotFound, DidYouMean(name, TaskNames(s)), "there is no task %q in %s", name, filepath.Base(s.File))
}

// TaskNames returns the names of the tasks, in file order.
func TaskNames(s *schedule.Schedule) []string {
	names := make([]string, len(s.Tasks))
	for i, t := range s.Tasks {
		names[i] = t.Name
	}
	return names
}

// DidYouMean is the hint for a name that does not exist: the nearest name that does.
func DidYouMean(name string, names []string) string {
	if near := humanize.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "see `sched list`"
}
