// Package scaffold writes the first schedule.yaml of a project.
//
// The text has a task that runs every minute, and tasks that seem to fit the project, switched off.
// The package only reads, and only in the given folder.
package scaffold

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// A Project is a folder, and what its tasks find on this machine.
type Project struct {
	Folder   fs.FS
	Zone     string                       // IANA name
	LookPath func(string) (string, error) // finds a program, as exec.LookPath does
}

// A File is the text of a first schedule.
type File struct {
	Text    string
	Found   []string // what the project is: Laravel, Node; may be empty
	Offered int      // tasks that are there, switched off
}

// usualPath is what most programs are in. Cron has less.
const usualPath = "/usr/local/bin:/usr/bin:/bin"

// First returns the first schedule for the project.
func (p Project) First() File {
	var file File
	var body strings.Builder
	programs := []string{}
	for _, k := range kinds {
		tasks := k.tasks(p, file.Found)
		if len(tasks) == 0 {
			continue
		}
		file.Found = append(file.Found, k.name)
		file.Offered += len(tasks)
		fmt.Fprintf(&body, "\n  # For %s. They are switched off: remove `enabled: false` from those that you want.\n", k.name)
		for i, t := range tasks {
			if i > 0 {
				body.WriteString("\n")
			}
			body.WriteString(t.text())
		}
		programs = append(programs, k.program)
	}
	file.Text = fmt.Sprintf(head, p.Zone, p.path(programs)) + body.String()
	return file
}

// path is a PATH in which the programs are found that are found now.
func (p Project) path(programs []string) string {
	folders := strings.Split(usualPath, ":")
	for _, name := range programs {
		found, err := p.LookPath(name)
		if folder := filepath.Dir(found); err == nil && filepath.IsAbs(found) && !slices.Contains(folders, folder) && !strings.ContainsAny(folder, ":#'\"${}\n") {
			folders = append([]string{folder}, folders...)
		}
	}
	return strings.Join(folders, ":")
}

const head = `# What runs here, and when. After an edit: sched check. What it means: sched list

timezone: %s

# Cron has a shorter PATH than your shell. With this one tasks find the same programs in both.
env:
  PATH: %s

tasks:
  # Runs every minute, so that there is something to see: sched run, then sched logs hello. Remove it when you have.
  - name: hello
    every: minute
    command: echo "hello from $SCHED_TASK, due at $SCHED_SLOT"

  # What a longer task may look like. It is switched off.
  - name: nightly
    description: Something for the night
    enabled: false
    every: day at 02:30               # or cron: "30 2 * * *"
    command: echo "put your command here"
    background: true                  # other tasks do not wait for it
    without_overlapping: true         # never two of it at once
    timeout: 20m
    retry: {attempts: 3, delay: 1m}
    on_failure: echo "$SCHED_TASK $SCHED_OUTCOME" >> failures.txt
`

type task struct {
	name, description, every, command string
	more                              []string // further lines
}

// text is the task in YAML, switched off.
func (t task) text() string {
	lines := append([]string{
		"- name: " + t.name, "  description: " + t.description, "  enabled: false", "  every: " + t.every, "  command: " + t.command,
	}, t.more...)
	return "  " + strings.Join(lines, "\n  ") + "\n"
}

func (p Project) has(name string) bool {
	_, err := fs.Stat(p.Folder, name)
	return err == nil
}

func (p Project) mentions(name, word string) bool {
	text, err := fs.ReadFile(p.Folder, name)
	return err == nil && strings.Contains(string(text), word)
}

// scripts returns the names of the scripts in package.json.
func (p Project) scripts() (names []string) {
	var file struct {
		Scripts map[string]json.RawMessage `json:"scripts"`
	}
	text, err := fs.ReadFile(p.Folder, "package.json")
	if err != nil || json.Unmarshal(text, &file) != nil {
		return nil
	}
	for name := range file.Scripts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
