package state

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// A Phase says what is going on with a run.
type Phase string

const (
	Waiting   Phase = "waiting"   // nobody works on it: see Row.Wait
	Planned   Phase = "planned"   // a slot that its owner, a tick, has not come to yet
	Ready     Phase = "ready"     // its owner will start it, or skip it
	Running   Phase = "running"   // its owner has started its command, or is about to
	Finishing Phase = "finishing" // its outcome is known; its owner fires its hooks
	Ended     Phase = "ended"     // over
)

// A WaitsFor says what a waiting row waits for.
type WaitsFor string

const (
	ForNothing WaitsFor = ""      // any tick may start it, as a run that was asked for
	ForTime    WaitsFor = "time"  // its next attempt comes at Wait.NotBefore
	ForPause   WaitsFor = "pause" // the end of a pause or a maintenance
	ForMutex   WaitsFor = "mutex"
	ForSeat    WaitsFor = "seat"  // one of its pool
	ForStore   WaitsFor = "store" // the store must say whether another server runs it
)

// A Row is a run, or several slots that were missed together.
type Row struct {
	ID           string // UUIDv7
	Task         string
	Mutex        string // that the task takes, or would take
	Pool         string // in which the task takes a seat; empty for none
	Slot         time.Time
	LastSlot     time.Time // of several missed slots: the last; zero for one slot
	Slots        int       // how many slots it stands for; 0 is 1
	PreviousSlot time.Time // of the schedule, before Slot; zero if the task was never due before
	Scheduled    bool      // a slot of the schedule; else somebody or something asked for it
	Origin       string    // what asked for it, in words; empty for the schedule
	Test         bool      // sched test: it counts in no statistic
	Cause        *outcome.Cause
	Triggered    []outcome.Triggered // the runs that its hooks asked for
	NoChain      bool                // its hooks trigger no other task
	Params       map[string]string   // the values of the params of its task that somebody set for this run
	Background   bool
	Server       string

	Snapshot     json.RawMessage // the task as it was when the row was added; Find needs Query.Snapshots to fill it in
	DefinitionID int64           // of the snapshot, in the database; 0 for none. Writing a row ignores it

	Phase  Phase
	Owner  int64 // 0 for none
	Wait   Wait
	Locked bool   // it has its mutex
	Seat   string // that it has in its pool
	Stop   *Stop  // somebody asked to stop it

	Attempt Attempt
	Started time.Time // when the first attempt began; zero when none did
	Result            // zero until the phase is Finishing, but for the sums of the attempts so far
	Notes   []string

	Unpublished bool // other servers of the store do not know of it yet
	Unreported  bool // it ended badly, and no tick has printed that yet

	// LastTold is when another server last reported the run, if that server has been silent from
	// then on. It has no column.
	LastTold time.Time
}

// A Wait says what a row waits for, when that began, and how long it has waited.
type Wait struct {
	For       WaitsFor
	NotBefore time.Time     // nothing happens before; zero for at once
	Until     time.Time     // afterwards it is too late; zero for never
	Since     time.Time     // when it began to wait for anything but a time; zero when it does not
	Waited    time.Duration // how long it has waited for that, before Since
}

// A Stop says who, or what, asked to stop a run.
type Stop struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"` // of the outcome; empty for "sched stop by" and By

	Kind outcome.Kind `json:"kind,omitempty"` // of the outcome
}

// An Attempt is one start of the command.
type Attempt struct {
	Number int       // from 1; 0: none has begun
	At     time.Time // when it began
	PID    int       // of the command, and of its process group; 0 before it is known
	Boot   string    // of the machine, in which it began
}

// A Result is what became of a run.
type Result struct {
	Outcome    outcome.Outcome
	Kind       outcome.Kind // why; empty when the outcome alone says it
	Reason     string       // why, in words; for a waiting row, what it waits for
	Ended      time.Time    // when the outcome was settled
	ExitCode   *int         // of the last attempt; nil when it is not known
	UserCPU    time.Duration
	SystemCPU  time.Duration // both of all attempts together
	PeakMemory int64         // bytes; 0 when it is not known
	Output     string        // the file; empty when nothing was printed
	Limits     string        // how the limits of the last attempt were kept, in words; empty for none
}

// Warned reports whether the run succeeded with an exit code of warn_codes.
func (r Result) Warned() bool { return r.Kind == outcome.Warning }

// Wrong reports whether the run failed. To be stopped by a pause is no failure: somebody wanted it.
func (r Result) Wrong() bool { return r.Outcome.Failure() && r.Kind != outcome.Paused }

// OutcomeText is the outcome in words, with the warning of a success.
func (r Result) OutcomeText() string {
	if r.Warned() {
		return string(r.Outcome) + " with a warning"
	}
	return string(r.Outcome)
}

