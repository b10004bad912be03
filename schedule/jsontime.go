package schedule

import "time"

// A JSONTime is a time in objects that programs read: RFC 3339 to the second, in its own zone; null
// for the zero time.
type JSONTime struct{ time.Time }

// UTC returns a time that JSON has in UTC.
func UTC(t time.Time) JSONTime { return JSONTime{t.UTC()} }

func (t JSONTime) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return t.AppendFormat(nil, `"`+time.RFC3339+`"`), nil
}
