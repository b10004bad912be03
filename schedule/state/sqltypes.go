package state

import (
	"database/sql"
	"encoding/json"
	"math"
	"time"
)

// packTime returns the microseconds of a time, and NULL for the zero time.
func packTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// orNull returns a value, and NULL for the zero value.
func orNull[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}

// packJSON returns the JSON of a value that can be JSON, and NULL for a value that is nil or empty.
func packJSON(value any) any {
	text, _ := json.Marshal(value)
	switch string(text) {
	case "null", "[]", "{}":
		return nil
	}
	return string(text)
}

// A target says where sql.Rows.Scan puts a column whose Go type is not its type in SQL.
type target func(column any) error

// Scan makes a target a sql.Scanner.
func (t target) Scan(column any) error { return t(column) }

// asTime reads microseconds since 1970, and NULL as the zero time.
func asTime(t *time.Time) target {
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

// asDuration reads microseconds.
func asDuration(d *time.Duration) target {
	return func(column any) error {
		var n sql.NullInt64
		err := n.Scan(column)
		*d = micros(n.Int64)
		return err
	}
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// asJSON reads JSON into the value behind a pointer, and leaves that value as it is for NULL.
func asJSON(value any) target {
	return func(column any) error {
		var text sql.NullString
		if err := text.Scan(column); err != nil || !text.Valid {
			return err
		}
		return json.Unmarshal([]byte(text.String), value)
	}
}

// orZero reads a column that may be NULL, which is the zero value.
func orZero[T any](value *T) target {
	return func(column any) error {
		var v sql.Null[T]
		err := v.Scan(column)
		*value = v.V
		return err
	}
}

// jsonTexts returns texts as a list that json_each reads.
func jsonTexts[T ~string](all []T) string {
	if len(all) == 0 {
		return "[]" // null would be a value
	}
	text, _ := json.Marshal(all) // of texts
	return string(text)
}

func sinceMicro(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return ceilMicro(t)
}

func untilMicro(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return ceilMicro(t)
}

// ceilMicro returns the first microsecond that is not before t.
func ceilMicro(t time.Time) int64 { return t.Add(time.Microsecond - time.Nanosecond).UnixMicro() }
