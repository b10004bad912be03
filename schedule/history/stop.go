package history

import (
	"bytes"
	"encoding/json"
	"os"

	"sched/schedule/statedir"
)

// An Onlooker reads the file of a run that other processes watch, and stays with it to its end: also
// when a tick has put the run away and the file has another name.
type Onlooker struct {
	id   string
	file *os.File
}

// LookOn opens the file of a run; the error is os.ErrNotExist when there is none.
func LookOn(state, id string) (*Onlooker, error) {
	file, err := os.OpenFile(Path(state, id), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	return &Onlooker{id, file}, nil
}

// Look reads the file, and reports whether somebody watches the run. The error is os.ErrNotExist when
// the file has become that of another run.
func (o *Onlooker) Look() (log Log, watched bool, err error) {
	watched = statedir.HeldNow(o.file)
	log, err = read(o.file)
	if err == nil && log.Begin.Run != o.id {
		err = os.ErrNotExist
	}
	return log, watched, err
}

// Stop asks those who watch the run to stop it.
func (o *Onlooker) Stop(s Stop) error {
	s.Run = o.id
	return (&Run{file: o.file}).Append(Event{Stop: &s})
}

// Close ends the look.
func (o *Onlooker) Close() error { return o.file.Close() }

// StopAsked returns what somebody who wants the run stopped wrote into its file. It is asked for
// every attempt, so it looks for that line alone.
func (r *Run) StopAsked() (Stop, bool) {
	text, err := statedir.ReadAll(r.file)
	start := []byte("\n{\"stop\":")
	if err != nil || !bytes.Contains(text, start) { // which is much faster than to look for the last
		return Stop{}, false
	}
	row, _, _ := bytes.Cut(text[bytes.LastIndex(text, start)+1:], []byte{'\n'})
	var e Event
	if json.Unmarshal(row, &e) != nil || e.Stop == nil || e.Stop.Run != r.Record.Run {
		return Stop{}, false
	}
	return *e.Stop, true
}
