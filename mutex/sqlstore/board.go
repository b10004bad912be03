package sqlstore

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// mostEntries is how many values of a table are read, whoever wrote them.
const mostEntries = 10_000

func (s *Store) Put(ctx context.Context, table, key string, value []byte, keep time.Duration) error {
	return s.write(ctx, &item{statement: &s.target.put, kind: kindBoard + table, name: key, value: append([]byte{}, value...), keep: keep})
}

func (s *Store) Delete(ctx context.Context, table, key string) error {
	return s.delete(ctx, kindBoard+table, key)
}

func (s *Store) delete(ctx context.Context, kind, name string) error {
	_, err := s.exec(ctx, "DELETE FROM {entry} WHERE schedule = ? AND kind = ? AND name = ?", s.config.Namespace, kind, encode(name))
	return err
}

func (s *Store) All(ctx context.Context, table string) (map[string][]byte, error) {
	rows, err := s.read(ctx, "SELECT name, value FROM {entry} WHERE schedule = ? AND kind = ? AND ends > {now} LIMIT ?",
		s.config.Namespace, kindBoard+table, mostEntries)
	values := map[string][]byte{}
	for _, r := range rows {
		values[decode(r.name)] = r.value
	}
	return values, err
}

// Append adds values to a log. They are there twice when a connection broke before the answer.
func (s *Store) Append(ctx context.Context, log string, keep int, values ...[]byte) error {
	for some := range slices.Chunk(values, 100) {
		var args []any
		for _, value := range some {
			args = append(args, s.config.Namespace, log, append([]byte{}, value...))
		}
		if _, err := s.exec(ctx, "INSERT INTO {log} (schedule, name, value) VALUES "+list(len(some), "(?, ?, ?)"), args...); err != nil {
			return err
		}
	}
	_, err := s.exec(ctx, "DELETE FROM {log} WHERE schedule = ? AND name = ? AND id <="+
		" (SELECT id FROM (SELECT id FROM {log} WHERE schedule = ? AND name = ? ORDER BY id DESC LIMIT 1 OFFSET ?) AS oldest)",
		s.config.Namespace, log, s.config.Namespace, log, keep)
	return err
}

func (s *Store) Tail(ctx context.Context, log string, skip, count int) (values [][]byte, err error) {
	rows, err := s.read(ctx, "SELECT name, value FROM {log} WHERE schedule = ? AND name = ? ORDER BY id DESC LIMIT ? OFFSET ?",
		s.config.Namespace, log, max(0, count), max(0, skip))
	for _, r := range rows {
		values = append(values, r.value)
	}
	return values, err
}

// encode makes a name one that both databases take: plain text stays as it is.
func encode(name string) string {
	quoted := strconv.Quote(name)
	return quoted[1 : len(quoted)-1]
}

// decode undoes encode. What others wrote may be no name of ours.
func decode(name string) string {
	plain, _ := strconv.Unquote(`"` + name + `"`)
	return plain
}