// Ran reports whether there was a run: the slot was neither skipped nor missed.
func (r Row) Ran() bool { return r.Outcome != outcome.Skipped && r.Outcome != outcome.Missed }

// Duration returns the time from the start of the first attempt to the end. It is 0 when the clock
// was set back in between, and while either time is not known.
func (r Row) Duration() time.Duration {
	if r.Started.IsZero() || r.Ended.IsZero() {
		return 0
	}
	return max(0, r.Ended.Sub(r.Started))
}

// Lateness returns how long after its slot the first attempt began; 0 when no attempt has begun.
func (r Row) Lateness() time.Duration {
	if r.Started.IsZero() {
		return 0
	}
	return r.Started.Sub(r.Slot)
}

// IsRange reports whether the row stands for the slots from Slot through LastSlot that have no row
// of their own. Slots is the number of these slots; before the row is added, it also counts slots
// with a row.
func (r Row) IsRange() bool { return !r.LastSlot.IsZero() }

// GivesWay reports whether the row only says that its slot left no trace of a run. Any other row of
// the slot replaces it, whichever comes first.
func (r Row) GivesWay() bool {
	return (r.Outcome == outcome.Missed || r.Outcome == outcome.Lost) && r.ID == outcome.MissedID(r.Task, r.Slot)
}

// WithoutOutcome returns the row of a run that has not ended, as if it had no outcome yet: only its
// hooks are left to do.
func (r Row) WithoutOutcome() Row {
	r.Outcome, r.Kind, r.Reason, r.Ended = "", "", "", time.Time{}
	return r
}

// InQueue reports whether the run stands in the queue with that name: the name of a mutex, or
// SeatQueue of a pool.
func (r Row) InQueue(name string) bool {
	switch r.Wait.For {
	case ForMutex:
		return name == r.Mutex
	case ForSeat:
		return name == r.Mutex || name == SeatQueue(r.Pool)
	}
	return false // a pause keeps it from starting, so it delays nobody
}

// SeatQueue returns the name of the queue for the seats of a pool. No mutex has such a name.
func SeatQueue(pool string) string { return pool + "#" }

// A run can wait in five ways. They differ in who goes on with the run, and in whether it has had
// an attempt:
//
//	                 goes on with it   attempts   waits for
//	Requested        a tick            none       a tick, or its mutex
//	DelayedSlot      a tick            none       the store, or the end of a pause
//	Deferred         a tick            some       the time of its next attempt, or its mutex
//	Queued           its supervisor    none       its mutex, a seat, or the end of a pause
//	BetweenAttempts  its supervisor    some       the time of its next attempt
//
// If the supervisor is killed, a tick gives the run to another supervisor.

// Requested reports whether somebody, or a hook, has asked for the run, and no tick has begun it
// yet.
func (r Row) Requested() bool { return r.Pending() && !r.Scheduled }

// DelayedSlot reports whether a slot of the schedule waits for the store, or for the end of a
// pause.
func (r Row) DelayedSlot() bool { return r.Pending() && r.Scheduled }

// Pending reports whether the run is Requested or a DelayedSlot: no tick has begun it yet.
func (r Row) Pending() bool { return r.Phase == Waiting && !r.Attempted() }

// Deferred reports whether the next attempt of the run is left to a later tick. No process watches
// the run meanwhile.
func (r Row) Deferred() bool { return r.Phase == Waiting && r.Attempted() }

// Queued reports whether the run has begun and waits, before its first attempt, for its mutex, for
// a seat or for the end of a pause.
func (r Row) Queued() bool {
	return r.Phase == Ready && !r.Attempted() && (r.Wait.For == ForMutex || r.Wait.For == ForSeat || r.Wait.For == ForPause)
}

// CatchesUp reports whether the run is one of several slots that run in their order: see
// schedule.Task.CatchUp. It is false for a row without a snapshot.
func (r Row) CatchesUp() bool {
	var task struct {
		CatchesUp bool `json:"catches_up"`
	}
	return json.Unmarshal(r.Snapshot, &task) == nil && task.CatchesUp
}

// BetweenAttempts reports whether the process that watches the run waits for its next attempt.
func (r Row) BetweenAttempts() bool { return r.Phase == Ready && r.Attempted() }

// Waits reports whether the run is Requested, a DelayedSlot, Deferred or Queued: no command of it
// lives or is about to start, and it holds no mutex.
func (r Row) Waits() bool { return r.Phase == Waiting || r.Queued() }

// Attempted reports whether an attempt of the run has begun.
func (r Row) Attempted() bool { return r.Attempt.Number > 0 }

