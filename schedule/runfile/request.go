package runfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/statedir"
)

// A Request asks for one run of a task beside those of its schedule. It is a file, waiting/ID.json in
// the state folder, until a tick makes the file of the run of that very file: with one rename(2), so
// that a kill at any moment leaves the one or the other, and no run is begun twice
// (docs/internals/decisions.md#a-request-becomes-its-run-by-a-rename).
type Request struct {
	Run    string    `json:"run"` // the id that the run will have
	Task   string    `json:"task"`
	At     time.Time `json:"at"`     // in UTC; the slot of the run
	Origin string    `json:"origin"` // who asked, in words

	Cause     *outcome.Cause `json:"cause,omitempty"`     // the run after which it comes, which a retry has, too; nil for none
	Triggered bool           `json:"triggered,omitempty"` // a hook asked for it, so it is started at once

	Dir       string    `json:"-"` // the state folder that it is in, or a spare one
	HeldSince time.Time `json:"-"` // since when ticks have found the mutex held
}

// A requestLine is one line of the file of a request; exactly one field is set. The events of its run come later.
type requestLine struct {
	Request *Request   `json:"request,omitempty"`
	Held    *time.Time `json:"held,omitempty"`
}

func waitingDir(dir string) string { return filepath.Join(dir, "waiting") }

func requestPath(dir, id string) string { return filepath.Join(waitingDir(dir), id+".json") }

// AddRequest leaves a request for the ticks to come. When it has returned nil the request survives a power cut.
func AddRequest(dir string, r Request) error {
	draft := filepath.Join(waitingDir(dir), ".draft-"+r.Run)
	if err := r.write(draft); err != nil {
		return err
	}
	if err := os.Rename(draft, requestPath(dir, r.Run)); err != nil {
		os.Remove(draft)
		return err
	}
	statedir.SyncDir(waitingDir(dir))
	return nil
}

func (r Request) write(path string) error {
	text, err := json.Marshal(requestLine{Request: &r})
	if err != nil {
		return err
	}
	return statedir.WriteSynced(path, append(text, '\n'))
}

// Requests returns the requests that wait, in the order of their times. Where there never was one this costs
// one system call. With an error come those that could be read.
func Requests(dir string) ([]Request, error) {
	entries, err := os.ReadDir(waitingDir(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var all []Request
	for _, entry := range entries { // sorted by name, which is by time
		id, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok {
			continue
		}
		text, rerr := statedir.ReadFile(requestPath(dir, id))
		if errors.Is(rerr, os.ErrNotExist) {
			continue // a tick took it
		}
		r, perr := parseRequest(text, id)
		if err = errors.Join(err, rerr, perr); perr == nil && rerr == nil {
			r.Dir = dir
			all = append(all, r)
		}
	}
	return all, err
}

func parseRequest(text []byte, id string) (Request, error) {
	var r Request
	for raw := range bytes.Lines(text) {
		var l requestLine
		if json.Unmarshal(raw, &l) != nil {
			continue
		}
		if l.Request != nil {
			r = *l.Request
		}
		if l.Held != nil && r.HeldSince.IsZero() {
			r.HeldSince = *l.Held
		}
	}
	if r.Run != id {
		return r, fmt.Errorf("the request waiting/%s.json cannot be read; remove it", id)
	}
	return r, nil
}

// A TakenRequest is a request that this process has locked, until it is closed or becomes a run.
type TakenRequest struct {
	Request
	file *os.File
}

// TakeRequest locks a request. It returns ErrAlive when another process has it, and an error that is
// os.ErrNotExist when it does not wait any more.
func TakeRequest(dir, id string) (*TakenRequest, error) {
	file, err := statedir.OpenLocked(requestPath(dir, id), os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, aliveIf(err)
	}
	text, err := statedir.ReadAll(file)
	var r Request
	if err == nil {
		r, err = parseRequest(text, id)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	r.Dir = dir
	return &TakenRequest{r, file}, nil
}

// Begin makes the run of the request; the request is gone then, also for a power cut. When it fails
// the request is as it was.
func (t *TakenRequest) Begin(r outcome.Record) (*File, error) {
	run := &File{Record: r, file: t.file}
	if err := t.become(run, Event{Begin: &r}); err != nil {
		return nil, err
	}
	return run, nil
}

// Refuse makes a finished run of the request that never began: r has its outcome. The request is
// closed.
func (t *TakenRequest) Refuse(r outcome.Record) error {
	defer t.Close()
	return t.become(&File{Record: r, file: t.file}, Event{Begin: &r}, Event{End: &r})
}

func (t *TakenRequest) become(run *File, events ...Event) error {
	for _, e := range events {
		if err := run.Append(e); err != nil {
			return err
		}
	}
	if err := errors.Join(run.reserve(), run.Sync()); err != nil {
		return err
	}
	if err := statedir.MakeDir(runsDir(t.Dir)); err != nil {
		return err
	}
	if err := os.Rename(requestPath(t.Dir, t.Run), Path(t.Dir, t.Run)); err != nil {
		return err
	}
	statedir.SyncDir(runsDir(t.Dir)) // or a power cut might bring the request back after its command ran
	statedir.SyncDir(waitingDir(t.Dir))
	return nil
}

// NoteHeld writes down since when ticks have found the mutex held.
func (t *TakenRequest) NoteHeld(since time.Time) error {
	return statedir.AppendLine(t.file, requestLine{Held: &since})
}

// Close unlocks the request, and leaves it to other ticks.
func (t *TakenRequest) Close() error { return t.file.Close() }
