package frequency

import "fmt"

// An Error says what is wrong with the words of a frequency, or with a cron expression.
//
// Text quotes the wrong part and not the whole: the caller knows the whole and where it stands.
// Hint says what to write instead, and is empty where that cannot be known.
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

// An unknownError is about a word that is none of a frequency. Parse replaces its hint by the whole phrase, where that
// is one with the word that was meant, and returns the Error in it.
type unknownError struct {
	said        *Error
	word, meant string // neither is empty
}

func (e *unknownError) Error() string { return e.said.Text }
