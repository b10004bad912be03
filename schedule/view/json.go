package view

import (
	"bytes"
	"encoding/json"
	"time"
)

// JSON is a value as --json prints it and the API answers it: indented, since people read it, too, with a line break at its end.
func JSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return append(indented(bytes.TrimSuffix(text.Bytes(), []byte("\n"))), '\n'), nil
}

// indented is json.Indent for what an Encoder has written. It trusts that this is JSON without blanks, so a list of a thousand tasks takes
// a quarter of the time.
func indented(compact []byte) []byte {
	out := make([]byte, 0, 2*len(compact))
	line := func(depth int) {
		out = append(out, '\n')
		for range depth {
			out = append(out, ' ', ' ')
		}
	}
	depth := 0
	for i := 0; i < len(compact); i++ {
		switch c := compact[i]; c {
		case '"':
			end := i + 1
			for ; compact[end] != '"'; end++ {
				if compact[end] == '\\' {
					end++
				}
			}
			out = append(out, compact[i:end+1]...)
			i = end
		case '{', '[':
			out = append(out, c)
			if compact[i+1] != c+2 { // } and ] are two behind { and [
				depth++
				line(depth)
			}
		case '}', ']':
			if compact[i-1] != c-2 {
				depth--
				line(depth)
			}
			out = append(out, c)
		case ',':
			out = append(out, c)
			line(depth)
		case ':':
			out = append(out, ':', ' ')
		default:
			out = append(out, c)
		}
	}
	return out
}

// timeText is a time as the objects have it: RFC 3339 in UTC.
func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// TimeOrNil is timeText, and nil for the zero time.
func TimeOrNil(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := timeText(t)
	return &text
}