// columns are the columns of a row, in the order of values and scan; definition comes last.
const columns = `id, task, mutex, pool, slot, last_slot, slots, scheduled, origin, test, cause, cause_task, cause_outcome, background, server,
	phase, owner, not_before, until, waits_for, waiting_since, waited, locked, seat, stop,
	attempt, attempt_started, pid, boot, started, ended, outcome, kind, reason, exit_code, user_cpu, system_cpu,
	peak_memory, output, notes, triggered, unpublished, unreported, no_chain, previous_slot, params, limits, definition`

// insertRow adds a row, unless its id, or its slot of the schedule, has a row already.
var insertRow = `INSERT INTO run (` + columns + `) VALUES (` + strings.Repeat("?, ", strings.Count(columns, ",")) + `?) ON CONFLICT DO NOTHING`

// insert adds rows, and returns the rows that were added. If a row of several slots stands for a
// slot of the schedule, the slot has a row and is not added.
func insert(ctx context.Context, q querier, rows []Row) (added []Row, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	ranges, err := rangesFrom(ctx, q, rows)
	if err != nil {
		return nil, err
	}
	inserter, err := newInserter(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.Scheduled && !r.IsRange() && slices.ContainsFunc(ranges, func(s slotRange) bool { return s.has(r) }) {
			continue
		}
		did, err := inserter.insert(r)
		if err != nil {
			return nil, err
		}
		if did {
			added = append(added, r)
		}
		if r.IsRange() {
			ranges = append(ranges, slotRange{r.Task, r.Slot.UnixMicro(), r.LastSlot.UnixMicro()})
		}
	}
	return added, nil
}

// An inserter adds rows in one transaction, with which its statements end.
type inserter struct {
	ctx       context.Context
	q         querier
	row       *sql.Stmt
	knownBody *sql.Stmt
}

func newInserter(ctx context.Context, q querier) (*inserter, error) {
	row, err := q.PrepareContext(ctx, insertRow)
	if err != nil {
		return nil, err
	}
	knownBody, err := q.PrepareContext(ctx, "SELECT id FROM definition WHERE digest = ?")
	return &inserter{ctx, q, row, knownBody}, err
}

// insert reports false when the row is there already.
func (i *inserter) insert(r Row) (added bool, err error) {
	if r.DefinitionID, err = define(i.ctx, i.q, i.knownBody, r.Snapshot); err != nil {
		return false, err
	}
	values, err := r.values(i.q)
	if err != nil {
		return false, err
	}
	did, err := i.row.ExecContext(i.ctx, values...)
	if err != nil {
		return false, err
	}
	n, err := did.RowsAffected()
	return n > 0, err
}

// A slotRange says for which slots a row of several slots stands (IsRange).
type slotRange struct {
	task        string
	first, last int64 // microseconds since 1970
}

func (s slotRange) has(r Row) bool {
	slot := r.Slot.UnixMicro()
	return s.task == r.Task && s.first <= slot && slot <= s.last
}

// rangesFrom returns the ranges that reach the oldest of the new rows. There is hardly ever such a
// range.
func rangesFrom(ctx context.Context, q querier, news []Row) (ranges []slotRange, err error) {
	oldest := news[0].Slot
	for _, r := range news {
		if r.Slot.Before(oldest) {
			oldest = r.Slot
		}
	}
	return listed(ctx, q, func(rows *sql.Rows) (s slotRange, err error) {
		err = rows.Scan(&s.task, &s.first, &s.last)
		return s, err
	}, "SELECT task, slot, last_slot FROM run INDEXED BY run_range WHERE last_slot >= ?", oldest.UnixMicro())
}

// define returns the id of a snapshot, and adds the snapshot when it is not known. It returns 0 for
// an empty snapshot.
func define(ctx context.Context, q querier, known *sql.Stmt, snapshot json.RawMessage) (id int64, err error) {
	if len(snapshot) == 0 {
		return 0, nil
	}
	digest := sha256.Sum256(snapshot)
	err = known.QueryRowContext(ctx, digest[:]).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	err = q.QueryRowContext(ctx, "INSERT INTO definition (digest, body) VALUES (?, ?) RETURNING id", digest[:], string(snapshot)).Scan(&id)
	return id, err
}

// relative returns the path of an output as the database has it: relative to the folder output/. So
// the state folder can be moved.
func (q querier) relative(path string) string { return strings.TrimPrefix(path, q.outputs) }

// absolute undoes relative.
func (q querier) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return q.outputs + path
}

