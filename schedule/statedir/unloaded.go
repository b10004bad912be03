package statedir

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// Unloaded says that ticks came which could load no schedule, not even the last valid one. A tick
// that loads one ends it. The zero value says that no such tick came.
type Unloaded struct {
	First time.Time `json:"first"` // the minute of the first of these ticks
	Last  time.Time `json:"last"`
	Ticks int       `json:"ticks"` // how many came
	Why   string    `json:"why"`   // the last of them could load none
}

const unloadedFile = "unloaded"

// UnloadedIn returns the note of a state folder; zero for none.
func UnloadedIn(dir string) (u Unloaded) {
	text, err := ReadFile(filepath.Join(dir, unloadedFile))
	if err != nil || json.Unmarshal(text, &u) != nil {
		return Unloaded{}
	}
	return u
}

// NoteUnloaded notes that the tick of a minute could load no schedule. It makes no state folder. An
// error does no harm: the note makes texts truer.
func NoteUnloaded(dir string, minute time.Time, why string) {
	if _, err := os.Stat(dir); err != nil {
		return
	}
	u := UnloadedIn(dir)
	if u.Ticks == 0 {
		u.First = minute
	}
	if !u.Last.Equal(minute) {
		u.Ticks++
	}
	u.Last, u.Why = minute, why
	if text, err := json.Marshal(u); err == nil {
		Replace(filepath.Join(dir, unloadedFile), text)
	}
}

// ForgetUnloaded says that a tick came that could load a schedule.
func ForgetUnloaded(dir string) { os.Remove(filepath.Join(dir, unloadedFile)) }
