package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// ErrNotFound says that no run has that id.
var ErrNotFound = errors.New("no such run")

// shown bounds the candidates that an AmbiguousError lists.
const shown = 5

// An AmbiguousError says that an id stands for several runs.
type AmbiguousError struct {
	ID         string
	Candidates []string // at most five, newest first
	More       bool     // there are others
}

func (e *AmbiguousError) Error() string {
	more := ""
	if e.More {
		more = ", …"
	}
	return fmt.Sprintf("run %s could be any of %s%s", e.ID, strings.Join(e.Candidates, ", "), more)
}

// Get returns the run with that id, or the only one whose id starts or ends with it (from four
// characters on). Otherwise it returns ErrNotFound or an *AmbiguousError.
func (db *DB) Get(ctx context.Context, id string) (outcome.Record, error) {
	var runs []string
	var records []outcome.Record
	err := db.file.Do(func(conn *sql.DB) (err error) {
		if runs, err = candidates(ctx, conn, id); err != nil || len(runs) != 1 {
			return err
		}
		records, err = db.find(ctx, conn, selectRuns+"run = ?", runs[0])
		return err
	})
	switch {
	case err != nil:
		return outcome.Record{}, err
	case len(runs) > 1:
		return outcome.Record{}, ambiguous(id, runs)
	case len(records) == 0:
		return outcome.Record{}, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	return records[0], nil
}

// Unknown returns those of the runs that have no row, by their whole ids.
func (db *DB) Unknown(ctx context.Context, runs []string) (unknown []string, err error) {
	if len(runs) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(runs)
	if err != nil {
		return nil, err
	}
	err = db.file.Do(func(conn *sql.DB) (err error) {
		unknown, err = texts(ctx, conn,
			"SELECT value FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM runs WHERE run = value)", string(list))
		return err
	})
	return unknown, err
}

// candidates are the runs that id may stand for: id alone if it exists, else a few more than shown.
func candidates(ctx context.Context, conn *sql.DB, id string) ([]string, error) {
	if id == "" {
		return nil, nil
	}
	runs, err := texts(ctx, conn, "SELECT run FROM runs WHERE run >= ? AND run < ? ORDER BY run LIMIT ?",
		id, id+"\U0010FFFF", shown+1)
	if err != nil || slices.Contains(runs, id) {
		return runs[:min(1, len(runs))], err // the id itself sorts before those it starts
	}
	if len(id) >= 4 {
		ends, err := texts(ctx, conn, `SELECT run FROM runs
			WHERE substr(run, -4) = substr(?1, -4) AND substr(run, -length(?1)) = ?1 LIMIT ?2`, id, shown+1)
		if err != nil {
			return nil, err
		}
		runs = append(runs, ends...)
	}
	slices.Sort(runs)
	return slices.Compact(runs), nil
}

func ambiguous(id string, runs []string) error {
	slices.Reverse(runs)
	return &AmbiguousError{ID: id, Candidates: runs[:min(shown, len(runs))], More: len(runs) > shown}
}

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func texts(ctx context.Context, conn queryer, query string, args ...any) ([]string, error) {
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// aheadBy is how far ahead of the clock a run may have begun before the clock is taken to have been wrong then.
const aheadBy = time.Minute

// NewestBefore returns the run that began last by the clock of now, instead of a last that began by
// a clock ahead of it. It looks among the newest hundred that find finds; for none it returns last.
func NewestBefore(last outcome.Record, now time.Time, find func(Query) ([]outcome.Record, error)) outcome.Record {
	if !last.Started.After(now.Add(aheadBy)) {
		return last
	}
	past, err := find(Query{Task: last.Task, Outcomes: outcome.Ran, Until: now, Limit: 100})
	if err != nil {
		return last
	}
	var newest outcome.Record
	for _, r := range past {
		if !r.Started.After(now) && r.Started.After(newest.Started) {
			newest = r
		}
	}
	if newest.Run == "" {
		return last
	}
	return newest
}

// OneRun returns the id that name stands for, like Get; empty for none.
func OneRun(ids []string, name string) (string, error) {
	var found []string
	for _, id := range ids {
		switch {
		case id == name:
			return id, nil
		case len(name) >= 4 && (strings.HasPrefix(id, name) || strings.HasSuffix(id, name)):
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 0:
		return "", nil
	case len(found) > 1:
		slices.Reverse(found)
		return "", &AmbiguousError{ID: name, Candidates: found[:min(shown, len(found))], More: len(found) > shown}
	}
	return found[0], nil
}
