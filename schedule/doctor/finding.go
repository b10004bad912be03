package doctor

import (
	"fmt"
	"slices"
)

// A Level is how bad a result is.
type Level string

// The levels, from good to bad.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Bad     Level = "problem"
)

// A Result is what a check found.
type Result struct {
	Check string `json:"check"`
	Level Level  `json:"result"`
	Text  string `json:"text"`
	Hint  string `json:"hint"` // may be empty

	OfHost bool `json:"-"` // only the host of this container can mend it: Worst leaves it out
}

// findings lack the names of their checks.
type findings []Result

func (f *findings) add(level Level, hint, format string, args ...any) {
	*f = append(*f, Result{Level: level, Text: fmt.Sprintf(format, args...), Hint: hint})
}

// orFine returns the findings. Without findings it returns one that says what is fine.
func (f findings) orFine(format string, args ...any) findings {
	if len(f) > 0 {
		return f
	}
	return fine(format, args...)
}

// finding returns a single finding.
func finding(level Level, hint, format string, args ...any) (f findings) {
	f.add(level, hint, format, args...)
	return f
}

// fine returns a finding that says what is fine.
func fine(format string, args ...any) findings { return finding(OK, "", format, args...) }

// Worst returns the worst level of the results, without results of the host.
func Worst(results []Result) Level {
	for _, level := range []Level{Bad, Warning} {
		if slices.ContainsFunc(results, func(r Result) bool { return r.Level == level && !r.OfHost }) {
			return level
		}
	}
	return OK
}
