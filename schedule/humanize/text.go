// Package humanize writes times, durations, counts and foreign text for people, each in one way.
//
// All functions are pure and safe for concurrent use: none reads a clock, the environment or the
// locale. Times are written in the zone that the caller names. Terminals are for cmd/terminal.
package humanize

import (
	"fmt"
	"strings"
)

// Count writes a number with its noun, which takes an s in the plural: "1 slot", "0 slots", "12
// slots".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Names lists the first names: "a, b, c and 4 more".
func Names(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Bytes writes a size of memory or of a file in units of 1,024 (IEC 80000-13): "512 KiB", "41 MiB",
// "1.5 GiB".
func Bytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
}

// ShortRun is the last 12 characters of a run's id, which people see and commands accept. They
// differ between runs of one second. A text that is no id stays as it is.
func ShortRun(id string) string {
	const long, short = 36, 12
	if len(id) != long {
		return id
	}
	return id[long-short:]
}
