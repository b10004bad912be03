package history

import (
	"context"
	"slices"

	"sched/schedule/state"
)

// Records are the contents of a state folder at one moment. Close them after use.
type Records struct {
	*DB
	Live []state.Row // runs that live, or wait, the oldest first
	Lost []state.Row // runs whose process is dead; the next tick will finish them; the oldest first
	Err  error       // why the database cannot be read; then all else is empty
}

// Look opens the database of a state folder to read. If the database does not exist, the records
// are empty. Err of the records is the returned error.
func Look(ctx context.Context, dir string) (*Records, error) {
	r := &Records{}
	if r.DB, r.Err = OpenRead(dir); r.Err != nil {
		return r, r.Err
	}
	if r.Live, r.Lost, r.Err = r.DB.Going(ctx); r.Err != nil {
		r.DB.Close()
	}
	return r, r.Err
}

// Close closes the database.
func (r *Records) Close() error {
	if r.Err != nil { // it is not open
		return nil
	}
	return r.DB.Close()
}

// NotBegun returns the runs of a state folder that wait and have not begun: runs that somebody or a
// hook has asked for, and slots that wait for the store or for the end of a pause. The run that has
// waited longest comes first.
func NotBegun(dir string) ([]state.Row, error) {
	db, err := OpenRead(dir)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.Runs().Waiting(context.Background())
	return slices.DeleteFunc(rows, func(r state.Row) bool { return !r.NotBegun() }), err
}
