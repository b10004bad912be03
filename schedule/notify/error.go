package notify

// An Error says why a message was not delivered, or cannot be. Text and Hint are one line each and have no secret
// in them. An Error wraps no other error, since that could have one.
type Error struct {
	Text      string // begins with Target.String
	Hint      string // what to do about it; may be empty
	Permanent bool   // the same attempt would fail again: by what the target is, or by what the other side answered
	// Rest is the target of the next attempt where that is for some addresses of a mail only: the others have
	// got the mail, or will never accept it. Nil: the whole target.
	Rest *Target
}

func (e *Error) Error() string { return e.Text }

// permanent returns an error that another attempt would meet again.
func (t Target) permanent(text, hint string) *Error {
	return &Error{Text: t.String() + ": " + text, Hint: hint, Permanent: true}
}

// temporary returns an error that another attempt may not meet.
func (t Target) temporary(text, hint string) *Error {
	return &Error{Text: t.String() + ": " + text, Hint: hint}
}
