// Package sqltype converts Go values to the columns of sched.db, and back: times and durations are
// microseconds, zero values are NULL, and lists are JSON.
package sqltype

import (
	"database/sql"
	"encoding/json"
	"math"
	"time"
)

// PackTime returns the microseconds of a time, and NULL for the zero time.
func PackTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// OrNull returns a value, and NULL for the zero value.
func OrNull[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}

// PackJSON returns the JSON of a value that can be JSON, and NULL for a value that is nil or empty.
func PackJSON(value any) any {
	text, _ := json.Marshal(value)
	switch string(text) {
	case "null", "[]", "{}":
		return nil
	}
	return string(text)
}

// A Target says where sql.Rows.Scan puts a column whose Go type is not its type in SQL.
type Target func(column any) error

// Scan makes a Target a sql.Scanner.
func (t Target) Scan(column any) error { return t(column) }

// Time reads microseconds since 1970, and NULL as the zero time.
func Time(t *time.Time) Target {
	return func(column any) error {
		var n sql.NullInt64
		err := n.Scan(column)
		*t = time.Time{}
		if n.Valid {
			*t = time.UnixMicro(n.Int64).UTC()
		}
		return err
	}
}

// Duration reads microseconds.
func Duration(d *time.Duration) Target {
	return func(column any) error {
		var n sql.NullInt64
		err := n.Scan(column)
		*d = Micros(n.Int64)
		return err
	}
}

func Micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// JSON reads JSON into the value behind a pointer, and leaves that value as it is for NULL.
func JSON(value any) Target {
	return func(column any) error {
		var text sql.NullString
		if err := text.Scan(column); err != nil || !text.Valid {
			return err
		}
		return json.Unmarshal([]byte(text.String), value)
	}
}

// OrZero reads a column that may be NULL, which is the zero value.
func OrZero[T any](value *T) Target {
	return func(column any) error {
		var v sql.Null[T]
		err := v.Scan(column)
		*value = v.V
		return err
	}
}

// Texts returns texts as a list that json_each reads.
func Texts[T ~string](all []T) string {
	if len(all) == 0 {
		return "[]" // null would be a value
	}
	text, _ := json.Marshal(all) // of texts
	return string(text)
}

func Since(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return Ceil(t)
}

func Until(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return Ceil(t)
}

// Ceil returns the first microsecond that is not before t.
func Ceil(t time.Time) int64 { return t.Add(time.Microsecond - time.Nanosecond).UnixMicro() }
