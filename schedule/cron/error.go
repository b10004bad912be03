package cron

import "fmt"

// A Error says what is wrong with a cron expression or with the words of every:.
//
// Text quotes the wrong part and not the whole; the caller knows the rest and where it stands.
// Hint says what to write instead; it is empty where nobody can know.
type Error struct {
	Text, Hint string
}

func (e *Error) Error() string { return e.Text }

// wrong returns a WhenError without a hint.
func wrong(format string, args ...any) *Error {
	return &Error{Text: fmt.Sprintf(format, args...)}
}

// hint adds what to do about it.
func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}
