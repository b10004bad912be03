package view

import (
	"context"
	"slices"
	"strings"

	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/records"
)

// NewestBefore is history.NewestBefore of now.
func (s Source) NewestBefore(ctx context.Context, all *records.Records, last outcome.Record) outcome.Record {
	return history.NewestBefore(last, s.Now(), func(q history.Query) ([]outcome.Record, error) { return all.Find(ctx, q) })
}

// OneRun returns the id that name stands for: all of it, its beginning, or its end (from four characters
// on), like records.Get; empty for none.
func OneRun(ids []string, name string) (string, error) {
	var found []string
	for _, id := range ids {
		switch {
		case id == name:
			return id, nil
		case len(name) >= 4 && (strings.HasPrefix(id, name) || strings.HasSuffix(id, name)):
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 0:
		return "", nil
	case len(found) > 1:
		slices.Reverse(found)
		return "", &history.AmbiguousError{ID: name, Candidates: found[:min(5, len(found))], More: len(found) > 5}
	}
	return found[0], nil
}
