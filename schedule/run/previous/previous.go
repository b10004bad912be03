package previous

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/boot"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
	"sched/schedule/statedir"
)

// outcomes is the file of a task.
type outcomes struct {
	dir  string // the state folder
	task string
}

// largest is how many bytes a file may have before it is cut to kept runs: some 90 runs.
const largest = 4 << 10

func folderOf(dir string) string { return filepath.Join(dir, "outcomes") }

func (o outcomes) path() string {
	return filepath.Join(folderOf(o.dir), strings.ReplaceAll(o.task, "/", "+"))
}

// isAsked reports whether a hook of the task asks how the run before ended.
func isAsked(task *schedule.Task) bool {
	changed := func(h schedule.Hook) bool { return h.Notify != nil && h.Notify.When == schedule.Changed }
	hooks := task.Hooks
	return len(hooks.OnRecovery) > 0 || slices.ContainsFunc(slices.Concat(hooks.After, hooks.OnSuccess, hooks.OnFailure), changed)
}

// Keep writes down how a run of the task ended. Call it before the file of the run says that it has. For a task whose hooks do not ask,
// it removes the file: the runs of a time without such hooks would be missing in it. In a spare state folder it does nothing: Add does
// it later.
func Keep(dir string, task *schedule.Task, result outcome.Record) {
	o := outcomes{dir, result.Task}
	switch {
	case statedir.IsSpare(dir), !result.Ran(): // a skip is no news of how the task does
	case isAsked(task) && boot.ID() != "":
		o.add(true, result)
	default:
		os.Remove(o.path())
	}
}

// Add adds records that are in the history now to the files of their tasks, where these are there and lack them: those
// of runs that ended in a spare state folder, and of runs without a file, which a tick calls lost.
func Add(dir string, records []outcome.Record) {
	files, err := os.ReadDir(folderOf(dir))
	if err != nil || len(files) == 0 {
		return
	}
	of := map[outcomes][]outcome.Record{}
	for _, r := range records {
		if r.Ran() {
			o := outcomes{dir, r.Task}
			of[o] = append(of[o], r)
		}
	}
	for o, records := range of {
		o.add(false, records...)
	}
}

// add adds the runs that the file lacks. It makes the file where it is missing, if create is true. Where a run cannot be added
// there is no file any more.
func (o outcomes) add(create bool, records ...outcome.Record) {
	file, err := o.open(create)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err == nil {
		defer file.Close()
		err = o.addTo(file, create, records)
	}
	if err != nil {
		os.Remove(o.path())
	}
}

// open opens the file and locks it: adding is reading and writing.
func (o outcomes) open(create bool) (file *os.File, err error) {
	const patience = time.Second // others have it for microseconds
	flags := os.O_RDWR | os.O_APPEND
	if create {
		flags |= os.O_CREATE
		if err := statedir.MakeDir(folderOf(o.dir)); err != nil {
			return nil, err
		}
	}
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		file, err = statedir.OpenLocked(o.path(), flags)
		if !errors.Is(err, statedir.ErrLocked) || time.Now().After(end) {
			return file, err
		}
	}
}

func (o outcomes) addTo(file *os.File, create bool, records []outcome.Record) error {
	text, err := statedir.ReadAll(file)
	if err != nil {
		return err
	}
	list, err := parse(text)
	if err != nil && !create {
		return err
	}
	anew := err != nil
	if anew {
		list = o.begin()
	}
	var lines []byte
	for _, r := range records {
		if _, ok := list.ended[r.Run]; !ok {
			list.ended[r.Run] = r.Outcome
			lines = appendLine(lines, r.Run, r.Outcome)
		}
	}
	if anew || len(text)+len(lines) > largest {
		lines = list.text()
		if err := file.Truncate(0); err != nil {
			return err
		}
	}
	_, err = file.Write(lines)
	return err
}

// begin returns what a new file says: the newest run that ended before it was made.
func (o outcomes) begin() outcomeList {
	list := outcomeList{boot: boot.ID(), ended: map[string]outcome.Outcome{}}
	const afterAll = "~"
	if run, last := recorded(o.dir, o.task, afterAll); run != "" {
		list.since, list.ended[run] = run, last
	}
	return list
}

// Outcome returns how the task's newest run before the given one ended, of those that were neither skipped nor missed; false where
// there was none. It asks the file first, and opens the history only where that does not say.
func Outcome(dir, task, run string) (last outcome.Outcome, ok bool) {
	if text, err := statedir.ReadFile(outcomes{dir, task}.path()); err == nil {
		if list, err := parse(text); err == nil {
			if last, ok := list.before(run); ok {
				return last, true
			}
		}
	}
	found, last := recorded(dir, task, run)
	return last, found != ""
}

// recorded is Outcome by the records in runfiles and in the history. It returns the id of the run, empty where there is none.
func recorded(dir, task, run string) (id string, last outcome.Outcome) {
	ids, _ := runfile.List(dir)
	for _, other := range ids {
		if other >= run {
			break
		}
		if state, _, err := runfile.Read(dir, other); err == nil && state.End != nil && state.End.Task == task {
			id, last = other, state.End.Outcome
		}
	}
	db, err := history.OpenRead(dir)
	if err != nil {
		return id, last
	}
	defer db.Close()
	if record, ok, err := db.Previous(context.Background(), task, run); ok && err == nil && record.Run > id {
		return record.Run, record.Outcome
	}
	return id, last
}
