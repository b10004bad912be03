package state

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// Runs answers questions about rows, and takes what people ask for.
type Runs struct{ store store }

// Runs returns the rows of the database.
func (db *DB) Runs() Runs { return Runs{db} }

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

// Find returns the ended rows that q says, the newest slot first, and the newest run of a slot
// first.
func (r Runs) Find(ctx context.Context, q Query) ([]Row, error) {
	text, args := q.sql()
	return askRows(ctx, r.store, text, args...)
}

// sql states the query so that an index gives the rows in their order, and a limit ends the work
// early. Each arm reads one index: one for each outcome, two for the rows of a mutex, and one for
// ranges that began before Since.
func (q Query) sql() (string, []any) {
	var arms []string
	var args []any
	where, values := q.where()
	arm := func(condition string, value ...any) {
		if !q.Since.IsZero() {
			condition, value = condition+" AND slot >= ?", append(value, ceilMicro(q.Since))
		}
		arms = append(arms, selectRows+condition+where)
		args = append(append(args, value...), values...)
	}
	switch {
	case q.Task != "":
		arm("INDEXED BY run_task WHERE task = ?", q.Task)
	case q.Mutex != "":
		arm("INDEXED BY run_task WHERE task = ?", q.Mutex)
		arm("INDEXED BY run_mutex WHERE mutex = ? AND mutex <> task", q.Mutex)
	case len(q.Outcomes) > 0 && q.Slot.IsZero():
		for _, o := range distinct(q.Outcomes) {
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
		condition, value := "last_slot >= ? AND slot < ?", []any{ceilMicro(q.Since), ceilMicro(q.Since)}
		if q.Task != "" {
			condition, value = condition+" AND task = ?", append(value, q.Task)
		}
		arms = append(arms, selectRows+"INDEXED BY run_range WHERE "+condition+where)
		args = append(append(args, value...), values...)
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
		add(chosen, jsonList(q.Outcomes))
	}
	if !q.Slot.IsZero() {
		add("slot = ?", q.Slot.UnixMicro())
	}
	if q.Scheduled {
		add("+scheduled = 1")
	}
	if !q.Until.IsZero() {
		add("slot < ?", ceilMicro(q.Until))
	}
	if q.Below != (Position{}) {
		at := q.Below.Slot.UnixMicro()
		add("slot <= ? AND (slot < ? OR id < ?)", at, at, q.Below.ID)
	}
	return where, args
}

func distinct(outcomes []outcome.Outcome) []outcome.Outcome {
	return slices.Compact(slices.Sorted(slices.Values(outcomes)))
}

// ceilMicro returns the first microsecond that is not before t.
func ceilMicro(t time.Time) int64 { return t.Add(time.Microsecond - time.Nanosecond).UnixMicro() }

// NewestFirst orders rows as Find does.
func NewestFirst(a, b Row) int { return cmp.Or(b.Slot.Compare(a.Slot), strings.Compare(b.ID, a.ID)) }

// NotEnded returns the rows that wait, are ready, run or finish, but not the rows that are planned,
// with their snapshots. It does not ask whether their owners live: see LiveAndLost. The oldest slot
// comes first.
func (r Runs) NotEnded(ctx context.Context) ([]Row, error) {
	return r.list(ctx, "phase <> 'ended' AND phase <> 'planned' ORDER BY slot, id")
}

// LiveAndLost returns the rows of NotEnded in two parts, each with the oldest id first. A live row
// waits, or a living process looks after it. The process of a lost row is dead, and the next tick
// will finish the row.
func (db *DB) LiveAndLost(ctx context.Context) (live, lost []Row, err error) {
	rows, err := db.Runs().list(ctx, "phase <> 'ended' AND phase <> 'planned' ORDER BY id")
	alive := db.Owners().aliveOnce()
	for _, r := range rows {
		if r.Owner == 0 || alive(r.Owner) || r.Waits() {
			live = append(live, r)
		} else {
			lost = append(lost, r)
		}
	}
	return live, lost, err
}

// Queue returns the rows that wait for a mutex or a seat (Row.Queued) and that a living process
// looks after, with their snapshots. The row that has waited longest comes first.
func (db *DB) Queue(ctx context.Context) ([]Row, error) {
	rows, err := db.Runs().list(ctx,
		"phase = 'ready' AND phase <> 'ended' AND attempt = 0 AND waits_for IN ('mutex', 'seat')")
	alive := db.Owners().aliveOnce()
	rows = slices.DeleteFunc(rows, func(r Row) bool { return !alive(r.Owner) })
	slices.SortFunc(rows, InOrder)
	return rows, err
}

// Queued returns the newest run of a task that waits for its turn (Row.Queued); false for none.
func (db *DB) Queued(ctx context.Context, task string) (Row, bool, error) {
	rows, err := db.Runs().list(ctx, `phase = 'ready' AND phase <> 'ended' AND attempt = 0
		AND waits_for IN ('mutex', 'seat', 'pause') AND task = ? ORDER BY slot DESC, id DESC LIMIT 1`, task)
	if err != nil || len(rows) == 0 {
		return Row{}, false, err
	}
	return rows[0], true, nil
}

// InOrder orders rows that wait for a mutex or a seat: by the time at which each began to wait,
// then by id.
func InOrder(a, b Row) int {
	return cmp.Or(cmp.Compare(a.Wait.Since.UnixMicro(), b.Wait.Since.UnixMicro()), strings.Compare(a.ID, b.ID))
}

// HasWork reports whether the database has work for a later tick: a run that has not ended, a run
// that nobody has reported or published, or a message.
func (r Runs) HasWork(ctx context.Context) (bool, error) {
	return askOne[bool](ctx, r.store, `SELECT EXISTS (SELECT 1 FROM run INDEXED BY run_live WHERE phase <> 'ended')
		OR EXISTS (SELECT 1 FROM run INDEXED BY run_unreported WHERE unreported = 1)
		OR EXISTS (SELECT 1 FROM run INDEXED BY run_unpublished WHERE unpublished = 1)
		OR EXISTS (SELECT 1 FROM message WHERE status <> 'sent')`)
}

// Unreported returns the runs that ended badly and that no tick has printed yet, in the order in
// which they ended.
func (r Runs) Unreported(ctx context.Context) ([]Row, error) {
	return askRows(ctx, r.store, selectRows+"INDEXED BY run_unreported WHERE unreported = 1 ORDER BY ended, id")
}

// Report takes a run for printing. It reports false when another tick has taken it.
func (r Runs) Report(ctx context.Context, run string) (ours bool, err error) {
	err = r.store.write(ctx, func(q querier) error {
		n, err := changed(ctx, q, "UPDATE run SET unreported = 0 WHERE id = ? AND unreported = 1", run)
		ours = n > 0
		return err
	})
	return ours, err
}

// Waiting returns the rows that wait, with their snapshots. The row that has waited longest comes
// first.
func (r Runs) Waiting(ctx context.Context) ([]Row, error) {
	return r.list(ctx, "phase = 'waiting' AND phase <> 'ended'"+longestFirst)
}

// longestFirst orders rows that wait: by Wait.Since if it is set, else by when the row is due.
const longestFirst = ` ORDER BY coalesce(waiting_since, not_before, slot), slot, id`

// anyWaiting reports whether a row waits or is planned.
func anyWaiting(ctx context.Context, q querier) (waits bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM run INDEXED BY run_live
		WHERE phase IN ('waiting', 'planned') AND phase <> 'ended')`).Scan(&waits)
	return waits, err
}

// list reads the index of rows that have not ended. Each query of that index repeats its condition,
// phase <> 'ended': SQLite uses a partial index only for the very same words
// (https://www.sqlite.org/partialindex.html).
func (r Runs) list(ctx context.Context, where string, args ...any) ([]Row, error) {
	return ask(ctx, r.store, func(q querier) ([]Row, error) {
		return wholeRows(ctx, q, selectRows+"INDEXED BY run_live WHERE "+where, args...)
	})
}

// ran is the condition of the index run_ran, in its very words.
const ran = "outcome NOT IN ('skipped', 'missed') AND test = 0"

// Hooks returns the hooks of a run that is finishing, as far as they have begun.
func (r Runs) Hooks(ctx context.Context, run string) ([]Hook, error) {
	return ask(ctx, r.store, func(q querier) ([]Hook, error) { return hooksOf(ctx, q, run) })
}

// A Slot says that a slot of the schedule has a row. For a row of several slots it stands for the
// slots from At through Until.
type Slot struct {
	Task      string
	At, Until time.Time // UTC
	Missed    bool      // whether the outcome is missed
}

// Slots returns the slots from from to before to that have a row, in no order. It leaves out slots
// that wait and have not begun, and planned rows that somebody has asked for (not Scheduled).
func (r Runs) Slots(ctx context.Context, from, to time.Time) ([]Slot, error) {
	const slotsBy = "SELECT task, slot, coalesce(last_slot, slot), coalesce(outcome = 'missed', 0) FROM run INDEXED BY "
	scan := func(rows *sql.Rows) (s Slot, err error) {
		err = rows.Scan(&s.Task, asTime(&s.At), asTime(&s.Until), &s.Missed)
		return s, err
	}
	return ask(ctx, r.store, func(q querier) ([]Slot, error) {
		return listed(ctx, q, scan, slotsBy+`run_slot WHERE slot >= ?1 AND slot < ?2 AND origin = ''
				AND (phase <> 'waiting' OR attempt > 0) AND (phase <> 'planned' OR scheduled = 1)
			UNION ALL `+slotsBy+`run_range WHERE last_slot >= ?1 AND slot < ?1 AND outcome IS NOT NULL`,
			ceilMicro(from), ceilMicro(to))
	})
}

// Unknown returns the runs, of those given by their whole ids, that have no ended row.
func (r Runs) Unknown(ctx context.Context, runs []string) (unknown []string, err error) {
	return ask(ctx, r.store, func(q querier) ([]string, error) {
		return column[string](ctx, q, `SELECT value FROM json_each(?)
			WHERE NOT EXISTS (SELECT 1 FROM run WHERE id = value AND phase = 'ended')`, jsonList(runs))
	})
}

// Added returns ended rows that were added from a mark on, at most limit, in the order of adding,
// and the next mark. The mark 0 returns no row, and the mark of now, which is never 0. After the
// file was set aside marks are smaller.
func (r Runs) Added(ctx context.Context, mark int64, limit int) (rows []Row, next int64, err error) {
	err = r.store.read(ctx, func(q querier) error {
		rows = nil
		err := q.QueryRowContext(ctx, "SELECT coalesce(max(rowid), 0) + 1 FROM run").Scan(&next)
		if err != nil || mark == 0 || next <= mark {
			return err
		}
		next = min(next, mark+int64(limit))
		rows, err = rowsOf(ctx, q, selectRows+"WHERE rowid >= ? AND rowid < ? AND phase = 'ended' ORDER BY rowid",
			mark, next)
		return err
	})
	return rows, next, err
}

// wholeRows asks a query for rows, with their snapshots.
func wholeRows(ctx context.Context, q querier, query string, args ...any) ([]Row, error) {
	rows, err := rowsOf(ctx, q, query, args...)
	if err != nil {
		return nil, err
	}
	bodies := map[int64]json.RawMessage{}
	for i, r := range rows {
		if _, known := bodies[r.DefinitionID]; !known && r.DefinitionID != 0 {
			var body string
			err := q.QueryRowContext(ctx, "SELECT body FROM definition WHERE id = ?", r.DefinitionID).Scan(&body)
			if err != nil {
				return nil, err
			}
			bodies[r.DefinitionID] = json.RawMessage(body)
		}
		rows[i].Snapshot = bodies[r.DefinitionID]
	}
	return rows, nil
}
