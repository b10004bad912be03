package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
)

// Note adds notes to records by run id, each once. Runs that are not in the history are left out.
func (db *DB) Note(ctx context.Context, notes map[string][]string) error {
	if len(notes) == 0 {
		return nil
	}
	return db.file.Write(ctx, func(tx *sql.Tx) error {
		for run, more := range notes {
			if err := note(ctx, tx, run, more); err != nil {
				return err
			}
		}
		return nil
	})
}

func note(ctx context.Context, tx *sql.Tx, run string, more []string) error {
	var text sql.Null[string]
	err := tx.QueryRowContext(ctx, "SELECT notes FROM runs WHERE run = ?", run).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	var notes []string
	if err == nil && text.Valid {
		err = json.Unmarshal([]byte(text.V), &notes)
	}
	if err != nil {
		return err
	}
	for _, one := range more {
		if !slices.Contains(notes, one) {
			notes = append(notes, one)
		}
	}
	packed, err := packNotes(notes)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE runs SET notes = ? WHERE run = ?", packed, run)
	}
	return err
}
