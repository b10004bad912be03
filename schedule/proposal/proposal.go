// Package proposal keeps tasks that somebody, often an AI agent, has proposed, until a person
// approves or rejects them. A proposal is in the state folder, and never in the schedule.
package proposal

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/statedir"
	"sched/schedule/view"
)

// A Proposal is a task as somebody wants it to be.
type Proposal struct {
	ID     string    `json:"id"`
	Task   string    `json:"task"`
	Keys   string    `json:"keys,omitempty"` // YAML, without the name
	Old    string    `json:"old,omitempty"`  // the keys that they replace; "" for a new task
	Tag    string    `json:"tag,omitempty"`  // of the file of the task at that time; "" for a new task
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
	Until  time.Time `json:"until"`  // when it ends by itself
	Digest string    `json:"digest"` // of the schedule at that time
}

const (
	Most     = 50                  // proposals that wait
	Lasts    = 14 * 24 * time.Hour // how long a proposal waits
	MostKeys = 16 << 10            // bytes of the keys of a task
)

// All returns the proposals that wait in a state folder, the oldest first. It only reads.
func All(dir string, now time.Time) (waiting []Proposal, err error) {
	text, err := statedir.ReadFile(path(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var all []Proposal
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path(dir), err)
	}
	return slices.DeleteFunc(all, func(p Proposal) bool { return !now.Before(p.Until) }), nil
}

// path is in a folder of its own, whose lock nobody else needs: a decision takes seconds.
func path(dir string) string { return filepath.Join(dir, "proposals", "waiting.json") }

// Find returns the proposal that waits and whose id begins with the text.
func Find(dir, id string, now time.Time) (Proposal, error) {
	all, err := All(dir, now)
	if err != nil {
		return Proposal{}, err
	}
	found := slices.DeleteFunc(all, func(p Proposal) bool { return id == "" || !strings.HasPrefix(p.ID, id) })
	switch len(found) {
	case 0:
		return Proposal{}, view.Fail(view.NotFound, "`sched proposals` lists those that wait",
			"no proposal %.40q waits", id)
	case 1:
		return found[0], nil
	}
	return Proposal{}, view.Fail(view.Invalid, "write more of it", "%.40q stands for %d proposals", id, len(found))
}

// Add keeps a proposal, and returns it with its id and its end. A proposal of the same person for
// the same task is replaced.
func Add(dir string, p Proposal) (Proposal, error) {
	p.ID, p.Until = strings.ToLower(rand.Text()[:8]), p.At.Add(Lasts)
	err := change(dir, p.At, func(all []Proposal) ([]Proposal, error) {
		all = slices.DeleteFunc(all, func(other Proposal) bool { return other.Task == p.Task && other.By == p.By })
		if len(all) >= Most {
			return nil, view.Fail(view.Conflict, "let a person approve or reject some: `sched proposals`",
				"%d proposals wait already", len(all))
		}
		return append(all, p), nil
	})
	return p, err
}

// Decide calls do while no other process decides, with a proposal that still waits, and forgets the
// proposal when do returns no error. After a kill in between do is called again, when somebody
// decides again.
func Decide(dir, id string, now time.Time, do func(Proposal) error) error {
	return change(dir, now, func(all []Proposal) ([]Proposal, error) {
		i := slices.IndexFunc(all, func(p Proposal) bool { return p.ID == id })
		if i < 0 {
			return nil, view.Fail(view.Conflict, "", "somebody has decided about %s meanwhile", id)
		}
		if err := do(all[i]); err != nil {
			return nil, err
		}
		return slices.Delete(all, i, i+1), nil
	})
}

// change replaces the file in one step.
func change(dir string, now time.Time, edit func([]Proposal) ([]Proposal, error)) error {
	return statedir.Exclusively(filepath.Dir(path(dir)), func() error {
		all, err := All(dir, now)
		if err == nil {
			all, err = edit(all)
		}
		if err != nil {
			return err
		}
		text, err := json.MarshalIndent(all, "", "  ")
		if err != nil {
			return err
		}
		return statedir.Replace(path(dir), append(text, '\n'))
	})
}
