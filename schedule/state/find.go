package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state/sqltype"
)

// A Query says which ended rows to find. A field that is zero restricts nothing. A row of several
// slots is found when any slot of it may lie between Since and Until.
type Query struct {
	Task      string
	Mutex     string
	Outcomes  []outcome.Outcome // of outcome.Filters
	Since     time.Time         // slots at or after it
	Until     time.Time         // slots before it
	Slot      time.Time         // exactly this slot
	Scheduled bool              // slots of the schedule alone: no runs that somebody or something asked for
	Below     Position          // rows below it: older ones
	Limit     int
}

// A Position is a place in the order of Find, just below one row. The zero Position is above all
// rows.
type Position struct {
	Slot time.Time
	ID   string
}

// Matches reports whether q describes a row of one slot, whatever its Limit.
func (q Query) Matches(r Row) bool {
	return (q.Task == "" || q.Task == r.Task) &&
		(q.Mutex == "" || q.Mutex == r.Mutex) &&
		(len(q.Outcomes) == 0 || q.hasOutcome(r)) &&
		(q.Since.IsZero() || !r.Slot.Before(q.Since)) &&
		(q.Until.IsZero() || r.Slot.Before(q.Until)) &&
		(q.Slot.IsZero() || r.Slot.Equal(q.Slot)) &&
		(!q.Scheduled || r.Scheduled) &&
		(q.Below == Position{} || NewestFirst(Row{Slot: q.Below.Slot, ID: q.Below.ID}, r) < 0)
}

// hasOutcome reports whether the outcome of the row is one of q.Outcomes.
func (q Query) hasOutcome(r Row) bool {
	return slices.Contains(q.Outcomes, r.Outcome) || r.Warned() && slices.Contains(q.Outcomes, outcome.Warned)
}

// sql states the query so that an index gives the rows in their order, and a limit ends the work
// early. Each arm reads one index: one for each outcome, two for the rows of a mutex, and one for
// ranges that began before Since.
func (q Query) sql() (string, []any) {
	var arms []string
	var args []any
	where, whereArgs := q.where()
	add := func(condition string, armArgs []any) {
		arms = append(arms, selectRows()+condition+where)
		args = slices.Concat(args, armArgs, whereArgs)
	}
	arm := func(condition string, armArgs ...any) {
		if !q.Since.IsZero() {
			condition, armArgs = condition+" AND slot >= ?", append(armArgs, sqltype.Ceil(q.Since))
		}
		add(condition, armArgs)
	}
	switch {
	case q.Task != "":
		arm("INDEXED BY run_task WHERE task = ?", q.Task)
	case q.Mutex != "":
		arm("INDEXED BY run_task WHERE task = ?", q.Mutex)
		arm("INDEXED BY run_mutex WHERE mutex = ? AND mutex <> task", q.Mutex)
	case len(q.Outcomes) > 0 && q.Slot.IsZero():
		for _, o := range slices.Compact(slices.Sorted(slices.Values(q.Outcomes))) {
			switch {
			case o == outcome.Succeeded:
				arm("INDEXED BY run_slot WHERE outcome = ?", string(o))
			case o != outcome.Warned:
				arm("INDEXED BY run_bad WHERE outcome = ? AND outcome <> 'succeeded'", string(o))
			case !slices.Contains(q.Outcomes, outcome.Succeeded): // which has them, too
				arm("INDEXED BY run_warned WHERE kind = 'warning'")
			}
		}
	default:
		arm("INDEXED BY run_slot WHERE TRUE")
	}
	if !q.Since.IsZero() {
		condition := "INDEXED BY run_range WHERE last_slot >= ? AND slot < ?"
		armArgs := []any{sqltype.Ceil(q.Since), sqltype.Ceil(q.Since)}
		if q.Task != "" {
			condition, armArgs = condition+" AND task = ?", append(armArgs, q.Task)
		}
		add(condition, armArgs)
	}
	text := strings.Join(arms, " UNION ALL ") + " ORDER BY slot DESC, id DESC"
	if q.Limit > 0 {
		text, args = text+" LIMIT ?", append(args, q.Limit)
	}
	return text, args
}

// where returns the conditions of all arms, each after an AND. A unary plus keeps a condition from
// choosing the index
// (https://www.sqlite.org/optoverview.html#disqualifying_where_clause_terms_using_unary_).
func (q Query) where() (where string, args []any) {
	where = " AND +phase = 'ended'"
	add := func(condition string, value ...any) {
		where, args = where+" AND "+condition, append(args, value...)
	}
	if q.Mutex != "" {
		add("+mutex = ?", q.Mutex)
	}
	if len(q.Outcomes) > 0 {
		chosen := "+outcome IN (SELECT value FROM json_each(?))"
		if slices.Contains(q.Outcomes, outcome.Warned) {
			chosen = "(" + chosen + " OR +kind = 'warning')"
		}
		add(chosen, sqltype.Texts(q.Outcomes))
	}
	if !q.Slot.IsZero() {
		add("slot = ?", q.Slot.UnixMicro())
	}
	if q.Scheduled {
		add("+scheduled = 1")
	}
	if !q.Until.IsZero() {
		add("slot < ?", sqltype.Ceil(q.Until))
	}
	if q.Below != (Position{}) {
		at := q.Below.Slot.UnixMicro()
		add("slot <= ? AND (slot < ? OR id < ?)", at, at, q.Below.ID)
	}
	return where, args
}

// NewestFirst orders rows as Find does.
func NewestFirst(a, b Row) int { return cmp.Or(b.Slot.Compare(a.Slot), strings.Compare(b.ID, a.ID)) }

// A RecordedSlot says that a slot of the schedule has a row. For a row of several slots it stands
// for the slots from At through Until.
type RecordedSlot struct {
	Task      string
	At, Until time.Time // UTC
	Missed    bool      // whether the outcome is missed
	Lacking   bool      // it was skipped because its task lacked a variable or a file
}

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

// candidates returns the runs that id may stand for, in their order. If id is a whole id, it
// returns that id alone. It never returns many more than are shown.
func candidates(ctx context.Context, q querier, id string) ([]string, error) {
	if id == "" {
		return nil, nil
	}
	ids, err := Only[string](ctx, q, "SELECT id FROM run WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
		id, id+"\U0010FFFF", maxShown+1)
	if err != nil || slices.Contains(ids, id) {
		return ids[:min(1, len(ids))], err // the id itself comes before ids that begin with it
	}
	if len(id) >= minTail {
		ends, err := Only[string](ctx, q, `SELECT id FROM run
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
