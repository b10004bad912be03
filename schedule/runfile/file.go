package runfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"

	"sched/schedule/statedir"
)

// A File is the file of one run: runs/ID.json in the state folder, one JSON event a line, the
// first of them the record with which the run began. Events are only ever appended, each with one
// write(2), so a process that is killed leaves at most one torn line, which is ignored. A file may hold
// the events of earlier runs of its task, which are over (Recycle); what counts is the last beginning.
//
// The file is locked (flock(2)) by the processes that watch the run: its witness and its
// supervisor, or the tick for a foreground run. Where the lock is free nobody watches, and who
// takes it may finish the run. There are no pid files, and no pid is ever mistaken for another.
type File struct {
	Record outcome.Record
	file   *os.File
}

// An Event is one line of a run's file; exactly one field is set.
type Event struct {
	Begin    *outcome.Record `json:"begin,omitempty"`
	Attempt  *Attempt        `json:"attempt,omitempty"`
	Result   *outcome.Record `json:"result,omitempty"` // how the command ended; its hooks may still come. No snapshot
	Note     string          `json:"note,omitempty"`   // for the record, of the run while its command lives
	Hook     string          `json:"hook,omitempty"`   // this hook was started; written by the hook's own process
	Deferral *Deferral       `json:"wait,omitempty"`   // the next attempt was put off; nobody watches until then
	Stop     *StopRequest    `json:"stop,omitempty"`   // somebody asked to stop the run
	End      *outcome.Record `json:"end,omitempty"`    // the run is finished, and waits to be put into the history. No snapshot
}

// An Attempt says that the command was started.
type Attempt struct {
	Number int       `json:"number"`
	PID    int       `json:"pid"` // and the id of its process group; 0 right before it is started after a wait
	At     time.Time `json:"at"`
}

// A Deferral says that the next attempt is left to a later tick, since it is a long time until then.
type Deferral struct {
	Attempt   int            `json:"attempt"`
	Until     time.Time      `json:"until"`
	HeldSince time.Time      `json:"held,omitzero"`   // since when ticks have found the mutex held
	Fence     int64          `json:"fence,omitempty"` // of the lock that a tick took for the attempt
	Record    outcome.Record `json:"record"`          // what the attempts so far came to. No snapshot
}

// A StopRequest asks the processes that watch a run to stop it. It names the run: the file may have become
// that of another one at the moment in which it was written.
type StopRequest struct {
	Run string    `json:"run"`
	By  string    `json:"by"`
	At  time.Time `json:"at"`
}

// State is what the file of a run says.
type State struct {
	Begin    outcome.Record
	Attempt  *Attempt // the last one
	Result   *outcome.Record
	Notes    []string        // of a run without a Result; later they are in that
	Hooks    map[string]bool // those that were started
	Deferral *Deferral       // the last one, which may be over: see Waiting
	Stop     *StopRequest
	End      *outcome.Record
}

// Deferred reports whether the run waits for a tick to go on with its next attempt. Nobody watches it.
func (l State) Deferred() bool {
	return l.Deferral != nil && l.Result == nil && l.End == nil && (l.Attempt == nil || l.Attempt.Number < l.Deferral.Attempt)
}

// ErrUnreadable says that the file of a run does not tell its story: a power cut may leave an empty
// one.
var ErrUnreadable = errors.New("the file of a run cannot be read")

// ErrAlive says that a process watches the run.
var ErrAlive = errors.New("the run is alive")

// OutputPath names the file that captures what a run prints.
func OutputPath(state string, r outcome.Record) string {
	return filepath.Join(state, "output", strings.ReplaceAll(r.Task, "/", "+"), r.Run+".log")
}

func runsDir(state string) string { return filepath.Join(state, "runs") }

// Path names the file of a run.
func Path(state, id string) string { return filepath.Join(runsDir(state), id+".json") }

// Create makes the file of a run that is about to start, locked by the caller. Nobody sees it
// before it is locked and complete.
func Create(state string, r outcome.Record) (*File, error) {
	draft := filepath.Join(runsDir(state), ".draft-"+r.Run)
	file, err := openDraft(state, r.Task, draft)
	if err != nil {
		return nil, err
	}
	run := &File{Record: r, file: file}
	err = run.Append(Event{Begin: &r})
	if err == nil {
		err = statedir.Rename(draft, Path(state, r.Run))
	}
	if err != nil {
		file.Close()
		os.Remove(draft)
		return nil, err
	}
	return run, nil
}

// CreateEnded makes the file of a run that has ended where its own cannot be written. Nobody sees it before it is
// complete.
func CreateEnded(state string, begin, end outcome.Record) error {
	draft := filepath.Join(runsDir(state), ".draft-"+begin.Run)
	file, err := statedir.Open(draft, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND)
	if err != nil {
		return err
	}
	defer file.Close()
	run := &File{Record: begin, file: file}
	if err = run.Append(Event{Begin: &begin}); err == nil {
		err = run.Append(Event{End: &end})
	}
	if err == nil {
		err = statedir.Rename(draft, Path(state, begin.Run))
	}
	if err != nil {
		os.Remove(draft)
	}
	return err
}

