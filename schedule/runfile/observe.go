package runfile

import (
	"bytes"
	"encoding/json"
	"os"

	"sched/schedule/statedir"
)

// An Observer reads the file of a run that other processes watch, and stays with it to its end: also
// when a tick has put the run away and the file has another name.
type Observer struct {
	id   string
	file *os.File
}

// Observe opens the file of a run; the error is os.ErrNotExist when there is none.
func Observe(state, id string) (*Observer, error) {
	file, err := os.OpenFile(Path(state, id), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	return &Observer{id, file}, nil
}

// Read reads the file, and reports whether somebody watches the run. The error is os.ErrNotExist when
// the file has become that of another run.
func (o *Observer) Read() (log State, watched bool, err error) {
	watched = statedir.HeldNow(o.file)
	log, err = parse(o.file)
	if err == nil && log.Begin.Run != o.id {
		err = os.ErrNotExist
	}
	return log, watched, err
}

// RequestStop asks those who watch the run to stop it.
func (o *Observer) RequestStop(s StopRequest) error {
	s.Run = o.id
	return (&File{file: o.file}).Append(Event{Stop: &s})
}

// Close ends the look.
func (o *Observer) Close() error { return o.file.Close() }

// StopRequested returns what somebody who wants the run stopped wrote into its file. It is asked for
// every attempt, so it looks for that line alone.
func (r *File) StopRequested() (StopRequest, bool) {
	text, err := statedir.ReadAll(r.file)
	start := []byte("\n{\"stop\":")
	if err != nil || !bytes.Contains(text, start) { // which is much faster than to look for the last
		return StopRequest{}, false
	}
	row, _, _ := bytes.Cut(text[bytes.LastIndex(text, start)+1:], []byte{'\n'})
	var e Event
	if json.Unmarshal(row, &e) != nil || e.Stop == nil || e.Stop.Run != r.Record.Run {
		return StopRequest{}, false
	}
	return *e.Stop, true
}
