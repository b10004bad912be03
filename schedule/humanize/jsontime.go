package humanize

import (
	"encoding/json"
	"time"
)

// A JSONTime is a time as programs get it: RFC 3339 in its own zone, to the second. The zero time
// is an empty text; a nil pointer is null.
type JSONTime struct{ time.Time }

// UTC returns a time as most answers have it.
func UTC(t time.Time) JSONTime { return JSONTime{t.UTC()} }

// UTCOrNil is UTC, and nil for the zero time.
func UTCOrNil(t time.Time) *JSONTime {
	if t.IsZero() {
		return nil
	}
	return new(UTC(t))
}

// String returns the text of the JSON.
func (t JSONTime) String() string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// MarshalJSON writes the text.
func (t JSONTime) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }
