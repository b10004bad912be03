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
func MixtureIn(dir string) (m Mixture) {
	readNote(filepath.Join(dir, "servers-mixed.json"), &m)
	return m
}

// An Outage is what the ticks of this machine found: the store does not answer them, or grants nothing.
type Outage struct {
	Since time.Time `json:"since,omitzero"` // the first tick that found it
	Why   string    `json:"why,omitempty"`
}

// NoteOutage notes that a tick found the store to be down; nil says that it answered.
func NoteOutage(dir string, now time.Time, err error) {
	outage, down := OutageIn(dir)
	if !down {
		outage.Since = now.UTC()
	}
	if err == nil {
		outage = Outage{}
	} else {
		outage.Why = err.Error()
	}
	note(filepath.Join(dir, "store-down.json"), outage)
}

// OutageIn returns the outage that the last tick found; false where the store answered it.
func OutageIn(dir string) (o Outage, down bool) {
	readNote(filepath.Join(dir, "store-down.json"), &o)
	return o, o.Why != ""
}

// note writes a value into a file that does not have it. The zero value has no file.
func note(path string, value any) {
	text := append(encode(value), '\n')
	known, err := statedir.ReadFile(path)
	switch {
	case string(text) == "{}\n":
		if err == nil {
			os.Remove(path)
		}
	case err != nil || !bytes.Equal(known, text):
		statedir.Replace(path, text) //nolint: ticks say it, too
	}
}

// readNote reads a value that note wrote. A file that cannot be read says nothing.
func readNote(path string, value any) {
	if text, err := statedir.ReadFile(path); err == nil {
		json.Unmarshal(text, value) //nolint: see above
	}
}
