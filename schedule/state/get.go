package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNotFound says that no run has that id.
var ErrNotFound = errors.New("no such run")

// maxShown bounds the candidates that an AmbiguousError lists.
const maxShown = 5

// An AmbiguousError says that an id stands for several runs.
type AmbiguousError struct {
	ID         string
	Candidates []string // at most five, the newest first
	More       bool     // there are others
}

// ambiguous returns the error for an id that stands for several runs, the newest first.
func ambiguous(id string, runs []string) error {
	return &AmbiguousError{ID: id, Candidates: runs[:min(maxShown, len(runs))], More: len(runs) > maxShown}
}

func (e *AmbiguousError) Error() string {
	more := ""
	if e.More {
		more = ", …"
	}
	return fmt.Sprintf("run %s could be any of %s%s", e.ID, strings.Join(e.Candidates, ", "), more)
}

// Get returns the ended run with that id and its snapshot. If there is no such run, it returns the
// only run whose id begins with the text, or ends with it (from four characters on). People copy
// the end, because the ids of one minute begin alike. Otherwise it returns ErrNotFound or an
// *AmbiguousError.
func (r Runs) Get(ctx context.Context, id string) (Row, error) {
	var ids []string
	var found []Row
	err := r.store.read(ctx, func(q querier) (err error) {
		if ids, err = candidates(ctx, q, id); err != nil || len(ids) != 1 {
			return err
		}
		found, err = wholeRows(ctx, q, selectRows+"WHERE id = ?", ids[0])
		return err
	})
	switch {
	case err != nil:
		return Row{}, err
	case len(ids) > 1:
		slices.Reverse(ids)
		return Row{}, ambiguous(id, ids)
	case len(found) == 0 || found[0].Phase != Ended:
		return Row{}, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	return found[0], nil
}

// minTail is how many characters of the end of an id are enough: the index run_tail has so many.
const minTail = 4

// candidates returns the runs that id may stand for, in their order. If id is a whole id, it
// returns that id alone. It never returns many more than are shown.
func candidates(ctx context.Context, q querier, id string) ([]string, error) {
	if id == "" {
		return nil, nil
	}
	ids, err := column[string](ctx, q, "SELECT id FROM run WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
		id, id+"\U0010FFFF", maxShown+1)
	if err != nil || slices.Contains(ids, id) {
		return ids[:min(1, len(ids))], err // the id itself comes before ids that begin with it
	}
	if len(id) >= minTail {
		ends, err := column[string](ctx, q, `SELECT id FROM run
			WHERE substr(id, -4) = substr(?1, -4) AND substr(id, -length(?1)) = ?1 LIMIT ?2`, id, maxShown+1)
		if err != nil {
			return nil, err
		}
		ids = append(ids, ends...)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// OneRun returns the id that name stands for, by the rules of Get; empty if no id fits.
func OneRun(ids []string, name string) (string, error) {
	var found []string
	for _, id := range ids {
		switch {
		case id == name:
			return id, nil
		case len(name) >= minTail && (strings.HasPrefix(id, name) || strings.HasSuffix(id, name)):
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 0:
		return "", nil
	case len(found) > 1:
		slices.Reverse(found)
		return "", ambiguous(name, found)
	}
	return found[0], nil
}

// Row returns the row of a run with its snapshot, by its whole id. The error is ErrNotFound when
// the run has no row.
func (r Runs) Row(ctx context.Context, id string) (Row, error) {
	return ask(ctx, r.store, func(q querier) (Row, error) {
		found, err := wholeRows(ctx, q, selectRows+"WHERE id = ?", id)
		switch {
		case err != nil:
			return Row{}, err
		case len(found) == 0:
			return Row{}, ErrNotFound
		}
		return found[0], nil
	})
}

// Last returns the newest row of each task that says how its command went. A task without such a
// row is not in the map. Prune keeps these rows.
func (r Runs) Last(ctx context.Context, tasks []string) (map[string]Row, error) {
	rows, err := askRows(ctx, r.store, `SELECT `+columnsOf("run")+`
		FROM json_each(?) AS name CROSS JOIN run ON run.rowid =
			(SELECT r.rowid FROM run AS r
			WHERE r.task = name.value AND r.outcome NOT IN ('skipped', 'missed') AND r.test = 0
			ORDER BY r.id DESC LIMIT 1)`, jsonTexts(tasks))
	last := make(map[string]Row, len(rows))
	for _, row := range rows {
		last[row.Task] = row
	}
	return last, err
}

// columnsOf names the table in each of the columns.
func columnsOf(table string) string {
	names := strings.Fields(strings.ReplaceAll(columns, ",", " "))
	return table + "." + strings.Join(names, ", "+table+".")
}

// Previous returns the newest row of the task that is older than run and says how its command went.
// It returns false when the task has no such row. The run itself need not have a row.
func (r Runs) Previous(ctx context.Context, task, run string) (Row, bool, error) {
	return neighbour(ctx, r.store, task, "id < ? ORDER BY id DESC", run)
}

// Following is like Previous for the oldest row that is newer than run.
func (r Runs) Following(ctx context.Context, task, run string) (Row, bool, error) {
	return neighbour(ctx, r.store, task, "id > ? ORDER BY id", run)
}

func neighbour(ctx context.Context, s store, task, where, run string) (Row, bool, error) {
	rows, err := askRows(ctx, s,
		selectRows+"INDEXED BY run_ran WHERE task = ? AND "+ran+" AND "+where+" LIMIT 1", task, run)
	if err != nil || len(rows) == 0 {
		return Row{}, false, err
	}
	return rows[0], true, nil
}
