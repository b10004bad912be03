package sqlstore

import (
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// Every statement commits by itself, and does the same when it is executed twice.
func TestWhatMayPassByItselfIsTriedAgain(t *testing.T) {
	errs := map[error]bool{}
	for _, code := range []string{"40001", "40P01", "55P03", "57014", "57P01", "57P02", "57P03", "57P05"} {
		errs[&pgconn.PgError{Code: code}] = true
	}
	for _, number := range []uint16{1205, 1213, 1053, 1317, 1927, 1969, 3024, 4031} {
		errs[&mysql.MySQLError{Number: number}] = true
	}
	errs[&pgconn.PgError{Code: "28P01"}], errs[&mysql.MySQLError{Number: 1045}] = false, false
	for err, want := range errs {
		explained, again := (&target{dialect: postgresDialect}).explain(fmt.Errorf("a driver says: %w", err))
		if again != want || explained.Hint == "" {
			t.Errorf("%v is tried again: %t; %v", err, again, explained)
		}
	}
}
