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

// Machine tells this machine from others that have its name: by its state folder, and by its boot where
// that is a copy, too. It is empty where the folder cannot be written.
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

func mixturePath(dir string) string { return filepath.Join(dir, "servers-mixed.json") }

// NoteMixture notes in the state folder what the last tick found, for status.
func NoteMixture(dir string, m Mixture) {
	note, path := append(encode(m), '\n'), mixturePath(dir)
	known, err := statedir.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(known, note):
	case string(note) == "{}\n":
		os.Remove(path)
	default:
		statedir.Replace(path, note) //nolint: the tick says it, too
	}
}

// MixtureIn returns what the last tick found.
func MixtureIn(dir string) (m Mixture) {
	if note, err := statedir.ReadFile(mixturePath(dir)); err == nil {
		json.Unmarshal(note, &m) //nolint: what cannot be read says nothing
	}
	return m
}

// An Outage is what the ticks of this machine found: the store does not answer them, or grants nothing.
type Outage struct {
	Since time.Time `json:"since"` // the first tick that found it
	Why   string    `json:"why"`
}

func outagePath(dir string) string { return filepath.Join(dir, "store-down.json") }

// NoteOutage notes in the state folder that a tick at the time now found the store to be down; nil says
// that it answered.
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
		statedir.Replace(outagePath(dir), append(encode(known), '\n')) //nolint: ticks say it, too
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
