package serve

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"sched/schedule"
	"sched/schedule/load"
	"sched/schedule/statedir"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

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

// keysIn returns what taskText made a file of. If taskText cannot have made it, strange is the
// number of the first line that is different: another task, a group, or a comment of somebody else.
func keysIn(text []byte, name string) (keys []byte, strange int) {
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

// getSource answers with the keys of a task as they are written, without its name: putTask takes
// them. Values of the environment and targets of notifications are among them, so it is for callers
// who may edit.
func getSource(r *Visit) (any, error) {
	if r.server.Config.Edit == "" {
		return nil, notFound("start `sched serve` with --edit", "this server shows no source of tasks")
	}
	if !r.Who.Scope.Allows(ScopeEdit) {
		return nil, forbidden("make a token with `sched serve token --scope edit`",
			"%s may %s, and the source of a task needs edit", r.Who.Name, r.Who.Scope)
	}
	t, err := view.FindTask(r.Schedule, r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	text, err := statedir.ReadFile(fileOf(r.Schedule, t))
	if err != nil {
		return nil, err
	}
	c := content{kind: yamlText}
	if tag := r.server.etag(r.Schedule, t); tag != "" {
		c.text, _ = keysIn(text, t.Name)
		c.header = map[string]string{"ETag": tag}
		return c, nil
	}
	if c.text, err = yamldoc.KeysAt(text, t.Place.Line, t.Place.Column, "name"); err != nil {
		return nil, view.Fail(view.NotFound, "look at it there",
			"%s is defined at %s, and has no source of its own: %w", t.Name, view.Place(t), err)
	}
	return c, nil
}

// A Draft is a task of the folder of --edit as somebody wants it to be. It writes nothing: see
// Save.
type Draft struct {
	Name, Keys string             // Keys is YAML, as PUT takes it
	Old        string             // the keys that are written now; "" for a new task
	Tag        string             // the ETag of Old; "" for a new task
	Task       *schedule.Task     // as it would be; nil with problems
	Problems   []schedule.Problem // lines and columns of problems in the task count in Keys
}

// Edits reports whether the visitor may write tasks here.
func (r *Visit) Edits() bool {
	return r.server.offers(route{scope: ScopeEdit}) && r.Who.Scope.Allows(ScopeEdit)
}

// Written returns a task as it is written in the folder of --edit. The error says why it cannot be
// edited.
func (r Folder) Written(name string) (Draft, error) {
	t, err := view.FindTask(r.Schedule, name)
	if err != nil {
		return Draft{}, err
	}
	path := r.server.taskFile(name)
	if fileOf(r.Schedule, t) != path {
		return Draft{}, view.Fail(view.Conflict, "edit it there", "%s is defined at %s", name, view.Place(t))
	}
	text, err := readOwn(r.Schedule, name, path)
	keys, _ := keysIn(text, name)
	return Draft{Name: name, Keys: string(keys), Old: string(keys), Tag: tagOf(text)}, err
}

// Draft says what would become of a task with these keys: it checks what PUT checks. Tag is the
// ETag of what the visitor has seen; "" for a new task.
func (r Folder) Draft(name, keys, tag string) (Draft, error) {
	d := Draft{Name: name, Keys: keys, Tag: tag}
	if err := checkName(name); err != nil {
		return d, err
	}
	text, err := r.editable(name, tag)
	if err != nil {
		return d, err
	}
	old, _ := keysIn(text, name)
	d.Old = string(old)
	path := r.server.taskFile(name)
	after, err := r.server.Schedules.Check(map[string][]byte{path: taskText(name, []byte(keys))})
	if err == nil {
		if err = mayWrite(after, name, path); err == nil {
			d.Task, err = view.FindTask(after, name)
		}
		return d, err
	}
	var invalid *load.InvalidError
	if !errors.As(err, &invalid) {
		return d, err
	}
	for _, problem := range invalid.Problems {
		if fileOf(r.Schedule, &schedule.Task{Place: problem.Place}) == path {
			problem.Place.File = ""
			problem.Place.Line = max(1, problem.Place.Line-headLines)
			problem.Place.Column = max(1, problem.Place.Column-len(indent))
		}
		d.Problems = append(d.Problems, problem)
	}
	return d, nil
}

func checkName(name string) error {
	if !mayName().MatchString(name) {
		return NewProblem(http.StatusUnprocessableEntity,
			"letters, digits and . _ : / -, at most 128, a letter or digit first",
			"%q cannot be a name", Shortened(name))
	}
	return nil
}
