package history

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"sched/schedule/outcome"
	"sched/schedule/statedir"
)

// metaPublished names, in the table meta, the rowid up to which runs were published; only a shared
// history (AddShared) has it. Rowids grow with the time of Add, unlike ids of runs. None is given
// twice: Prune leaves the newest row of a shared history, and Add removes replaced rows after
// adding new ones.
const metaPublished = "published"

// startsWith is how many runs of the past are published when a history begins to be shared.
const startsWith = 1000

// A Cursor is a place in the history: the runs up to it were added before those after it.
type Cursor int64

// HasUnpublished reports whether runs may wait to be published, without opening the history in dir:
// a file exists from before a run is added until none waits. A power cut may lose the file; the
// next run publishes the others, too (docs/decisions.md#copies-wait-in-the-history-itself).
func HasUnpublished(dir string) bool {
	_, err := os.Stat(unpublishedPath(dir))
	return err == nil
}

func unpublishedPath(dir string) string { return filepath.Join(dir, "unpublished") }

// AddShared is Add for a history whose runs are published: from the first call on, what Add adds
// waits, too. The file of HasUnpublished comes before a run, and goes only while no run waits. A
// kill leaves at worst the file without a run.
func (db *DB) AddShared(ctx context.Context, records []outcome.Record) error {
	return db.add(ctx, records, true)
}

// Unshare ends what AddShared began: no run waits to be published any more.
func (db *DB) Unshare(ctx context.Context) error {
	return db.file.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM meta WHERE key = ?", metaPublished); err != nil {
			return err
		}
		return db.allPublished()
	})
}

// Unpublished returns the runs that wait, at most limit, in the order of adding; fewer mean that no
// others wait. Slots without a run are left out. The cursor is for Published.
func (db *DB) Unpublished(ctx context.Context, limit int) (records []outcome.Record, cursor Cursor, err error) {
	err = db.file.Do(func(conn *sql.DB) error {
		from, _, err := published(ctx, conn)
		if err != nil {
			return err
		}
		var top Cursor
		if err := conn.QueryRowContext(ctx, newestRow).Scan(&top); err != nil {
			return err
		}
		records, err = db.find(ctx, conn, selectRuns+`rowid > ? AND rowid <= ? AND `+ranByRowid+` ORDER BY rowid LIMIT ?`, from, top, limit)
		cursor = top
		if err == nil && len(records) == limit {
			err = conn.QueryRowContext(ctx, "SELECT rowid FROM runs WHERE run = ?", records[limit-1].Run).Scan(&cursor)
		}
		return err
	})
	return records, cursor, err
}

// ranByRowid is the condition of ran, for rows that are found by their rowid: the plus keeps the index of ran out.
const ranByRowid = `+outcome NOT IN ('skipped', 'missed')`

const newestRow = `SELECT coalesce(max(rowid), 0) FROM runs`

// Published writes down that the runs up to the cursor were published. It may be called late, and twice.
func (db *DB) Published(ctx context.Context, cursor Cursor) error {
	return db.file.Write(ctx, func(tx *sql.Tx) error {
		if err := setPublished(ctx, tx, cursor); err != nil {
			return err
		}
		var others bool
		err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE rowid > ? AND `+ranByRowid+`)`, cursor).Scan(&others)
		if err != nil || others {
			return err
		}
		return db.allPublished()
	})
}

// share makes the file that HasUnpublished checks before records are added, if the history is shared or begins to be.
func (db *DB) share(ctx context.Context, tx *sql.Tx, records []outcome.Record, begin bool) error {
	from, shared, err := published(ctx, tx)
	if err == nil && begin && !shared {
		shared, err = true, setPublished(ctx, tx, from)
	}
	if err != nil || !shared || !slices.ContainsFunc(records, outcome.Record.Ran) {
		return err
	}
	file, err := statedir.OpenPlain(unpublishedPath(db.dir), os.O_CREATE|os.O_WRONLY)
	if err != nil {
		return nil // the record is worth more than a prompt copy, which goes with that of the next run
	}
	return file.Close()
}

func (db *DB) allPublished() error {
	if err := os.Remove(unpublishedPath(db.dir)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

type rower interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// published returns the rowid up to which runs were published. If the history is not shared yet, or
// was numbered anew by VACUUM (https://www.sqlite.org/lang_vacuum.html), only the newest will be.
func published(ctx context.Context, conn rower) (from Cursor, shared bool, err error) {
	err = conn.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = ? AND value <= ("+newestRow+")", metaPublished).Scan(&from)
	if !errors.Is(err, sql.ErrNoRows) {
		return from, err == nil, err
	}
	err = conn.QueryRowContext(ctx, `SELECT coalesce(min(id), 1) - 1 FROM
		(SELECT rowid AS id FROM runs WHERE `+ranByRowid+` ORDER BY rowid DESC LIMIT ?)`, startsWith).Scan(&from)
	return from, false, err
}

func setPublished(ctx context.Context, tx *sql.Tx, cursor Cursor) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES (?1, ?2)
		ON CONFLICT DO UPDATE SET value = CASE WHEN value <= (`+newestRow+`) THEN max(value, ?2) ELSE ?2 END`, metaPublished, cursor)
	return err
}
