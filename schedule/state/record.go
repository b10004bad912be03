package state

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state/sqltype"
)

// A recorder adds rows in one transaction.
type recorder struct {
	inserter
	ranges      []rangeRow // the shortest first: if several hold a slot, the shortest counts it
	hasNotBegun func() (bool, error)
}

func newRecorder(ctx context.Context, q querier, rows []Row) (*recorder, error) {
	ranges, err := rangesOver(ctx, q, rows)
	hasNotBegun := sync.OnceValues(func() (bool, error) { return anyNotBegun(ctx, q) })
	return &recorder{inserter{ctx, q}, ranges, hasNotBegun}, err
}

// rangesOver returns the ranges that reach into the time of the new rows. There is hardly ever one.
func rangesOver(ctx context.Context, q querier, news []Row) ([]rangeRow, error) {
	bySlot := func(a, b Row) int { return a.Slot.Compare(b.Slot) }
	first, last := slices.MinFunc(news, bySlot).Slot, slices.MaxFunc(news, bySlot).Slot
	return listed(ctx, q, func(rows *sql.Rows) (r rangeRow, err error) {
		err = rows.Scan(&r.id, &r.slots, &r.task, sqltype.Time(&r.first), sqltype.Time(&r.last))
		return r, err
	}, `SELECT id, slots, task, slot, last_slot FROM run INDEXED BY run_range
		WHERE last_slot >= ? AND slot <= ? ORDER BY last_slot - slot`, first.UnixMicro(), last.UnixMicro())
}

// A rangeRow has some fields of a range.
type rangeRow struct {
	id, task    string
	first, last time.Time
	slots       int
}

