// Package state is the database of a schedule, sched.db: every table, every query, every
// transaction. It also has the locks that say which processes are alive (owners), and it refuses a
// folder that another user could change.
//
// A run is a row of the table run, from the moment at which its slot is due until it is pruned.
// There is no other form of a run: runs that wait, live or have ended, and slots that were skipped
// or missed, are rows. The phase of a row says what is going on with it (Phase), and its owner says
// which process is responsible.
//
// The types of this package divide the database by subject:
//
//	DB        opens and closes it, and begins everything else
//	Plan      is the one transaction in which a tick decides what is to be done
//	Owner     is a process that is responsible for rows, for as long as it holds the lock of a file
//	Self      is this process as an owner: it becomes one when it first has a row
//	Owned     changes rows that one owner is responsible for
//	Runs      answers questions about rows, and takes what people ask for
//	Messages  is the outbox: notifications until they were delivered
//	Pauses    are what people paused
//	Values    are single values by name, and the last valid schedule
//	Audit     is the log of what people changed: by commands, through the API and on the pages
//
// Times are microseconds since 1970 in UTC, durations are microseconds, and NULL means that there
// is no value. Only schedule/past asks questions of its own (Ask).
package state

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"sched/schedule/clock"
	"sched/schedule/state/sqltype"
)

// Patience is how long sched waits for other processes that have the database locked.
const Patience = 10 * time.Second

// A DB is an open database. Its methods may be called from several goroutines: they take turns.
type DB struct {
	file   *file
	writes writes
}

// Open opens sched.db in the folder, which must be ours. It makes the folder (0700) and the file
// (0600) if they are missing. Each time that it has to wait for other processes, it waits no longer
// than patience.
//
//   - A damaged file is renamed (SetAside), and a new one is begun. A later call that meets damage
//     does the same.
//   - The file of a newer sched is left as it is; the error is *NewerError.
//   - An error that is Unwritable says that a tick has to do without the file: see OpenMemory.
//   - The error is *statedir.ForeignError, or another error of statedir.Check, for a folder that we
//     must not use.
func Open(dir string, patience time.Duration) (*DB, error) {
	return opened(newFile(dir, writing, patience))
}

// At returns sched.db in the folder, and opens nothing yet. The first call that needs the file
// opens it, as Open does, and returns the errors of Open.
func At(dir string, patience time.Duration) *DB {
	return &DB{file: newFile(dir, writing, patience)}
}

// OpenRead opens sched.db for reading. Nothing in the folder changes, but for the two files beside
// the database with which SQLite coordinates processes (-wal, -shm). A file that does not exist is
// an empty database. Root opens nothing in a folder that statedir.Check refuses; the error comes
// from statedir.Check.
func OpenRead(dir string, patience time.Duration) (*DB, error) {
	return opened(newFile(dir, reading, patience))
}

// OpenMemory opens an empty database that ends with this process, for a tick that cannot write to
// the file. It has the same methods. Its owners have no locks: no other process can see them.
func OpenMemory() (*DB, error) { return opened(&file{access: memory}) }

func opened(f *file) (*DB, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.open(); err != nil {
		return nil, f.explain(err)
	}
	return &DB{file: f}, nil
}

// Close closes the database. Committed changes stay.
func (db *DB) Close() error { return db.file.close() }

// CloseIfIdle closes the file until the next call needs it, if nobody has used it for at least
// idle. So the file is not open while something slow happens.
func (db *DB) CloseIfIdle(idle time.Duration) {
	unused := time.Since(time.Unix(0, db.file.used.Load()))
	if db.InMemory() || unused >= 0 && unused < idle { // below 0 the clock was set back
		return
	}
	db.file.mu.Lock()
	defer db.file.mu.Unlock()
	_ = db.file.disconnect() // the next call that needs the file opens it again
}

// CloseWhileIdle closes the file of a database whenever nobody has used it for a second, until ctx
// is done: a command may run for days.
func CloseWhileIdle(ctx context.Context, db *DB) {
	const idle = time.Second
	for clock.Wait(ctx, idle) {
		db.CloseIfIdle(idle)
	}
}

