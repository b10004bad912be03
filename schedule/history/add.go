package history

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// Add adds all records or none; after nil they survive a power cut. A run that is there already
// stays as it is, so a tick that died before it removed the file of the run may add it again. Times
// are kept to the microsecond.
func (db *DB) Add(ctx context.Context, records []outcome.Record) error {
	return db.add(ctx, records, false)
}

// add is Add, or AddShared where share is true.
func (db *DB) add(ctx context.Context, records []outcome.Record, share bool) error {
	if len(records) == 0 {
		return nil
	}
	return db.file.Write(ctx, func(tx *sql.Tx) error {
		if err := db.share(ctx, tx, records, share); err != nil {
			return err
		}
		return add(ctx, tx, db.dir, records)
	})
}

const (
	insertColumns = `(run, task, mutex, slot, background, server, started, ended, outcome, reason,
	exit_code, attempts, user_cpu, system_cpu, peak_memory, output, notes, snapshot, until, slots, origin, chain)`
	insertValues = `?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22`

	insertRun = `INSERT INTO runs ` + insertColumns + ` VALUES (` + insertValues + `) ON CONFLICT (run) DO NOTHING`
)

func add(ctx context.Context, tx *sql.Tx, dir string, records []outcome.Record) error {
	counted, perHour := tally{}, &hourTally{}
	replaced, err := findReplaced(ctx, tx, records)
	if err != nil {
		return err
	}
	insert, err := prepare(ctx, tx, insertRun, insertMissed)
	if err != nil {
		return err
	}
	find, err := tx.PrepareContext(ctx, "SELECT id FROM snapshots WHERE hash = ?")
	if err != nil {
		return err
	}
	defer find.Close()
	snapshots := snapshotIDs{find: find, seen: map[[sha256.Size]byte]int64{}}
	for _, r := range lastGivingWay(records) {
		snapshot, err := snapshots.id(ctx, tx, r.Task, r.Snapshot)
		if err != nil {
			return err
		}
		notes, err := packNotes(r.Notes)
		if err != nil {
			return err
		}
		chain, err := packChain(r)
		if err != nil {
			return err
		}
		how := insert[0]
		switch {
		case r.IsRange():
			if err := withoutOwn(ctx, tx, &r); err != nil {
				return err
			}
			if r.Slots == 0 {
				continue
			}
		case r.GivesWay():
			how = insert[1]
		}
		result, err := how.ExecContext(ctx, r.Run, r.Task, r.Mutex, r.Slot.UnixMicro(), r.Background, r.Server,
			packTime(r.Started), packTime(r.Ended), string(r.Outcome), r.Reason, r.ExitCode, r.Attempts,
			r.UserCPU.Microseconds(), r.SystemCPU.Microseconds(), r.PeakMemory, packPath(dir, r.Output), notes, snapshot,
			packTime(r.Until), r.Slots, r.Origin, chain)
		if err != nil {
			return err
		}
		if added, err := result.RowsAffected(); err != nil || added == 0 {
			continue // it was there, and is counted
		}
		counted.count(r)
		perHour.add(r)
	}
	if err := replaced.remove(ctx, tx, counted, perHour); err != nil {
		return err
	}
	return errors.Join(counted.write(ctx, tx), perHour.write(ctx, tx))
}

// prepare prepares statements, which are closed with the transaction.
func prepare(ctx context.Context, tx *sql.Tx, texts ...string) (statements []*sql.Stmt, err error) {
	for _, text := range texts {
		statement, err := tx.PrepareContext(ctx, text)
		if err != nil {
			return nil, err
		}
		statements = append(statements, statement)
	}
	return statements, nil
}

// snapshotIDs finds the rows of snapshots by their content: the runs of a task share one until the task is changed.
type snapshotIDs struct {
	find *sql.Stmt
	seen map[[sha256.Size]byte]int64 // in this transaction, by hash
}

// id is the row of body, which it adds when there is none; nil for no snapshot.
func (ids snapshotIDs) id(ctx context.Context, tx *sql.Tx, task string, body json.RawMessage) (any, error) {
	if len(body) == 0 {
		return nil, nil
	}
	hash := sha256.Sum256(append([]byte(task+"\x00"), body...))
	if id, ok := ids.seen[hash]; ok {
		return id, nil
	}
	var id int64
	err := ids.find.QueryRowContext(ctx, hash[:]).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = tx.QueryRowContext(ctx, "INSERT INTO snapshots (hash, body) VALUES (?, ?) RETURNING id",
			hash[:], string(body)).Scan(&id)
	}
	if err != nil {
		return nil, err
	}
	ids.seen[hash] = id
	return id, nil
}

func packTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func packNotes(notes []string) (any, error) {
	if len(notes) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(notes)
	return string(b), err
}

func packPath(dir, path string) string {
	if inside, ok := strings.CutPrefix(path, dir+string(filepath.Separator)); ok {
		return inside
	}
	return path
}
