package runfile

import (
	"os"

	"sched/schedule/statedir"
)

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
