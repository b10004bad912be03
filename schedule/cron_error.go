package schedule

import "fmt"

// A WhenError says what is wrong with a cron expression or with the words of every:.
//
// Text quotes the wrong part and not the whole; the caller knows the rest and where it stands.
// Hint says what to write instead; it is empty where nobody can know.
type WhenError struct {
	Text, Hint string
}

func (e *WhenError) Error() string { return e.Text }

// wrong returns a WhenError without a hint.
func wrong(format string, args ...any) *WhenError {
	return &WhenError{Text: fmt.Sprintf(format, args...)}
}

// hint adds what to do about it.
func (e *WhenError) hint(format string, args ...any) *WhenError {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}
