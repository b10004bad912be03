package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"sched/schedule/state/sqltype"
)

// Values are single values by name. Each writer chooses the names of its values; the names of this
// package are its constants key….
type Values struct{ store store }

const (
	keyCovered = "covered"
	keyNewest  = "newest_covered"
)

// Covered returns the last minute that a tick covered; zero when no tick has covered a minute.
func (v Values) Covered(ctx context.Context) (minute time.Time, err error) {
	return v.time(ctx, keyCovered)
}

// NewestCovered returns the newest minute that a tick ever covered. It is later than Covered after
// the clock was set back.
func (v Values) NewestCovered(ctx context.Context) (minute time.Time, err error) {
	return v.time(ctx, keyNewest)
}

// time returns a value that is a time; zero when there is no such value.
func (v Values) time(ctx context.Context, key string) (t time.Time, err error) {
	err = v.store.read(ctx, func(q querier) error { return readValue(ctx, q, key, sqltype.Time(&t)) })
	return t, err
}

// Cover says that a tick accounts for all minutes up to this one. It replaces a later minute, too,
// because the caller has decided that a wrong clock wrote it.
func (v Values) Cover(ctx context.Context, minute time.Time) error {
	return v.store.write(ctx, func(q querier) error {
		q.do(ctx, `INSERT INTO meta (key, value) VALUES (?1, ?2)
			ON CONFLICT DO UPDATE SET value = max(value, ?2)`, keyNewest, minute.UnixMicro())
		writeValue(ctx, q, keyCovered, minute.UnixMicro())
		return nil
	})
}

// Get reads a value, which was written as JSON, into target. If there is no such value, it returns
// false and leaves target as it is.
func (v Values) Get(ctx context.Context, name string, target any) (found bool, err error) {
	var text sql.NullString
	err = v.store.read(ctx, func(q querier) error { return readValue(ctx, q, name, &text) })
	if err != nil || !text.Valid {
		return false, err
	}
	return true, json.Unmarshal([]byte(text.String), target)
}

// Set writes a value as JSON; nil removes it.
func (v Values) Set(ctx context.Context, name string, value any) error {
	if value == nil {
		return execute(ctx, v.store, "DELETE FROM meta WHERE key = ?", name)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return v.store.write(ctx, func(q querier) error {
		writeValue(ctx, q, name, string(text))
		return nil
	})
}

// Change replaces a value by the value that next returns; if that is nil, the value stays as it
// is. The function next gets the old value as JSON, or nil when there is no such value. Nobody else
// changes the value meanwhile. Change may call next twice.
func (v Values) Change(ctx context.Context, name string, next func(text []byte) (any, error)) error {
	return v.store.write(ctx, func(q querier) error {
		var text sql.NullString
		if err := readValue(ctx, q, name, &text); err != nil {
			return err
		}
		var before []byte
		if text.Valid {
			before = []byte(text.String)
		}
		after, err := next(before)
		if err != nil || after == nil {
			return err
		}
		changed, err := json.Marshal(after)
		if err == nil {
			writeValue(ctx, q, name, string(changed))
		}
		return err
	})
}

// readValue reads a value; a missing one is NULL.
func readValue(ctx context.Context, q querier, key string, target any) error {
	err := q.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = ?", key).Scan(target)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

func writeValue(ctx context.Context, q querier, key string, value any) {
	q.do(ctx, `INSERT INTO meta (key, value) VALUES (?1, ?2)
		ON CONFLICT DO UPDATE SET value = ?2`, key, value)
}

// A ValidSchedule is the last valid text of a schedule, which runs while its file is not valid.
type ValidSchedule struct {
	File    string // absolute: schedules that share a folder do not run each other's text
	Digest  string
	Machine string    // what the machine was, in words of the caller
	Text    []byte    // an archive of all its files
	Since   time.Time // when a tick saw it first

	// Times says by its name when each active task is due, in words of the caller; nil if an older
	// sched kept the schedule.
	Times map[string]string
}

// KnowsValid reports whether the schedule is kept already, with its times, for the same machine.
func (v Values) KnowsValid(ctx context.Context, s ValidSchedule) (bool, error) {
	return askOne[bool](ctx, v.store, `SELECT EXISTS (SELECT 1 FROM schedule
		WHERE file = ? AND digest = ? AND machine = ? AND times IS NOT NULL)`, s.File, s.Digest, s.Machine)
}

// KeepValid keeps a valid schedule in the place of the one before.
func (v Values) KeepValid(ctx context.Context, s ValidSchedule) error {
	times, _ := json.Marshal(s.Times) // of texts
	return execute(ctx, v.store, `INSERT OR REPLACE INTO schedule (file, digest, machine, text, since, times)
		VALUES (?, ?, ?, ?, ?, ?)`, s.File, s.Digest, s.Machine, s.Text, s.Since.UnixMicro(), string(times))
}

// LastValid returns the last valid schedule of a file; if there is no such schedule, its Digest is
// empty.
func (v Values) LastValid(ctx context.Context, file string) (s ValidSchedule, err error) {
	err = v.store.read(ctx, func(q querier) error {
		err := q.QueryRowContext(ctx, `SELECT file, digest, machine, text, since, times FROM schedule WHERE file = ?`, file).
			Scan(&s.File, &s.Digest, &s.Machine, &s.Text, sqltype.Time(&s.Since), sqltype.JSON(&s.Times))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return s, err
}
