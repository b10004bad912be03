package cron

import "fmt"

// An Error says what is wrong with a frequency or a cron expression. Text quotes the wrong part
// alone. Hint says what to write instead; it may be empty.
type Error struct{ Text, Hint string }

// Error returns the text without the hint.
func (e *Error) Error() string { return e.Text }

// SetHint sets what to write instead, and returns e.
func (e *Error) SetHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// NewError returns an Error without a hint.
func NewError(format string, args ...any) *Error {
	return &Error{Text: fmt.Sprintf(format, args...)}
}
