package doctor

import (
	"encoding/json"
	"path/filepath"
	"time"
)

// A Double is a minute that another tick had covered already when a tick came.
type Double struct {
	Minute time.Time `json:"minute"`
	By     []string  `json:"by"` // the processes above the tick that came second
}

// mostDoubles is how many are kept: the newest.
const mostDoubles = 20

func doublePath(dir string) string { return filepath.Join(dir, "double-ticks") }

// KeepDouble writes down that a minute is ticked twice.
func KeepDouble(dir string, minute time.Time) error {
	all := append(Doubles(dir), Double{minute.UTC(), Callers()})
	text, err := json.Marshal(all[max(0, len(all)-mostDoubles):])
	if err != nil {
		return err
	}
	return writePlain(doublePath(dir), text)
}

// Doubles returns the minutes that were ticked twice last, the oldest first.
func Doubles(dir string) (all []Double) {
	if text, err := readPlain(doublePath(dir)); err == nil {
		json.Unmarshal(text, &all)
	}
	return all
}
