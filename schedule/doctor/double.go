package doctor

import (
	"encoding/json"
	"path/filepath"
	"time"

	"sched/schedule/statedir"
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
	all := Doubles(dir)
	if n := len(all); n > 0 && all[n-1].Minute.Equal(minute) {
		return nil
	}
	all = append(all, Double{minute.UTC(), Callers()})
	return write(doublePath(dir), all[max(0, len(all)-mostDoubles):])
}

// Doubles returns the minutes that were ticked twice last, the oldest first.
func Doubles(dir string) (all []Double) {
	if text, err := statedir.ReadFile(doublePath(dir)); err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	return all
}
