package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

// Values are single values by name. Their names are those of whoever writes them; this package
// itself writes covered, pruned and prune_cursor.
type Values struct{ store store }

// Values returns the single values of the database.
func (db *DB) Values() Values { return Values{db} }

const keyCovered = "covered"

// Covered returns the last minute that a tick covered; zero when no tick ever came.
func (v Values) Covered(ctx context.Context) (minute time.Time, err error) {
	var at sql.NullInt64
	err = v.store.read(ctx, func(q querier) error { return value(ctx, q, keyCovered, &at) })
	return unpackTime(at), err
}

// Get reads a value, which was written as JSON, into target. It reports false, and leaves target as
// it is, when there is none.
func (v Values) Get(ctx context.Context, name string, target any) (found bool, err error) {
	var text sql.NullString
	err = v.store.read(ctx, func(q querier) error { return value(ctx, q, name, &text) })
	if err != nil || !text.Valid {
		return false, err
	}
	return true, json.Unmarshal([]byte(text.String), target)
}

// Set writes a value as JSON; nil removes it.
func (v Values) Set(ctx context.Context, name string, what any) error {
	if what == nil {
		return v.store.write(ctx, func(q querier) error {
			_, err := q.ExecContext(ctx, "DELETE FROM meta WHERE key = ?", name)
			return err
		})
	}
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	return v.store.write(ctx, func(q querier) error { return setValue(ctx, q, name, string(text)) })
}

// value reads a value; a missing one is NULL.
func value(ctx context.Context, q querier, key string, target any) error {
	err := q.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = ?", key).Scan(target)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

func setValue(ctx context.Context, q querier, key string, value any) error {
	_, err := q.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2", key, value)
	return err
}

// A ValidSchedule is the last valid text of the schedule, which runs while the file is not valid.
type ValidSchedule struct {
	Digest string
	Text   []byte    // an archive of all its files
	Since  time.Time // when a tick saw it first
}

// KeepValid keeps the text of a schedule that is valid. The same text again changes nothing.
func (v Values) KeepValid(ctx context.Context, s ValidSchedule) error {
	last, err := v.LastValid(ctx)
	if err != nil || last.Digest == s.Digest {
		return err
	}
	return v.store.write(ctx, func(q querier) error {
		_, err := q.ExecContext(ctx, `INSERT INTO schedule (id, digest, text, since) VALUES (1, ?1, ?2, ?3)
			ON CONFLICT DO UPDATE SET digest = ?1, text = ?2, since = ?3`, s.Digest, s.Text, s.Since.UnixMicro())
		return err
	})
}

// LastValid returns the last valid schedule; one without a digest when there was none.
func (v Values) LastValid(ctx context.Context) (s ValidSchedule, err error) {
	err = v.store.read(ctx, func(q querier) error {
		var since sql.NullInt64
		err := q.QueryRowContext(ctx, "SELECT digest, text, since FROM schedule").Scan(&s.Digest, &s.Text, &since)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		s.Since = unpackTime(since)
		return err
	})
	return s, err
}