// anyNotBegun reports whether a row waits or is planned.
func anyNotBegun(ctx context.Context, q querier) (found bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM run INDEXED BY run_live
		WHERE phase IN ('waiting', 'planned') AND `+notEnded+`)`).Scan(&found)
	return found, err
}

// An inserter adds rows in one transaction.
type inserter struct {
	ctx context.Context
	q   querier
}

// insertRow adds a row, unless its id, or its slot of the schedule, has a row already.
var insertRow = sync.OnceValue(func() string {
	return "INSERT INTO run (" + columnNames("") + ") VALUES (" +
		strings.Repeat("?, ", len(columns())-1) + "?) ON CONFLICT DO NOTHING"
})

// record adds a row by the rules of Record. A run that has a row already only gets new notes.
func (rec *recorder) record(row Row) error {
	if err := rec.endWaiting(row); err != nil {
		return err
	}
	var known, slotKnown bool // the run has a row; the slot has a row of its own
	err := rec.q.QueryRowContext(rec.ctx, `SELECT EXISTS (SELECT 1 FROM run WHERE id = ?1),
		EXISTS (SELECT 1 FROM run INDEXED BY run_task
			WHERE task = ?2 AND slot = ?3 AND origin = '' AND last_slot IS NULL
			AND (phase <> 'planned' OR scheduled = 1))`,
		row.ID, row.Task, row.Slot.UnixMicro()).Scan(&known, &slotKnown)
	if err != nil {
		return err
	}
	// A row that is known only gets notes. A range loses the slots that are known. The row of a
	// slot takes the place of another row of the slot, or gives way to it.
	switch {
	case known:
		return addNotes(rec.ctx, rec.q, row.ID, row.Notes)
	case row.IsRange():
		if err := rec.subtractKnown(&row); err != nil || row.Slots == 0 {
			return err
		}
	case row.Origin == "":
		if wanted, err := rec.replaceSlot(&row, slotKnown); err != nil || !wanted {
			return err
		}
	}
	_, err = rec.insert(row)
	return err
}

// beginPlanned turns the planned row of a slot into the row of its run, and reports whether it did:
// what record does with most rows, in one step. It leaves the row to record if the slot is in a
// range, or has another row that counts for it.
func (rec *recorder) beginPlanned(row Row) (begun bool, err error) {
	isOfSchedule := row.Origin == "" && !row.IsRange() && !row.Test && row.Outcome == ""
	if !isOfSchedule || rec.rangeOf(row) != nil {
		return false, nil
	}
	values, err := rec.values(&row)
	if err != nil {
		return false, err
	}
	var args []any
	for n, c := range columns() {
		if !keptFromPlan(c.name) {
			args = append(args, values[n])
		}
	}
	n, err := changed(rec.ctx, rec.q, beginPlanned(), append(args, row.ID, row.Mutex)...)
	return n > 0, err
}

// keptFromPlan reports whether a planned row keeps a column when its run begins: the row that
// begins has the same value, but for somebody who has asked to stop it.
func keptFromPlan(column string) bool {
	kept := []string{"id", "task", "mutex", "slot", "last_slot", "slots", "repeats", "scheduled", "origin",
		"test", "stop"}
	return slices.Contains(kept, column)
}

// beginPlanned sets all other columns.
var beginPlanned = sync.OnceValue(func() string {
	return "UPDATE run SET " +
		strings.Join(slices.DeleteFunc(strings.Split(columnNames(""), ", "), keptFromPlan), " = ?, ") + ` = ?
		WHERE id = ? AND mutex = ? AND phase = 'planned' AND scheduled = 1 AND attempt = 0
		AND NOT EXISTS (SELECT 1 FROM run AS other INDEXED BY run_task
			WHERE other.task = run.task AND other.slot = run.slot AND other.id <> run.id
			AND other.origin = '' AND other.last_slot IS NULL)`
})

// endWaiting removes the row that was planned for the run or has waited for it. It also removes a
// row that has waited for another run of the slot.
func (rec *recorder) endWaiting(row Row) error {
	if found, err := rec.hasNotBegun(); err != nil || !found {
		return err
	}
	_, err := rec.q.ExecContext(rec.ctx, `DELETE FROM run
		WHERE id = ? AND phase IN ('waiting', 'planned') AND attempt = 0`, row.ID)
	if err != nil || row.Origin != "" || row.IsRange() {
		return err
	}
	_, err = rec.q.ExecContext(rec.ctx, `DELETE FROM run INDEXED BY run_task
		WHERE task = ? AND slot = ? AND scheduled = 1 AND phase = 'waiting' AND attempt = 0`,
		row.Task, row.Slot.UnixMicro())
	return err
}

func addNotes(ctx context.Context, q querier, run string, notes []string) error {
	if len(notes) == 0 {
		return nil
	}
	var all []string
	err := q.QueryRowContext(ctx, "SELECT notes FROM run WHERE id = ?", run).Scan(sqltype.JSON(&all))
	if errors.Is(err, sql.ErrNoRows) {
		return ErrGone
	}
	if err != nil {
		return err
	}
	for _, note := range notes {
		if !slices.Contains(all, note) {
			all = append(all, note)
		}
	}
	packed, err := json.Marshal(all)
	if err == nil {
		_, err = q.ExecContext(ctx, "UPDATE run SET notes = ? WHERE id = ?", string(packed), run)
	}
	return err
}

// subtractKnown takes the slots that have a row of their own out of a range. A planned slot is
// taken out when it begins. Slots that lie in another range are not counted.
func (rec *recorder) subtractKnown(row *Row) error {
	var known int
	err := rec.q.QueryRowContext(rec.ctx, `SELECT count(DISTINCT slot) FROM run AS known INDEXED BY run_task
		WHERE task = ?1 AND slot >= ?2 AND slot <= ?3 AND origin = '' AND last_slot IS NULL AND phase <> 'planned'
		AND NOT EXISTS (SELECT 1 FROM run INDEXED BY run_range
			WHERE last_slot >= known.slot AND slot <= known.slot AND task = ?1 AND id <> ?4)`,
		row.Task, row.Slot.UnixMicro(), row.LastSlot.UnixMicro(), row.ID).Scan(&known)
	row.Slots = max(0, row.Slots-known)
	return err
}

// replaceSlot makes room for the row of a slot, and reports false if the slot has a better row.
// slotKnown says that the slot has a row of its own.
func (rec *recorder) replaceSlot(row *Row, slotKnown bool) (wanted bool, err error) {
	inRange := rec.rangeOf(*row)
	switch {
	case slotKnown && row.GivesWay(), inRange != nil && row.Outcome == outcome.Missed:
		return false, nil
	case slotKnown:
		gaveWay, err := rec.removeUncounted(outcome.MissedID(row.Task, row.Slot), "last_slot IS NULL")
		row.Scheduled = gaveWay // else this is a second run of the slot
		return true, err
	case inRange != nil:
		err = rec.shrink(inRange)
	}
	row.Scheduled = true
	return true, err
}

// rangeOf returns the range that counts the slot of a row; nil for none.
func (rec *recorder) rangeOf(row Row) *rangeRow {
	i := slices.IndexFunc(rec.ranges, func(r rangeRow) bool { return r.slots > 0 && r.has(row) })
	if i < 0 {
		return nil
	}
	return &rec.ranges[i]
}

// has reports whether the slot of a row is one of the slots.
func (r rangeRow) has(row Row) bool {
	return r.task == row.Task && !row.Slot.Before(r.first) && !row.Slot.After(r.last)
}

// removeUncounted removes a row that has given way, and reports whether there was one. It sets
// slots to 0 first, so that the trigger total_changed subtracts them from the total of the task.
func (rec *recorder) removeUncounted(id, condition string) (removed bool, err error) {
	where := " WHERE id = ? AND " + condition
	rec.q.do(rec.ctx, "UPDATE run SET slots = 0"+where, id)
	n, err := changed(rec.ctx, rec.q, "DELETE FROM run"+where, id)
	return n > 0, err
}

// shrink takes a slot out of a range. A range whose last slot is taken out is removed.
func (rec *recorder) shrink(r *rangeRow) error {
	if r.slots--; r.slots == 0 {
		_, err := rec.removeUncounted(r.id, "last_slot IS NOT NULL")
		return err
	}
	rec.q.do(rec.ctx, "UPDATE run SET slots = ? WHERE id = ?", r.slots, r.id)
	return nil
}

// insert adds rows, and returns the rows that were added. If a row of several slots stands for a
// slot of the schedule, the slot has a row and is not added.
func insert(ctx context.Context, q querier, rows []Row) (added []Row, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	ranges, err := rangesOver(ctx, q, rows)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		hasSlot := func(several rangeRow) bool { return several.has(r) }
		if r.Scheduled && !r.IsRange() && slices.ContainsFunc(ranges, hasSlot) {
			continue
		}
		did, err := inserter{ctx, q}.insert(r)
		if err != nil {
			return nil, err
		}
		if did {
			added = append(added, r)
		}
		if r.IsRange() {
			ranges = append(ranges, rangeRow{task: r.Task, first: r.Slot, last: r.LastSlot})
		}
	}
	return added, nil
}

// insert reports false when the row is there already.
func (i inserter) insert(r Row) (added bool, err error) {
	values, err := i.values(&r)
	if err != nil {
		return false, err
	}
	did, err := i.q.ExecContext(i.ctx, insertRow(), values...)
	if err != nil {
		return false, err
	}
	n, err := did.RowsAffected()
	if err == nil {
		err = writeReported(i.ctx, i.q, r)
	}
	return n > 0, err
}

// values returns the columns of a row, whose snapshot it adds when that is not known.
func (i inserter) values(r *Row) (values []any, err error) {
	if r.DefinitionID, err = define(i.ctx, i.q, r.Snapshot); err != nil {
		return nil, err
	}
	r.Output = i.q.relative(r.Output)
	for _, c := range columns() {
		values = append(values, c.value(r))
	}
	return values, nil
}

// define returns the id of a snapshot, and adds the snapshot when it is not known. It returns 0 for
// an empty snapshot.
func define(ctx context.Context, q querier, snapshot json.RawMessage) (id int64, err error) {
	if len(snapshot) == 0 {
		return 0, nil
	}
	digest := sha256.Sum256(snapshot)
	err = q.QueryRowContext(ctx, "SELECT id FROM definition WHERE digest = ?", digest[:]).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	err = q.QueryRowContext(ctx, "INSERT INTO definition (digest, body) VALUES (?, ?) RETURNING id",
		digest[:], string(snapshot)).Scan(&id)
	return id, err
}

// recordFirst orders rows so that rows which depend on other rows come last.
func recordFirst(a, b Row) int {
	rank := func(r Row) int {
		switch {
		case r.IsRange():
			return 2
		case r.GivesWay():
			return 1
		}
		return 0
	}
	return rank(a) - rank(b)
}

// beginSharing reports whether runs are published. If sharing begins with this call, the newest
// runs of the past wait to be published, too.
func beginSharing(ctx context.Context, q querier, share bool) (shared bool, err error) {
	if err := readValue(ctx, q, keyShared, &shared); err != nil || shared || !share {
		return shared, err
	}
	q.do(ctx, `UPDATE run SET unpublished = 1 WHERE rowid IN
		(SELECT rowid FROM run INDEXED BY run_slot WHERE phase = 'ended' AND outcome NOT IN ('skipped', 'missed')
			ORDER BY slot DESC LIMIT ?)`, maxFirstShare)
	writeValue(ctx, q, keyShared, true)
	return true, nil
}

const (
	keyShared = "shared" // a row of meta: runs are published

	// maxFirstShare is how many runs of the past are published when sharing begins.
	maxFirstShare = 1000
)