// openDraft returns a file to begin a run in, locked: the one that Recycle left for the task, or a new
// one.
func openDraft(state, task, draft string) (*os.File, error) {
	if statedir.Rename(sparePath(state, task), draft) == nil {
		file, err := os.OpenFile(draft, os.O_RDWR|os.O_APPEND, 0)
		if err == nil && statedir.Lock(file) == nil {
			return file, nil
		}
		file.Close()
		os.Remove(draft) // another process looks at it at this moment
	}
	file, err := statedir.Open(draft, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	return file, statedir.Lock(file)
}

// Recycle forgets the file of a run that is in the history, and leaves it for the next run of the
// task: ext4 avoids the inodes of files that were removed in the last minutes, so removing and
// making a file for every run costs more than all the rest of it. Nor is it truncated, which makes
// ext4 write it to disk when it is closed. The error is os.ErrNotExist when another process was first.
func Recycle(state, id, task string) error {
	if info, err := os.Stat(Path(state, id)); err == nil && info.Size() > largestReused {
		return os.Remove(Path(state, id))
	}
	return statedir.Rename(Path(state, id), sparePath(state, task))
}

// largestReused is how large a file may grow with the events of many runs, in bytes.
const largestReused = 64 << 10

func sparePath(state, task string) string {
	return filepath.Join(runsDir(state), ".spare-"+strings.ReplaceAll(task, "/", "+"))
}

// Inherit returns the run whose locked file this process inherited from the one that began it.
func Inherit(file *os.File) (*File, State, error) {
	log, err := parse(file)
	return &File{Record: log.Begin, file: file}, log, err
}

// Take locks the file of a run that nobody watches, to finish it. It returns ErrWatched when
// somebody does, and an error that is os.ErrNotExist when there is no such run.
func Take(state, id string) (*File, State, error) {
	file, err := os.OpenFile(Path(state, id), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, State{}, err
	}
	if err := statedir.Lock(file); err != nil {
		file.Close()
		return nil, State{}, aliveIf(err)
	}
	log, err := parse(file)
	if err == nil && log.Begin.Run != id {
		err = os.ErrNotExist // it was recycled since we opened it
	}
	if err != nil {
		file.Close()
		return nil, State{}, err
	}
	return &File{Record: log.Begin, file: file}, log, nil
}

// aliveIf turns the error of a lock that another process holds into ErrWatched.
func aliveIf(err error) error {
	if errors.Is(err, statedir.ErrLocked) {
		return ErrAlive
	}
	return err
}

// Read reads the file of a run, and reports whether somebody watches it.
func Read(state, id string) (log State, watched bool, err error) {
	file, err := os.Open(Path(state, id))
	if err != nil {
		return State{}, false, err
	}
	defer file.Close()
	watched = statedir.Held(file)
	log, err = parse(file)
	if err == nil && log.Begin.Run != id {
		err = os.ErrNotExist // it was recycled since we opened it
	}
	return log, watched, err
}

// List returns the ids of the runs that have a file, oldest first. No folder means no runs.
func List(state string) ([]string, error) {
	entries, err := os.ReadDir(runsDir(state))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, entry := range entries {
		if id, ok := strings.CutSuffix(entry.Name(), ".json"); ok {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// Descriptor is what the processes that watch the run inherit.
func (r *File) Descriptor() *os.File { return r.file }

// Append adds one event. It begins with a line break, so that it stands alone even after a torn line.
func (r *File) Append(e Event) error { return statedir.AppendLine(r.file, e) }

// Sync makes what was appended survive a power cut.
func (r *File) Sync() error { return r.file.Sync() }

// Close stops watching the run. The lock is gone with the last process that has the descriptor.
func (r *File) Close() error { return r.file.Close() }

// SweepDrafts removes what a kill left in the moment in which the file of a run or a request was made, and the spare files
// of tasks that have not run for a day.
func SweepDrafts(state string, now time.Time) {
	drafts, _ := filepath.Glob(filepath.Join(runsDir(state), ".draft-*"))
	requests, _ := filepath.Glob(filepath.Join(waitingDir(state), ".draft-*"))
	spares, _ := filepath.Glob(filepath.Join(runsDir(state), ".spare-*"))
	for _, file := range slices.Concat(drafts, requests, spares) {
		if info, err := os.Stat(file); err == nil && info.ModTime().Before(now.Add(-24*time.Hour)) {
			os.Remove(file)
		}
	}
}

// SetAside renames the file of a run that is unreadable, so that it is met only once.
func SetAside(state, id string) (to string, err error) {
	to = Path(state, id) + ".unreadable"
	return to, os.Rename(Path(state, id), to)
}

// parse collects the events of a file. A torn last line is what a kill or a full disk left.
func parse(file *os.File) (State, error) {
	text, err := statedir.ReadAll(file)
	if err != nil {
		return State{}, err
	}
	log := State{Hooks: map[string]bool{}}
	last := max(0, bytes.LastIndex(text, []byte("\n{\"begin\":"))) // what is before is of other runs
	for line := range bytes.Lines(text[last:]) {
		var e Event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		log.add(e)
	}
	if log.Begin.Run == "" {
		return State{}, fmt.Errorf("%s: %w", file.Name(), ErrUnreadable)
	}
	return log, nil
}

func (l *State) add(e Event) {
	switch {
	case e.Begin != nil:
		l.Begin = *e.Begin
	case e.Attempt != nil:
		l.Attempt = e.Attempt
	case e.Result != nil:
		l.Result = e.Result
	case e.Note != "":
		l.Notes = append(l.Notes, e.Note)
	case e.Hook != "":
		l.Hooks[e.Hook] = true
	case e.Deferral != nil:
		l.Deferral = e.Deferral
		l.Begin.Fence = max(l.Begin.Fence, e.Deferral.Fence)
	case e.Stop != nil && e.Stop.Run == l.Begin.Run:
		l.Stop = e.Stop
	case e.End != nil:
		l.End = e.End
		l.End.Snapshot = l.Begin.Snapshot
	}
}
