package runfile

import (
	"errors"
	"os"
	"strings"

	"sched/schedule/outcome"
	"sched/schedule/statedir"
)

// ErrAlive says that a process watches the run.
var ErrAlive = errors.New("the run is alive")

// Inherit returns the run whose locked file this process inherited from the one that began the run.
func Inherit(file *os.File) (*File, State, error) {
	state, err := parse(file)
	return &File{Record: state.Begin, file: file}, state, err
}

// Take locks the file of a run that is not alive, to finish it. It returns ErrAlive when the run is,
// and an error that is os.ErrNotExist when there is no such run.
func Take(dir, id string) (*File, State, error) {
	file, state, err := takeFile(dir, id)
	if err == nil && state.supervised(dir) {
		file.Close()
		return nil, State{}, ErrAlive
	}
	return file, state, err
}

// Mark opens the file at path, and locks it, in which hooks note that they were started that are of no run. It makes the file, with the
// record as its beginning, where there is none.
func Mark(path string, record outcome.Record) (*File, State, error) {
	file, err := statedir.OpenLocked(path, os.O_RDWR|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return nil, State{}, err
	}
	marks := &File{Record: record, file: file}
	state, err := parse(file)
	if errors.Is(err, ErrUnreadable) {
		if err = marks.Append(Event{Begin: &record}); err == nil {
			state, err = parse(file)
		}
	}
	if err != nil {
		file.Close()
		return nil, State{}, err
	}
	return marks, state, nil
}

// TakeOver is Take for the process that has taken the place of a supervisor: it also gets the runs that were given to that. The
// error is ErrAlive for a run that another process watches or looks at, and for one that was given to another supervisor.
func TakeOver(dir, id, supervisor string) (*File, State, error) {
	file, state, err := takeFile(dir, id)
	if err == nil && state.Supervisor != supervisor {
		file.Close()
		return nil, State{}, ErrAlive
	}
	return file, state, err
}

// takeFile locks the file of a run that no process has open.
func takeFile(dir, id string) (*File, State, error) {
	file, err := statedir.OpenLocked(Path(dir, id), os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, State{}, aliveIf(err)
	}
	state, err := parse(file)
	if err != nil {
		file.Close()
		return nil, State{}, err
	}
	return &File{Record: state.Begin, file: file}, state, nil
}

// aliveIf turns the error of a lock that another process holds into ErrAlive.
func aliveIf(err error) error {
	if errors.Is(err, statedir.ErrLocked) {
		return ErrAlive
	}
	return err
}

// Read reads the file of a run, and reports whether the run is alive. The error is os.ErrNotExist when there is no such
// run.
func Read(dir, id string) (state State, alive bool, err error) {
	file, err := statedir.OpenPlain(Path(dir, id), os.O_RDONLY)
	if err != nil {
		return State{}, false, err
	}
	defer file.Close()
	alive = statedir.Held(file)
	state, err = parse(file)
	return state, alive || err == nil && state.supervised(dir), err
}

// List returns the ids of the runs that have a file, oldest first. No folder means no runs.
func List(dir string) ([]string, error) {
	entries, err := os.ReadDir(runsDir(dir))
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

// SetAside renames the file of a run that is unreadable, so that it is met only once.
func SetAside(dir, id string) (to string, err error) {
	to = Path(dir, id) + ".unreadable"
	return to, os.Rename(Path(dir, id), to)
}

// An Observer reads the file of a run that other processes watch, and stays with it to its end: also
// when a tick has put the run away and removed the file.
type Observer struct {
	dir  string
	file *os.File
}

// Observe opens the file of a run; the error is os.ErrNotExist when there is none.
func Observe(dir, id string) (*Observer, error) {
	file, err := statedir.OpenPlain(Path(dir, id), os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	return &Observer{dir, file}, nil
}

// Read reads the file, and reports whether the run is alive.
func (o *Observer) Read() (state State, alive bool, err error) {
	alive = statedir.HeldNow(o.file)
	state, err = parse(o.file)
	return state, alive || err == nil && state.supervised(o.dir), err
}

// RequestStop asks the processes that watch the run to stop it.
func (o *Observer) RequestStop(s StopRequest) error {
	return (&File{file: o.file}).Append(Event{Stop: &s})
}

// Close closes the file; the run goes on.
func (o *Observer) Close() error { return o.file.Close() }