// shortenedPatience is the patience after ShortenWaits.
const shortenedPatience = 100 * time.Millisecond

// ShortenWaits makes later calls give up after shortenedPatience, because one call has waited for
// other processes in vain.
func (db *DB) ShortenWaits() {
	db.file.mu.Lock()
	defer db.file.mu.Unlock()
	if db.file.access == memory {
		return
	}
	db.file.patience = min(db.file.patience, shortenedPatience)
	_ = db.file.disconnect() // the next call that needs the file opens it again
}

// SetAside returns the path to which a damaged file was renamed; empty when no file was renamed.
func (db *DB) SetAside() string {
	db.file.mu.RLock()
	defer db.file.mu.RUnlock()
	return db.file.setAside
}

// InMemory reports whether OpenMemory opened the database.
func (db *DB) InMemory() bool { return db.file.access == memory }

// CheckPages reads every page of the file, also pages that no tick reads. Damage that it finds is
// handled like damage that a query meets. It returns nil when ctx ends it.
func (db *DB) CheckPages(ctx context.Context) error {
	err := db.read(ctx, func(q querier) error {
		var found string
		if err := q.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
			return err
		}
		if found != "ok" {
			return &foundDamage{found}
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// read runs op on the database as it is at one moment, if op asks one query.
func (db *DB) read(_ context.Context, op func(querier) error) error {
	return db.file.do(func(conn *sql.DB) error { return op(querierOf(db.file, conn)) })
}

// write runs op in a transaction of its own, or in one with other writes of this process (writes).
// The transaction waits for other writers when it begins, so op never has to wait.
func (db *DB) write(ctx context.Context, op func(querier) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return db.writes.do(db.file, op)
}

// Owners returns the owners of the rows of this database.
func (db *DB) Owners() Owners { return Owners{db.file, db} }

// Self returns this process as an owner of that kind.
func (db *DB) Self(kind OwnerKind) *Self { return &Self{owners: db.Owners(), kind: kind} }

// As returns this process as an owner that another process has made and enrolled.
func (db *DB) As(o *Owner) *Self { return &Self{owners: db.Owners(), kind: o.Kind, owner: o} }

// Runs returns the rows of the database.
func (db *DB) Runs() Runs { return Runs{db} }

// Messages returns the outbox of the database.
func (db *DB) Messages() Messages { return Messages{db, db.Owners()} }

// Pauses returns the pauses of a schedule. They are the own pauses of this machine if namespace is
// empty, because then no other machine ticks the schedule. Otherwise they are a copy of the pauses
// that the store has under that name.
//
// A database has pauses of one namespace only: a machine that joins a store does not bring its own
// pauses with it, and a machine that leaves a store takes no pauses along.
func (db *DB) Pauses(namespace string) Pauses { return Pauses{db, namespace} }

// Values returns the single values of the database.
func (db *DB) Values() Values { return Values{db} }

// Audit returns the log of the database.
func (db *DB) Audit() Audit { return Audit{db} }

// Plan begins a plan. It waits for other writers.
func (db *DB) Plan(ctx context.Context) (*Plan, error) {
	var plan *Plan
	err := db.file.do(func(conn *sql.DB) error {
		tx, err := conn.BeginTx(ctx, nil)
		if err == nil {
			plan = &Plan{file: db.file, tx: transaction{tx: tx}, info: db.file.info}
		}
		return err
	})
	return plan, err
}

// LiveAndLost returns the rows of BegunOrWaiting in two parts, each with the oldest id first. A
// live row waits, or a living process looks after it. The process of a lost row is dead, and the
// next tick will finish the row.
func (db *DB) LiveAndLost(ctx context.Context) (live, lost []Row, err error) {
	for before := lost; ; before, live, lost = lost, nil, nil { // an owner gives a row away, and ends
		rows, err := db.Runs().listNotEnded(ctx, "phase <> 'planned' ORDER BY id")
		if err != nil {
			return nil, nil, err
		}
		alive := db.Owners().aliveOnce()
		for _, r := range rows {
			if r.Owner == 0 || alive(r.Owner) || r.Waits() {
				live = append(live, r)
			} else {
				lost = append(lost, r)
			}
		}
		if slices.EqualFunc(lost, before, func(a, b Row) bool { return a.ID == b.ID && a.Owner == b.Owner }) {
			return live, lost, nil
		}
	}
}

// RowAndOwner returns the row of a run, and whether its owner lives, in a look that has both.
func (db *DB) RowAndOwner(ctx context.Context, id string) (row Row, lives bool, err error) {
	for owner := int64(-1); ; owner = row.Owner {
		row, err = db.Runs().Row(ctx, id)
		lives = err == nil && row.Owner != 0 && db.Owners().Alive(row.Owner)
		if err != nil || lives || row.Owner == owner {
			return row, lives, err
		}
	}
}

// LiveQueue returns the rows that wait for a mutex or a seat (Row.Queued) and that a living process
// looks after, with their snapshots. The row that has waited longest comes first.
func (db *DB) LiveQueue(ctx context.Context) ([]Row, error) {
	rows, err := db.Runs().listNotEnded(ctx, "phase = 'ready' AND attempt = 0 AND waits_for IN ('mutex', 'seat')")
	if err != nil {
		return nil, err
	}
	alive := db.Owners().aliveOnce()
	rows = slices.DeleteFunc(rows, func(r Row) bool { return !alive(r.Owner) })
	slices.SortFunc(rows, InOrder)
	return rows, nil
}

// Hooks returns which hooks of a run have begun, and which of them have ended.
func (db *DB) Hooks(ctx context.Context, run string) ([]Hook, error) {
	scan := func(rows *sql.Rows) (h Hook, err error) {
		err = rows.Scan(&h.Name, sqltype.Time(&h.Begun), sqltype.Time(&h.Ended), sqltype.OrZero(&h.PID), &h.Note)
		return h, err
	}
	return ask(ctx, db, func(q querier) ([]Hook, error) {
		return listed(ctx, q, scan, `SELECT name, begun, ended, pid, note FROM hook
			WHERE run = ? ORDER BY begun, name`, run)
	})
}

// Unowned notes hooks that belong to no run of ours, such as the hooks of an incident. ForgetHooks
// removes them.
func (db *DB) Unowned() Owned { return Owned{db, nobody} }

// ForgetHooks removes the notes about the hooks of an incident.
func (db *DB) ForgetHooks(ctx context.Context, incident string) error {
	return execute(ctx, db, "DELETE FROM hook WHERE run = ?", incident)
}

// PruneDue reports whether no pass of Prune has ended yet on the day of now, in UTC.
func (db *DB) PruneDue(ctx context.Context, now time.Time) (due bool, err error) {
	pruned, err := db.Values().time(ctx, keyPruned)
	day := func(t time.Time) string { return t.UTC().Format(time.DateOnly) }
	return day(pruned) != day(now), err
}

// Prune removes ended rows that are older than keep.For, failures than keep.Failures, and the runs
// of each task beyond its newest keep.RunsPerTask. A run that waits to be published is removed only
// when it is too old. Slots that were skipped or missed are counted apart, so a weekend of skips
// removes no run. The newest row of a task that says how its command went always stays, so a yearly
// task has a last outcome.
//
// One call is a small step. It removes something, even if its time is over, and goes on at the
// place at which the last step stopped.
func (db *DB) Prune(ctx context.Context, now time.Time, keep Keep, budget Budget) (result Pruned, err error) {
	err = db.write(ctx, func(q querier) error {
		p := &pruning{ctx: ctx, q: q, budget: budget, begun: time.Now()}
		if err := p.step(now, keep); err != nil {
			return err
		}
		result = p.result
		return nil
	})
	return result, err
}

// Ask returns the answer to questions that another package has about the rows.
func Ask[T any](ctx context.Context, db *DB, questions func(Querier) (T, error)) (T, error) {
	return ask(ctx, db, func(q querier) (T, error) { return questions(q) })
}
