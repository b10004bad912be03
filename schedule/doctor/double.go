package doctor

import (
	"path/filepath"
	"strings"
	"time"
)

// A Double is a minute that another tick had covered already when a tick came.
type Double struct {
	Minute time.Time
	By     []string // the processes above the tick that came second
}

// mostDoubles is how many are kept: the newest.
const mostDoubles = 20

func doublePath(dir string) string { return filepath.Join(dir, "double-ticks") }

// KeepDouble writes down that a minute is ticked twice, once for each minute.
func KeepDouble(dir string, minute time.Time) error {
	text, _ := readPlain(doublePath(dir))
	lines := strings.SplitAfter(string(text), "\n")
	lines = lines[:len(lines)-1] // what is left behind the last line break was torn
	at := minute.UTC().Format(time.RFC3339)
	if n := len(lines); n > 0 && strings.HasPrefix(lines[n-1], at) {
		return nil
	}
	by := strings.NewReplacer("\n", " ", " ", "-").Replace(strings.Join(Callers(), "/"))
	lines = append(lines, at+" "+by+"\n")
	return writePlain(doublePath(dir), []byte(strings.Join(lines[max(0, len(lines)-mostDoubles):], "")))
}

// Doubles returns the minutes that were ticked twice last, the oldest first.
func Doubles(dir string) (all []Double) {
	text, _ := readPlain(doublePath(dir))
	for line := range strings.Lines(string(text)) {
		at, by, _ := strings.Cut(strings.TrimSpace(line), " ")
		if minute, err := time.Parse(time.RFC3339, at); err == nil {
			all = append(all, Double{minute, strings.FieldsFunc(by, func(r rune) bool { return r == '/' })})
		}
	}
	return all
}
