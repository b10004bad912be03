// Package kept keeps slots of tasks with `store_down: wait` while nobody knows whether they may run, and of those with `missed:
// after_pause` while they are paused: files in the state folder, from the tick that could not start the slot until a later one has
// given it an outcome.
//
// A slot has one file, kept/TASK@TIME.json. Who tries the slot again, and when it is too late for it, is for the
// ledger and the ticks; commands that look read the files, too.
package kept

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/statedir"
)

// A Slot waits for the store, or for the end of a pause.
type Slot struct {
	Task  string    `json:"task"`
	At    time.Time `json:"slot"`  // UTC
	Run   string    `json:"run"`   // the id that its run will have: an answer to its claim that was lost is its own
	Since time.Time `json:"since"` // when a tick first could not start it
	Until time.Time `json:"until"` // after that it is too late, as the schedule was then
	Why   string    `json:"why"`   // the store was of no use, or who paused it

	// Paused says that it waits for the end of a pause or a maintenance, and not for the store.
	Paused bool `json:"paused,omitempty"`
}

func folder(dir string) string { return filepath.Join(dir, "kept") }

func path(dir, task string, at time.Time) string {
	return filepath.Join(folder(dir), strings.ReplaceAll(task, "/", "+")+"@"+at.UTC().Format("20060102T150405Z")+".json")
}

// Keep keeps a slot in a state folder, so that it survives a power cut. What was kept of the slot before is replaced.
func Keep(dir string, s Slot) error {
	file := path(dir, s.Task, s.At)
	s.At, s.Since, s.Until = s.At.UTC(), s.Since.UTC(), s.Until.UTC()
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	draft := filepath.Join(folder(dir), ".draft-"+s.Run)
	if err := statedir.WriteSynced(draft, append(text, '\n')); err != nil {
		return err
	}
	if err := os.Rename(draft, file); err != nil {
		os.Remove(draft)
		return err
	}
	statedir.SyncDir(folder(dir))
	return nil
}

// List returns the slots that wait, the oldest first. Where there never was one this costs one system call. With an error come
// those that could be read.
func List(dir string) (all []Slot, err error) {
	entries, err := os.ReadDir(folder(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".json") {
			continue
		}
		file := filepath.Join(folder(dir), entry.Name())
		text, rerr := statedir.ReadFile(file)
		if errors.Is(rerr, os.ErrNotExist) {
			continue // it got its outcome
		}
		var s Slot
		if rerr == nil && (json.Unmarshal(text, &s) != nil || path(dir, s.Task, s.At) != file || s.Run == "") {
			rerr = fmt.Errorf("the slot kept/%s cannot be read; remove it", entry.Name())
		}
		if err = errors.Join(err, rerr); rerr == nil {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b Slot) int { return a.At.Compare(b.At) })
	return all, err
}

// Forget removes a slot that has an outcome, or a run.
func Forget(dir, task string, at time.Time) { os.Remove(path(dir, task, at)) }
