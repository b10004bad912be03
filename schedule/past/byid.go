package past

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sched/schedule/humanize"
	"sched/schedule/state"
)

// maxShown bounds the candidates that an AmbiguousError lists.
const maxShown = 5

// An AmbiguousError says that an id stands for several runs.
type AmbiguousError struct {
	ID         string
	Candidates []string // at most five, the newest first
	More       bool     // there are others
}

func (e *AmbiguousError) Error() string {
	more := ""
	if e.More {
		more = ", …"
	}
	return fmt.Sprintf("run %s could be any of %s%s", e.ID, strings.Join(e.Candidates, ", "), more)
}

// ambiguous returns the error for an id that stands for several runs, the newest first.
func ambiguous(id string, runs []string) error {
	return &AmbiguousError{ID: id, Candidates: runs[:min(maxShown, len(runs))], More: len(runs) > maxShown}
}

// minTail is how many characters of the end of an id are enough: the index run_tail has so many.
const minTail = 4

// maxSearched bounds how many ids are read: no index has the beginnings of their last parts.
const maxSearched = 10000

// candidates returns the runs that id may stand for, in their order. If id is a whole id, it
// returns that id alone. If id is neither the beginning nor the end of an id, it may be the
// beginning of humanize.ShortRun, among the newest maxSearched runs. It never returns many more
// than are shown.
func candidates(ctx context.Context, q state.Querier, id string) ([]string, error) {
	if id == "" {
		return nil, nil
	}
	ids, err := state.Only[string](ctx, q, "SELECT id FROM run WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
		id, id+"\U0010FFFF", maxShown+1)
	if err != nil || slices.Contains(ids, id) {
		return ids[:min(1, len(ids))], err // the id itself comes before ids that begin with it
	}
	if len(id) >= minTail {
		ends, err := state.Only[string](ctx, q, `SELECT id FROM run
			WHERE substr(id, -4) = substr(?1, -4) AND substr(id, -length(?1)) = ?1 LIMIT ?2`, id, maxShown+1)
		if err != nil {
			return nil, err
		}
		ids = append(ids, ends...)
	}
	if len(id) >= minTail && len(ids) == 0 {
		return state.Only[string](ctx, q, `SELECT id FROM (SELECT id FROM run ORDER BY id DESC LIMIT ?3)
			WHERE length(id) = 36 AND substr(id, 25, length(?1)) = ?1 ORDER BY id LIMIT ?2`,
			id, maxShown+1, maxSearched)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// OneRun returns the id that name stands for, by the rules of Get; empty if no id fits.
func OneRun(ids []string, name string) (string, error) {
	var found, shortFound []string
	for _, id := range ids {
		switch {
		case id == name:
			return id, nil
		case len(name) < minTail:
		case strings.HasPrefix(id, name) || strings.HasSuffix(id, name):
			found = append(found, id)
		case strings.HasPrefix(humanize.ShortRun(id), name):
			shortFound = append(shortFound, id)
		}
	}
	if len(found) == 0 {
		found = shortFound
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
