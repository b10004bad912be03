package past

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
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
	NoTests   bool              // no runs of `sched test`, which count in no statistic
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
func (q Query) Matches(r state.Row) bool {
	return (q.Task == "" || q.Task == r.Task) &&
		(q.Mutex == "" || q.Mutex == r.Mutex) &&
		(len(q.Outcomes) == 0 || q.hasOutcome(r)) &&
		(q.Since.IsZero() || !r.Slot.Before(q.Since)) &&
		(q.Until.IsZero() || r.Slot.Before(q.Until)) &&
		(q.Slot.IsZero() || r.Slot.Equal(q.Slot)) &&
		(!q.Scheduled || r.Scheduled) &&
		(!q.NoTests || !r.Test) &&
		(q.Below == Position{} || NewestFirst(state.Row{Slot: q.Below.Slot, ID: q.Below.ID}, r) < 0)
}

// hasOutcome reports whether the outcome of the row is one of q.Outcomes.
func (q Query) hasOutcome(r state.Row) bool {
	return slices.ContainsFunc(q.Outcomes, func(o outcome.Outcome) bool {
		kind := o.FilterKind()
		return o == r.Outcome || kind != "" && kind == r.Kind
	})
}

// sql states the query so that an index gives the rows in their order, and a limit ends the work
// early. Each arm reads one index: one for each outcome, two for the rows of a mutex, and one for
// ranges that began before Since.
func (q Query) sql() (string, []any) {
	var arms []string
	var args []any
	where, whereArgs := q.where()
	add := func(condition string, armArgs []any) {
		arms = append(arms, state.SelectRows()+condition+where)
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
			case o == outcome.Warned && slices.Contains(q.Outcomes, outcome.Succeeded): // which has them
			case o == outcome.Warned:
				arm("INDEXED BY run_warned WHERE kind = 'warning'")
			case o == outcome.NoStore && slices.Contains(q.Outcomes, outcome.Skipped): // which has them
			case o == outcome.NoStore:
				arm("INDEXED BY run_bad WHERE outcome = 'skipped' AND outcome <> 'succeeded'")
			default:
				arm("INDEXED BY run_bad WHERE outcome = ? AND outcome <> 'succeeded'", string(o))
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
		for _, o := range q.Outcomes {
			if kind := o.FilterKind(); kind != "" {
				chosen += " OR +kind = '" + string(kind) + "'"
			}
		}
		add("("+chosen+")", sqltype.Texts(q.Outcomes))
	}
	if !q.Slot.IsZero() {
		add("slot = ?", q.Slot.UnixMicro())
	}
	if q.Scheduled {
		add("+scheduled = 1")
	}
	if q.NoTests {
		add("+test = 0")
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
func NewestFirst(a, b state.Row) int {
	return cmp.Or(b.Slot.Compare(a.Slot), strings.Compare(b.ID, a.ID))
}
