package cron

import "fmt"

// An Error says what is wrong with a cron expression or with the words of every:.
//
// Text quotes the wrong part and not the whole: the caller knows the whole and where it stands.
// Hint says what to write instead, and is empty where that cannot be known.
type Error struct {
	Text, Hint string

	unknown, meant string // a word of every: that is none, and what was probably meant; empty for other errors
}

// Error returns the text without the hint.
func (e *Error) Error() string { return e.Text }

// wrong returns an Error without a hint.
func wrong(format string, args ...any) *Error {
	return &Error{Text: fmt.Sprintf(format, args...)}
}

// hint sets what to write instead, and returns e.
func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}
