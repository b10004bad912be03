package state

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"

	"modernc.org/sqlite"
)

// openSQL returns the database at an address of SQLite. Its connections prepare each statement
// once: to prepare one takes longer than to change a row.
func openSQL(address string) (*sql.DB, error) {
	c, err := sqlite.NewConnector(address)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector{c}), nil
}

type connector struct{ driver.Connector }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &preparingConn{conn.(sqliteConn), map[string]*preparedStmt{}}, nil
}

// A sqliteConn is what the driver's connections are.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// A preparingConn is a connection that keeps its statements prepared. Only one goroutine at a time
// uses it.
type preparingConn struct {
	sqliteConn
	known map[string]*preparedStmt // by their texts
}

// A preparedStmt is a statement of a connection.
type preparedStmt struct {
	driver.Stmt
	inUse bool // rows of it are being read
}

// maxPrepared bounds the statements that a connection keeps: readers have filters that make many
// texts.
const maxPrepared = 100

// prepared returns the statement with the text. It returns nil for a statement that is not kept:
//
//   - a PRAGMA may take effect when it is prepared,
//   - and one whose rows are being read cannot begin again.
func (c *preparingConn) prepared(ctx context.Context, text string) (*preparedStmt, error) {
	if s := c.known[text]; s != nil {
		if s.inUse {
			return nil, nil
		}
		return s, nil
	}
	if len(c.known) == maxPrepared || strings.HasPrefix(text, "PRAGMA") {
		return nil, nil
	}
	stmt, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s := &preparedStmt{Stmt: stmt}
	c.known[text] = s
	return s, nil
}

func (c *preparingConn) ExecContext(
	ctx context.Context, text string, args []driver.NamedValue,
) (driver.Result, error) {
	s, err := c.prepared(ctx, text)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return c.sqliteConn.ExecContext(ctx, text, args)
	}
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (c *preparingConn) QueryContext(
	ctx context.Context, text string, args []driver.NamedValue,
) (driver.Rows, error) {
	s, err := c.prepared(ctx, text)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return c.sqliteConn.QueryContext(ctx, text, args)
	}
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	s.inUse = true
	return &preparedRows{rows, s}, nil
}

// Close closes the connection with its statements.
func (c *preparingConn) Close() error {
	for _, s := range c.known {
		_ = s.Close() // its last error was returned when it was executed
	}
	clear(c.known)
	return c.sqliteConn.Close()
}

// preparedRows are rows of a statement that is kept.
type preparedRows struct {
	driver.Rows
	of *preparedStmt
}

func (r *preparedRows) Close() error {
	r.of.inUse = false
	return r.Rows.Close()
}
