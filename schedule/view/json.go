package view

import (
	"bytes"
	"encoding/json"
	"time"
)

// JSON is a value as --json prints it and the API answers it: indented, since people read it, too,
// with a line break at its end.
func JSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return text.Bytes(), err
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// timeOrNil is timeText, and nil for the zero time.
func timeOrNil(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := timeText(t)
	return &text
}
