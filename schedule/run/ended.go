package run

import (
	"cmp"
	"context"
	"errors"
	"os"

	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/run/output"
	"sched/schedule/run/previous"
	"sched/schedule/runfile"
)

// An Ended is the record of a run that has ended, or of a slot without a run, on its way into the history.
type Ended struct {
	outcome.Record
	Dir      string // the state folder that has the files of the run; empty where there are none
	Unstated bool   // no tick has said yet how it ended
	File     string // the run whose file goes with it, where that is not the one of the record
}

// PutAway adds records to the history of the state folder. A record that is added twice is there
// once, so two processes may put the same runs away at the same time.
func (s Storage) PutAway(db *history.DB, ended []Ended) error {
	records := make([]outcome.Record, len(ended))
	for i, e := range ended {
		records[i] = e.Record
	}
	add := db.Add
	if s.Store != nil {
		add = db.AddShared
	}
	if err := add(context.Background(), records); err != nil {
		return err
	}
	previous.Add(s.Dir, records)
	return nil
}

// RemoveFiles removes the files of runs that are in the history. Where several processes do that, removed is called in the
// one of them that removed the file of the run.
func RemoveFiles(ended []Ended, removed func(Ended)) (err error) {
	for _, e := range ended {
		if e.Dir == "" {
			continue
		}
		path := output.Path(e.Dir, e.Record)
		if e.Output == "" && e.File == "" {
			os.Remove(path)
		}
		if info, err := os.Stat(output.HooksPath(path)); err == nil && info.Size() == 0 {
			os.Remove(output.HooksPath(path))
		}
		switch rerr := os.Remove(runfile.Path(e.Dir, cmp.Or(e.File, e.Run))); {
		case rerr == nil:
			removed(e)
		case !errors.Is(rerr, os.ErrNotExist):
			err = errors.Join(err, rerr)
		}
	}
	return err
}
