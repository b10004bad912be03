package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"sched/schedule/humanize"
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
	text, err := statedir.ReadFile(fileOf(r.Schedule, t.Place))
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

func checkName(name string) error {
	if !mayName().MatchString(name) {
		return NewProblem(http.StatusUnprocessableEntity,
			"letters, digits and . _ : / -, at most 128, a letter or digit first",
			"%q cannot be a name", Shortened(name))
	}
	return nil
}

// taskKeys returns the keys of the task in the body, as YAML. It does not check them: mistakes are
// found when the schedule is read with them.
func taskKeys(r *Visit, name string) ([]byte, error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/yaml", "application/x-yaml", "text/yaml":
		return r.body, nil
	case "application/json":
		return yamlOf(r.body, name)
	}
	return nil, NewProblem(http.StatusUnsupportedMediaType,
		"send it with `Content-Type: application/yaml` or application/json",
		"the body is neither YAML nor JSON")
}

// yamlOf writes the members of a JSON object as keys of YAML, in their order. The name, which is in
// the path, is left out.
func yamlOf(body []byte, name string) ([]byte, error) {
	badBody := func(err error) ([]byte, error) {
		return nil, badRequest("send one object with the keys of the task",
			"the body cannot be read: %s", plainJSON(err))
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return badBody(errors.Join(err, errors.New("it is no object")))
	}
	var out bytes.Buffer
	for decoder.More() {
		key, err := decoder.Token()
		var value any
		if err == nil {
			err = decoder.Decode(&value)
		}
		if err != nil {
			return badBody(err)
		}
		if key == "name" && value == name {
			continue
		}
		fmt.Fprintf(&out, "%s: %s\n", oneLine(key), oneLine(value))
	}
	if _, err := decoder.Token(); err != nil {
		return badBody(err)
	}
	if err := ended(decoder); err != nil {
		return badBody(err)
	}
	return out.Bytes(), nil
}

// oneLine is a value as JSON in one line, which is YAML, too.
func oneLine(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.Encode(value)
	return strings.TrimSpace(out.String())
}

// mayName matches the names that a task may have; the loader checks names, too. It is compiled when
// it is needed, because each start of sched would pay for it.
var mayName = humanize.Pattern(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$`)
