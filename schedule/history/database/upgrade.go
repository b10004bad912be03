package database

import (
	"context"
	"database/sql"
	"fmt"
)

// A Migration is the SQL that makes version n+1 of the tables from version n. The user_version of the file is how many it has seen.
type Migration string

// upgrade runs the migrations that a file of that version has not seen, in one transaction.
func upgrade(ctx context.Context, conn *sql.DB, version int, all []Migration) error {
	if version >= len(all) {
		return nil
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, m := range all[version:] {
		if _, err := tx.ExecContext(ctx, string(m)); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(all))); err != nil {
		return err
	}
	return tx.Commit()
}
