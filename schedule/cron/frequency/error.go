package frequency

import "fmt"

// An Error says what is wrong with a frequency or a cron expression. Text quotes the wrong part
// alone. Hint says what to write instead; it may be empty.
type Error struct{ Text, Hint string }

// Error returns the text without the hint.
func (e *Error) Error() string { return e.Text }

// Wrong returns an Error without a hint.
func Wrong(format string, args ...any) *Error {
	return &Error{Text: fmt.Sprintf(format, args...)}
}

// SetHint sets what to write instead, and returns e.
func (e *Error) SetHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// An unknownError is about an unknown word. Parse replaces its hint by the whole phrase if it can.
type unknownError struct {
	said        *Error
	word, meant string // neither is empty
}

func (e *unknownError) Error() string { return e.said.Text }
