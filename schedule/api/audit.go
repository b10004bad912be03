package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sched/schedule/actions"
	"sched/schedule/outcome"
	"sched/schedule/statedir"
	"sched/schedule/text"
)

// A Change is a line of the audit log: what somebody changed through this API.
type Change struct {
	ID     string `json:"id"`
	At     string `json:"at"`
	Who    string `json:"who"`
	From   string `json:"from"`
	Action string `json:"action"` // trigger, retry, stop, pause, resume, write, remove
	Target string `json:"target"` // the task or the run
	Reason string `json:"reason"`
	Error  string `json:"error"` // why it was not done; else empty
}

// audit is the audit log: lines of JSON in a file of mode 0600 to which lines are only appended. A full one is put aside, and the
// oldest of some is removed.
type audit struct {
	dir string
	now func() time.Time
	mu  sync.Mutex
}

const (
	auditFull  = 1 << 20 // bytes
	auditFiles = 4       // besides the one that is written
)

func (a *audit) path(n int) string {
	if n == 0 {
		return filepath.Join(a.dir, "audit.jsonl")
	}
	return filepath.Join(a.dir, fmt.Sprintf("audit.%d.jsonl", n))
}

// change does something and writes it into the audit log. The line comes first: nothing is changed that is not in the log, also when
// this process is killed in between. That it failed is a second line with the same id.
func (r *request) change(action, target, reason string, do func() error) error {
	line := Change{
		ID: outcome.NewID(), At: r.server.Now().UTC().Format(time.RFC3339), Who: r.who.Name, From: r.who.From,
		Action: action, Target: target, Reason: actions.Reason(reason),
	}
	if err := r.server.audit.append(line); err != nil {
		return fmt.Errorf("nothing was done, since the audit log cannot be written: %w", err)
	}
	err := do()
	if err != nil {
		line.Error = text.Line(err.Error())
		if werr := r.server.audit.append(line); werr != nil {
			r.server.Problem("the audit log cannot be written: %v", werr)
		}
	}
	return err
}

func (a *audit) append(line Change) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return withFolder(a.dir, func() error {
		if info, err := os.Stat(a.path(0)); err == nil && info.Size() >= auditFull {
			for n := auditFiles; n > 0; n-- {
				if err := os.Rename(a.path(n-1), a.path(n)); err != nil && !errors.Is(err, os.ErrNotExist) {
					return err
				}
			}
		}
		file, err := statedir.Open(a.path(0), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
		if err != nil {
			return err
		}
		return errors.Join(statedir.AppendLine(file, line), file.Sync(), file.Close())
	})
}

// read returns the changes below that id, the newest first: at most limit, and whether there are more. For "" it begins at the newest.
func (a *audit) read(below string, limit int) (changes []Change, more bool, err error) {
	index := map[string]int{}
	for n := 0; n <= auditFiles; n++ {
		text, err := statedir.ReadFile(a.path(n))
		if errors.Is(err, os.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, false, err
		}
		lines := bytes.Split(text, []byte("\n"))
		for _, line := range slices.Backward(lines) {
			var c Change
			if json.Unmarshal(line, &c) != nil || c.ID == "" || below != "" && c.ID >= below {
				continue // empty, or torn by a kill
			}
			if _, ok := index[c.ID]; ok { // its failure was read before
				continue
			}
			if len(changes) == limit {
				return changes, true, nil
			}
			index[c.ID] = len(changes)
			changes = append(changes, c)
		}
	}
	return changes, false, nil
}

func getAudit(r *request) (any, error) {
	limit, lerr := r.limit(100, 1000)
	cursor, cerr := r.cursor(1)
	if err := firstOf(lerr, cerr); err != nil {
		return nil, err
	}
	below := ""
	if cursor != nil {
		below = cursor[0]
	}
	changes, more, err := r.server.audit.read(below, limit)
	next := ""
	if more {
		next = cursorOf(changes[len(changes)-1].ID)
	}
	return pageOf(changes, next), err
}