func (r Row) values(q querier) ([]any, error) {
	cause := outcome.Cause{}
	if r.Cause != nil {
		cause = *r.Cause
	}
	stop, err := packJSON(r.Stop, r.Stop == nil)
	if err != nil {
		return nil, err
	}
	notes, err := packJSON(r.Notes, len(r.Notes) == 0)
	if err != nil {
		return nil, err
	}
	triggered, err := packJSON(r.Triggered, len(r.Triggered) == 0)
	if err != nil {
		return nil, err
	}
	params, err := packJSON(r.Params, len(r.Params) == 0)
	if err != nil {
		return nil, err
	}
	return []any{
		r.ID, r.Task, r.Mutex, r.Pool, r.Slot.UnixMicro(), packTime(r.LastSlot), max(r.Slots, 1), r.Scheduled, r.Origin, r.Test,
		orNull(cause.Run), orNull(cause.Task), orNull(string(cause.Outcome)), r.Background, r.Server,
		string(r.Phase), orNull(r.Owner), packTime(r.Wait.NotBefore), packTime(r.Wait.Until), string(r.Wait.For), packTime(r.Wait.Since),
		r.Wait.Waited.Microseconds(), r.Locked, r.Seat, stop,
		r.Attempt.Number, packTime(r.Attempt.At), orNull(r.Attempt.PID), r.Attempt.Boot,
		packTime(r.Started), packTime(r.Ended), orNull(string(r.Outcome)), string(r.Kind), r.Reason, r.ExitCode,
		r.UserCPU.Microseconds(), r.SystemCPU.Microseconds(), r.PeakMemory, q.relative(r.Output), notes, triggered, r.Unpublished, r.Unreported, r.NoChain,
		packTime(r.PreviousSlot), params, r.Limits, orNull(r.DefinitionID),
	}, nil
}

// scan reads the columns of one row.
func scan(rows *sql.Rows) (r Row, err error) {
	var slot, waited, user, system int64
	var last, notBefore, until, since, attempted, started, ended, owner, pid, previous, definition sql.NullInt64
	var cause, causeTask, causeOutcome, stop, became, notes, triggered, params sql.NullString
	var exit sql.Null[int]
	err = rows.Scan(&r.ID, &r.Task, &r.Mutex, &r.Pool, &slot, &last, &r.Slots, &r.Scheduled, &r.Origin, &r.Test, &cause, &causeTask, &causeOutcome,
		&r.Background, &r.Server, &r.Phase, &owner, &notBefore, &until, &r.Wait.For, &since, &waited, &r.Locked, &r.Seat, &stop,
		&r.Attempt.Number, &attempted, &pid, &r.Attempt.Boot, &started, &ended, &became, &r.Kind, &r.Reason, &exit, &user, &system,
		&r.PeakMemory, &r.Output, &notes, &triggered, &r.Unpublished, &r.Unreported, &r.NoChain,
		&previous, &params, &r.Limits, &definition)
	if err != nil {
		return r, err
	}
	r.Slot, r.LastSlot = time.UnixMicro(slot).UTC(), unpackTime(last)
	if cause.Valid {
		r.Cause = &outcome.Cause{Task: causeTask.String, Run: cause.String, Outcome: outcome.Outcome(causeOutcome.String)}
	}
	r.Owner, r.DefinitionID, r.PreviousSlot = owner.Int64, definition.Int64, unpackTime(previous)
	r.Wait.NotBefore, r.Wait.Until, r.Wait.Since = unpackTime(notBefore), unpackTime(until), unpackTime(since)
	r.Wait.Waited, r.UserCPU, r.SystemCPU = micros(waited), micros(user), micros(system)
	r.Attempt.At, r.Attempt.PID = unpackTime(attempted), int(pid.Int64)
	r.Started, r.Ended, r.Outcome = unpackTime(started), unpackTime(ended), outcome.Outcome(became.String)
	if exit.Valid {
		r.ExitCode = &exit.V
	}
	return r, errors.Join(unpackJSON(stop, &r.Stop), unpackJSON(notes, &r.Notes), unpackJSON(triggered, &r.Triggered), unpackJSON(params, &r.Params))
}

// rowsOf asks a query for rows.
func rowsOf(ctx context.Context, q querier, query string, args ...any) (all []Row, err error) {
	all, err = listed(ctx, q, scan, query, args...)
	for i := range all {
		all[i].Output = q.absolute(all[i].Output)
	}
	return all, err
}

// packTime returns the microseconds of a time, and NULL for the zero time.
func packTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func unpackTime(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMicro(n.Int64).UTC()
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// orNull returns a value, and NULL for the zero value.
func orNull[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}

func packJSON(value any, none bool) (any, error) {
	if none {
		return nil, nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

func unpackJSON(text sql.NullString, value any) error {
	if !text.Valid {
		return nil
	}
	return json.Unmarshal([]byte(text.String), value)
}
