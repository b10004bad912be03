package run

import (
	"context"
	"errors"
	"os"
	"slices"

	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
	"sched/schedule/statedir"
)

// An Ended run, or a slot that has no run, is to be put into the history.
type Ended struct {
	outcome.Record
	Dir      string // the state folder that has the files of the run; empty where there are none
	Unstated bool   // no tick has said yet how it ended
}

// PutAway adds what has ended to the history of the state folder, and then does what else the database is open for. What is
// added twice is there once, so two ticks, or a tick and a person who looks at the history, may do it at the same time.
func (s Storage) PutAway(ended []Ended, also func(*history.DB) error) error {
	if err := statedir.MakeDir(s.Dir); err != nil {
		return err
	}
	db, err := history.Open(s.Dir)
	if err != nil {
		return err
	}
	defer db.Close()
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
	return also(db)
}

// RemoveFiles removes the files of runs that are in the history, and calls removed for each run whose file this call removed
// and no other process.
func RemoveFiles(ended []Ended, removed func(Ended)) (err error) {
	for _, e := range ended {
		if e.Dir == "" {
			continue
		}
		output := runfile.OutputPath(e.Dir, e.Record)
		if e.Output == "" {
			recycleOutput(output)
		}
		if info, err := os.Stat(HooksPath(output)); err == nil && info.Size() == 0 {
			os.Remove(HooksPath(output))
		}
		switch rerr := runfile.Recycle(e.Dir, e.Run, e.Task); {
		case rerr == nil:
			removed(e)
		case !errors.Is(rerr, os.ErrNotExist):
			err = errors.Join(err, rerr)
		}
	}
	return err
}

// PutAwayEnded puts the runs of a state folder that have ended into its history, for those who want to read that; lost runs
// are left to the next tick. It returns the runs that live or wait for a deferred retry, and those that are lost.
func PutAwayEnded(dir string) (live, lost []runfile.State, err error) {
	live, lost, records, err := Survey(dir)
	if err != nil || len(records) == 0 {
		return live, lost, err
	}
	var ended []Ended
	for _, record := range records {
		ended = append(ended, Ended{Record: record, Dir: dir})
	}
	err = Storage{Dir: dir}.PutAway(ended, func(*history.DB) error { return nil })
	if err != nil {
		return live, lost, err
	}
	// A background run that failed keeps its file: the next tick has yet to say so.
	said := slices.DeleteFunc(ended, func(e Ended) bool { return e.Background && e.Outcome.Failure() })
	return live, lost, RemoveFiles(said, func(Ended) {})
}

// previous returns the record of the task's newest run before the given one that was neither skipped nor missed.
func previous(dir, task, run string) (last outcome.Record, ok bool) {
	ids, _ := runfile.List(dir)
	for _, id := range ids {
		if id >= run {
			break
		}
		if state, _, err := runfile.Read(dir, id); err == nil && state.End != nil && state.End.Task == task {
			last, ok = *state.End, true
		}
	}
	if ok {
		return last, true
	}
	db, err := history.OpenRead(dir)
	if err != nil {
		return outcome.Record{}, false
	}
	defer db.Close()
	last, ok, err = db.Previous(context.Background(), task, run)
	return last, ok && err == nil
}
