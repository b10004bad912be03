package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/statedir"
	"sched/schedule/view"
)

// This file is about the files of tasks: one YAML file for each task in the folder of --edit, which
// the schedule's own include reads. The file stays the truth: people can change it by hand and
// commit it, and no task is kept in any other place.

// fileOf returns the file of a place in a schedule, absolute.
func fileOf(s *schedule.Schedule, place schedule.Place) string {
	if filepath.IsAbs(place.File) {
		return place.File
	}
	return filepath.Join(filepath.Dir(s.File), place.File)
}

func tagOf(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

const (
	indent    = "    " // before each key of a task in its file
	headLines = 3      // of fileHead
)

// fileHead is how each file of a task begins. A person who removes its first line takes the file
// over: it is never written again.
func fileHead(name string) string {
	return "# Written by `sched serve --edit`, which leaves the file alone when this line is removed.\n" +
		fmt.Sprintf("tasks:\n  - name: %q\n", name)
}

// taskText is the file of a task, given its keys without its name as YAML.
func taskText(name string, keys []byte) []byte {
	var b strings.Builder
	b.WriteString(fileHead(name))
	for line := range strings.Lines(strings.ReplaceAll(string(keys), "\r\n", "\n")) {
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			b.WriteString(indent + line)
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}

// keysIn returns the keys from which taskText made a file. If taskText cannot have made it,
// strangeLine is the number of the first line that is different: another task, a group, or a
// comment of somebody else. Else strangeLine is 0.
func keysIn(text []byte, name string) (keys []byte, strangeLine int) {
	head := strings.SplitAfter(fileHead(name), "\n")
	head = head[:len(head)-1]
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		rest, isKey := strings.CutPrefix(line, indent)
		switch {
		case n <= len(head):
			if line != head[n-1] {
				return nil, n
			}
		case isKey:
			keys = append(keys, rest...)
		case strings.TrimSpace(line) == "":
			keys = append(keys, '\n')
		default:
			return nil, n
		}
	}
	if n < len(head) {
		return nil, n + 1
	}
	return keys, 0
}

// readOwn reads the file of a task. It refuses a file that `sched serve` did not write, or that
// somebody has made their own.
func readOwn(now *schedule.Schedule, name, path string) ([]byte, error) {
	shown := path
	if short, err := filepath.Rel(filepath.Dir(now.File), path); err == nil {
		shown = short
	}
	foreign := func(line int, why string) error {
		return view.Fail(view.Conflict, "edit it there", "%s:%d: %s, so it is left alone", shown, line, why)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, foreign(1, "this is no file, but a link or something else")
	}
	text, err := statedir.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if _, line := keysIn(text, name); line > 0 {
		return nil, foreign(line, "this is not as `sched serve` writes the task "+name)
	}
	if _, err := view.FindTask(now, name); err != nil {
		return nil, foreign(1, "the schedule does not read this file")
	}
	return text, nil
}

// unchanged returns an error if the file has another text than old, or is there though old is nil.
// People and their editors take no lock.
func unchanged(path string, old []byte) error {
	text, err := statedir.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && old == nil, err == nil && old != nil && bytes.Equal(text, old):
		return nil
	case err == nil || errors.Is(err, os.ErrNotExist):
		return NewProblem(http.StatusPreconditionFailed, "GET it again",
			"somebody has changed %s at this moment", filepath.Base(path))
	}
	return err
}

func checkName(name string) error {
	if !mayName().MatchString(name) {
		return NewProblem(http.StatusUnprocessableEntity,
			"letters, digits and . _ : / -, at most 128, a letter or digit first",
			"%q cannot be a name", Shortened(name))
	}
	return nil
}

// mayName matches the names that a task may have; the loader checks names, too. It is compiled when
// it is needed, because each start of sched would pay for it.
var mayName = humanize.Pattern(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$`)
