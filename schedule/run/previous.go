package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/boot"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
	"sched/schedule/statedir"
)

// How the runs of a task ended is kept in a small file, outcomes/TASK in the state folder, for the hooks that ask how the run
// before ended: on_recovery, and those with `when: changed`. It is there for tasks that have such hooks, and while it is there it has
// every run that ended since it was made: a line is the id of a run and its outcome, in the order of their ends. Where it does not
// say what was before a run, the history does (previous).
//
// It is not synced. So its first line names the boot of the machine: after another one it may lack what a power cut took, and
// is made anew. Where the system does not tell boots apart there is no file.
type outcomes struct {
	dir  string // the state folder
	task string
}

// largestOutcomes is how large a file may grow before it is cut to keptOutcomes runs, in bytes: some 90 runs.
const largestOutcomes = 4 << 10

func outcomesDir(dir string) string { return filepath.Join(dir, "outcomes") }

func (o outcomes) path() string {
	return filepath.Join(outcomesDir(o.dir), strings.ReplaceAll(o.task, "/", "+"))
}

// needsOutcomes reports whether a hook of the task asks how the run before ended.
func needsOutcomes(task *schedule.Task) bool {
	changed := func(h schedule.Hook) bool { return h.Notify != nil && h.Notify.When == schedule.Changed }
	hooks := task.Hooks
	return len(hooks.OnRecovery) > 0 || slices.ContainsFunc(slices.Concat(hooks.After, hooks.OnSuccess, hooks.OnFailure), changed)
}

// keepOutcome writes down how a run of the task ended, before its own file says that it has. For a task whose hooks do not ask, it
// removes the file: the runs of a time without such hooks would be missing in it.
func (r *Run) keepOutcome(result outcome.Record) {
	o := outcomes{r.Dir, result.Task}
	switch {
	case statedir.IsSpare(r.Dir), !result.Ran(): // PutAway does it; a skip is no news of how the task does
	case needsOutcomes(&r.task) && boot.ID() != "":
		o.add(true, result)
	default:
		unix.Unlink(o.path()) // os.Remove asks a second time where there is none
	}
}

// keepOutcomes adds the records that go into the history to the files of their tasks, where these are there and lack them: those
// of runs that ended in a spare state folder, and of runs without a file, which a tick calls lost.
func keepOutcomes(dir string, ended []Ended) {
	files, err := os.ReadDir(outcomesDir(dir))
	if err != nil || len(files) == 0 {
		return
	}
	of := map[outcomes][]outcome.Record{}
	for _, e := range ended {
		if e.Ran() {
			o := outcomes{dir, e.Task}
			of[o] = append(of[o], e.Record)
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
		if err := statedir.MakeDir(outcomesDir(o.dir)); err != nil {
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
	list, err := parseOutcomes(text)
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
			lines = appendOutcome(lines, r.Run, r.Outcome)
		}
	}
	if anew || len(text)+len(lines) > largestOutcomes {
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

// previous returns how the task's newest run before the given one ended, of those that were neither skipped nor missed; false where
// there was none.
func previous(dir, task, run string) (last outcome.Outcome, ok bool) {
	if text, err := statedir.ReadFile(outcomes{dir, task}.path()); err == nil {
		if list, err := parseOutcomes(text); err == nil {
			if last, ok := list.before(run); ok {
				return last, true
			}
		}
	}
	found, last := recorded(dir, task, run)
	return last, found != ""
}

// recorded is previous by the records in runfiles and in the history. It returns the id of the run, empty where there is none.
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
