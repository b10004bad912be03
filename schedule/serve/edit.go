package serve

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"

	"sched/schedule"
	"sched/schedule/load"
	"sched/schedule/statedir"
	"sched/schedule/view"
)

// This file writes and removes tasks, and checks drafts of tasks, in the folder of --edit.

// A Folder is the folder of --edit, for a visitor who may edit.
type Folder struct{ *Visit }

// NewFolder returns the folder of the configuration for somebody who calls a command on this
// machine. Of the configuration it needs no more than the folder, the state folder and Schedules.
func NewFolder(c Config, s *schedule.Schedule, who Who) Folder {
	r := &Visit{server: &Server{Config: c}, Who: who}
	r.setSchedule(s)
	return Folder{r}
}

// FileOf returns the text of the file of a task with these keys, as Save writes it.
func (r Folder) FileOf(name, keys string) []byte { return taskText(name, []byte(keys)) }

// Audit does something and writes it into the log of changes, as the changes of the API are.
func (r Folder) Audit(action, target, reason string, do func() error) error {
	return r.change(action, target, reason, do)
}

func putTask(r *Visit) (any, error) {
	name := r.PathValue("name")
	keys, err := taskKeys(r.Header.Get("Content-Type"), r.body, name)
	if err != nil {
		return nil, err
	}
	text, isNew, err := Folder{r}.Save(name, keys, r.Header.Get("If-Match"), r.Header.Get("Sched-Reason"))
	if err != nil {
		return nil, err
	}
	shown, err := definitionOf(r, name)
	answer := content{value: shown, header: map[string]string{"ETag": tagOf(text)}}
	if isNew {
		answer.status = http.StatusCreated
	}
	return answer, err
}

// Save writes a task with keys, which are YAML, and returns the text of its file. The visitor has
// seen the file with the ETag tag; "" for a new task. The rest of the visit sees the schedule as it
// is then.
func (r Folder) Save(name string, keys []byte, tag, reason string) (text []byte, isNew bool, err error) {
	if err := checkName(name); err != nil {
		return nil, false, err
	}
	err = r.server.edit(func() error {
		old, err := r.readSeen(name, tag)
		if err != nil {
			return err
		}
		text, isNew = taskText(name, keys), old == nil
		if before, _ := keysIn(old, name); !isNew && bytes.Equal(taskText(name, before), text) {
			text = old // the file says the same already, perhaps in other words
			return nil
		}
		after, err := r.write(name, old, text, reason)
		if err == nil {
			r.setSchedule(after)
		}
		return err
	})
	return text, isNew, err
}

// write replaces the file of a task, and returns the schedule with it. The caller has seen the text
// old; nil for none.
func (r Folder) write(name string, old, text []byte, reason string) (after *schedule.Schedule, err error) {
	path := r.server.taskFile(name)
	after, err = r.server.Schedules.Check(map[string][]byte{path: text})
	if err == nil {
		err = refuseWrite(after, name, path)
	}
	if err != nil {
		return nil, unprocessable(err)
	}
	err = r.change("write", name, reason, func() error {
		if err := unchanged(path, old); err != nil {
			return err
		}
		return statedir.Replace(path, text)
	})
	r.server.current.forget()
	return after, err
}

func deleteTask(r *Visit) (any, error) {
	return nil, Folder{r}.Remove(r.PathValue("name"), r.Header.Get("If-Match"), r.Header.Get("Sched-Reason"))
}

// Remove removes a task. The visitor has seen the file with the ETag tag.
func (r Folder) Remove(name, tag, reason string) error {
	return r.server.edit(func() error {
		old, err := r.readForEdit(name)
		if err != nil {
			return err
		}
		if old == nil {
			_, err := view.FindTask(r.Schedule, name)
			return err
		}
		if tag == "" {
			return NewProblem(http.StatusPreconditionRequired, getFirst,
				"If-Match does not say what to remove of %s", name)
		}
		if err := checkSeen(name, old, tag); err != nil {
			return err
		}
		path := r.server.taskFile(name)
		if _, err := r.server.Schedules.Check(map[string][]byte{path: nil}); err != nil {
			return unprocessable(err)
		}
		err = r.change("remove", name, reason, func() error {
			if err := unchanged(path, old); err != nil {
				return err
			}
			if err := os.Remove(path); err != nil {
				return err
			}
			statedir.SyncDir(filepath.Dir(path))
			return nil
		})
		r.server.current.forget()
		return err
	})
}

// readSeen returns the text of the file of a task that is to be written; nil for a new task. The
// error also says that the file is not the one that the visitor has seen.
func (r Folder) readSeen(name, tag string) (old []byte, err error) {
	old, err = r.readForEdit(name)
	switch {
	case err != nil:
		return nil, err
	case old != nil:
		return old, checkSeen(name, old, tag)
	case tag != "":
		return nil, NewProblem(http.StatusPreconditionFailed, "leave If-Match out for a new task",
			"there is no task %s in the folder", name)
	}
	return nil, nil
}

