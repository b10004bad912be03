package servers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"sched/schedule/statedir"
)

// An Outage is what the ticks of this machine found: the store does not answer them, or grants nothing.
type Outage struct {
	Since time.Time `json:"since"` // the first tick that found it
	Why   string    `json:"why"`
}

func outagePath(dir string) string { return filepath.Join(dir, "store-down.json") }

// NoteOutage notes in the state folder that a tick at the time now found the store to be down; nil says that it answered.
func NoteOutage(dir string, now time.Time, err error) {
	known, down := OutageIn(dir)
	switch {
	case err == nil && !down, err != nil && known.Why == err.Error():
	case err == nil:
		os.Remove(outagePath(dir))
	default:
		if !down {
			known.Since = now.UTC()
		}
		known.Why = err.Error()
		statedir.Replace(outagePath(dir), append([]byte(toJSON(known)), '\n')) //nolint: where it cannot be written, ticks say what is wrong
	}
}

// OutageIn returns the outage that the last tick found; false where the store answered it.
func OutageIn(dir string) (o Outage, down bool) {
	text, err := statedir.ReadFile(outagePath(dir))
	if err != nil || json.Unmarshal(text, &o) != nil {
		return Outage{}, false
	}
	return o, true
}
