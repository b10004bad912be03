// Package audit is the log of what people have changed through the API and the pages.
package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"sched/schedule/statedir"
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

// A Log is the audit log of a state folder: lines of JSON in a file of mode 0600 to which lines are only appended. A full one is put aside, and the
// oldest of some is removed.
type Log struct {
	Dir string

	mu sync.Mutex
}

const (
	full  = 1 << 20 // bytes
	files = 4       // besides the one that is written
)

func (l *Log) path(n int) string {
	if n == 0 {
		return filepath.Join(l.Dir, "audit.jsonl")
	}
	return filepath.Join(l.Dir, fmt.Sprintf("audit.%d.jsonl", n))
}

// Append writes a line. When it has returned that survives a power cut.
func (l *Log) Append(line Change) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return statedir.Exclusively(l.Dir, func() error {
		if info, err := os.Stat(l.path(0)); err == nil && info.Size() >= full {
			for n := files; n > 0; n-- {
				if err := os.Rename(l.path(n-1), l.path(n)); err != nil && !errors.Is(err, os.ErrNotExist) {
					return err
				}
			}
		}
		file, err := statedir.Open(l.path(0), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
		if err != nil {
			return err
		}
		return errors.Join(statedir.AppendLine(file, line), file.Sync(), file.Close())
	})
}

// Read returns the changes below that id, the newest first: at most limit, and whether there are more. For "" it begins at the newest.
func (l *Log) Read(below string, limit int) (changes []Change, more bool, err error) {
	index := map[string]int{}
	for n := 0; n <= files; n++ {
		text, err := statedir.ReadFile(l.path(n))
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