// readForEdit has the rest of the visit see the schedule as it is now, and returns the text of the
// file of a task; nil if there is no such task. The error says that the schedule is invalid, or
// that the task is defined elsewhere.
func (r Folder) readForEdit(name string) (old []byte, err error) {
	now, err := r.server.Schedules.Check(nil)
	if err != nil {
		p := conflict("correct it first; `sched check` shows what is wrong", "the schedule is invalid now")
		p.Problems = ProblemOf(err).Problems
		return nil, p
	}
	r.setSchedule(now)
	path := r.server.taskFile(name)
	if t, err := view.FindTask(now, name); err == nil && fileOf(now, t.Place) != path {
		return nil, definedElsewhere(t)
	}
	old, err = readOwn(now, name, path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return old, err
}

func definedElsewhere(t *schedule.Task) error {
	return view.Fail(view.Conflict, "edit it there", "%s is defined at %s", t.Name, view.Place(t))
}

const getFirst = "GET it, and send its ETag as If-Match"

// checkSeen returns an error if tag is not the ETag of the text that the file of a task has.
func checkSeen(name string, text []byte, tag string) error {
	switch fileTag(tag) {
	case tagOf(text), "*": // whatever is there (RFC 9110, 13.1.1)
		return nil
	case "":
		return NewProblem(http.StatusPreconditionRequired, getFirst, "%s is there already", name)
	}
	return NewProblem(http.StatusPreconditionFailed, "GET it again",
		"somebody has changed %s since you have seen it", name)
}

// refuseWrite returns why a task may not be written, though the schedule would be valid with it.
func refuseWrite(after *schedule.Schedule, name, path string) error {
	t, err := view.FindTask(after, name)
	if err != nil {
		return view.Fail(view.Conflict, "let include read it", "the schedule would not read %s", path)
	}
	if t.As.User != "" || t.As.Group != "" {
		return forbidden("write it into the schedule itself", "a task that runs as another user cannot be written here")
	}
	for _, other := range after.Tasks {
		if other != t && fileOf(after, other.Place) == path {
			return NewProblem(http.StatusUnprocessableEntity, "write one task",
				"there would be another task in the file: %s", other.Name)
		}
	}
	if fileOf(after, t.Place) != path {
		return definedElsewhere(t)
	}
	return nil
}

func unprocessable(err error) error {
	var invalid *load.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	p := NewProblem(http.StatusUnprocessableEntity, "",
		"with this the schedule would be invalid, so nothing was written")
	p.Problems = problemTexts(invalid.Problems)
	return p
}

// A Draft is a task of the folder of --edit as somebody wants it to be. It writes nothing: see
// Save.
type Draft struct {
	Name, Keys string             // Keys is YAML, as PUT takes it
	Old        string             // the keys that are written now; "" for a new task
	Tag        string             // the ETag of the file; "" for a new task
	Task       *schedule.Task     // as it would be; nil with problems
	After      *schedule.Schedule // with the task; nil with problems
	Problems   []schedule.Problem // lines and columns of problems in the task count in Keys
}

// Written returns a task as it is written in the folder of --edit. The error says why it cannot be
// edited.
func (r Folder) Written(name string) (Draft, error) {
	t, err := view.FindTask(r.Schedule, name)
	if err != nil {
		return Draft{}, err
	}
	path := r.server.taskFile(name)
	if fileOf(r.Schedule, t.Place) != path {
		return Draft{}, definedElsewhere(t)
	}
	text, err := readOwn(r.Schedule, name, path)
	keys, _ := keysIn(text, name)
	return Draft{Name: name, Keys: string(keys), Old: string(keys), Tag: tagOf(text)}, err
}

// Check returns the draft of a task with these keys, with the problems that PUT would find. The
// visitor has seen the file with the ETag tag; "" for a new task.
func (r Folder) Check(name, keys, tag string) (Draft, error) {
	d := Draft{Name: name, Keys: keys, Tag: tag}
	if err := checkName(name); err != nil {
		return d, err
	}
	text, err := r.readSeen(name, tag)
	if err != nil {
		return d, err
	}
	old, _ := keysIn(text, name)
	d.Old = string(old)
	path := r.server.taskFile(name)
	after, err := r.server.Schedules.Check(map[string][]byte{path: taskText(name, []byte(keys))})
	if err == nil {
		if err = refuseWrite(after, name, path); err == nil {
			d.After = after
			d.Task, err = view.FindTask(after, name)
		}
		return d, err
	}
	var invalid *load.InvalidError
	if !errors.As(err, &invalid) {
		return d, err
	}
	for _, problem := range invalid.Problems {
		if fileOf(r.Schedule, problem.Place) == path {
			problem.Place.File = ""
			problem.Place.Line = max(1, problem.Place.Line-headLines)
			problem.Place.Column = max(1, problem.Place.Column-len(indent))
		}
		d.Problems = append(d.Problems, problem)
	}
	return d, nil
}
