package database

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// CheckPages reads every page of the file, also those that no tick ever reads, and does with damage there what Do does with damage
// that it meets. When ctx is done it has found nothing (https://www.sqlite.org/pragma.html#pragma_quick_check).
func (f *File) CheckPages(ctx context.Context) error {
	err := f.Do(func(conn *sql.DB) error {
		var found string
		if err := conn.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
			return err
		}
		if found != "ok" {
			return damagedError(strings.ReplaceAll(found, "\n", " "))
		}
		return nil
	})
	if errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}
