package cluster

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sched/schedule/boot"
	"sched/schedule/statedir"
)

// Machine tells machines of one name apart by state folder and boot; "" if dir is not writable.
func Machine(dir string) string {
	path := filepath.Join(dir, "machine")
	id, err := statedir.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		id = []byte(rand.Text() + "\n")
		err = statedir.Replace(path, id)
	}
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id)) + " " + boot.ID()
}

// NoteMixture notes in the state folder what the last tick found, for status.
func NoteMixture(dir string, m Mixture) { note(filepath.Join(dir, "servers-mixed.json"), m) }

// MixtureIn returns what the last tick found.
func MixtureIn(dir string) Mixture { return noted[Mixture](filepath.Join(dir, "servers-mixed.json")) }

// An Outage is what ticks of this machine found: the store does not answer, or grants nothing.
type Outage struct {
	Since time.Time `json:"since,omitzero"` // the first tick that found it
	Why   string    `json:"why,omitempty"`
}

// NoteOutage notes that a tick found the store to be down; nil says that it answered.
func NoteOutage(dir string, now time.Time, err error) {
	var found Outage
	if err != nil {
		found = Outage{now.UTC(), err.Error()}
		if last, down := OutageIn(dir); down {
			found.Since = last.Since
		}
	}
	note(filepath.Join(dir, "store-down.json"), found)
}

// OutageIn returns the outage that the last tick found; false where the store answered it.
func OutageIn(dir string) (o Outage, down bool) {
	o = noted[Outage](filepath.Join(dir, "store-down.json"))
	return o, o.Why != ""
}

// note writes a value into a file that does not have it. The zero value has no file.
func note(path string, value any) {
	text := append(encode(value), '\n')
	known, err := statedir.ReadFile(path)
	if string(text) == "{}\n" {
		os.Remove(path)
	} else if err != nil || !bytes.Equal(known, text) {
		statedir.Replace(path, text) //nolint: ticks say it, too
	}
}

// noted reads a value that note wrote. A file that cannot be read says nothing.
func noted[T any](path string) (value T) {
	text, _ := statedir.ReadFile(path)
	json.Unmarshal(text, &value) //nolint: see above
	return value
}
