// Package view answers the questions that people and programs ask of a schedule. Which tasks does
// it have, and when do they run next? How is it doing? Why did a task run, or not? What became of
// its slots? What did a run print? Which slots are due in a time? Which servers share it?
//
// The answers are the objects of docs/json.md. They have one encoder, JSON, for `--json` of the
// commands and for the HTTP API. The texts for people are made of the same values. Answering writes
// nothing, locks nothing that a tick or a run would wait for, and needs no environment and no
// streams. Package control does what people ask for. Only WriteTextfile writes: the metrics, into a
// file that its reader asks for.
package view

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/past"
	"sched/schedule/pause"
	"sched/schedule/state"
)

// A Source is what the answers are made of, as one machine sees it: a schedule, its state folder
// and, if it has one, its store. Its methods may be called from several goroutines.
type Source struct {
	Schedule *schedule.Schedule
	Controls pause.Source
	Now      func() time.Time
	Server   string         // the name of this machine
	Environ  []string       // of this process: secrets of live runs are masked by it
	Zone     *time.Location // of times in texts about a task; nil for the zone of the task
	Config   string         // what a command in a hint needs to use the same schedule: " -c FILE", or ""

	// Problem reports what an answer lacks, and why: a store that is down, a database that cannot
	// be read.
	Problem func(format string, args ...any)
}

// TicksMissing says that no ticks come any more, or that no tick ever came. It returns "" while
// ticks come, or when the history cannot be read or written: nobody knows it then.
func (s Source) TicksMissing() string {
	last, err := LastTick(s.Schedule.StateDir)
	if err != nil {
		return ""
	}
	missing := TicksMissing(s.Schedule.StateDir, last, s.Now())
	if missing != "" && Unrecordable(s.Schedule.StateDir) != "" {
		return ""
	}
	return missing
}

// NextForTicks returns the command to type when TicksMissing says that no ticks come.
func (s Source) NextForTicks() string {
	last, _ := LastTick(s.Schedule.StateDir)
	return s.nextForTicks(last, s.Now())
}

func (s Source) nextForTicks(last, now time.Time) string {
	switch {
	case last.IsZero():
		return "sched install" + s.Config
	case last.After(now):
		return "date"
	}
	return "sched doctor" + s.Config
}

// Maintenance says in words that there is maintenance at this moment. It returns "" without
// maintenance, or when that cannot be found out.
func (s Source) Maintenance() string {
	reason, err := pause.Maintenance(s.Schedule.Maintenance, filepath.Dir(s.Schedule.File))
	if err != nil {
		s.Problem("%v", err)
	}
	return reason
}

// Pauses returns the pauses, also pauses that are over. If the store does not answer, they are the
// pauses that this machine read last.
func (s Source) Pauses() pause.Pauses {
	read, err := s.Controls.Read()
	if err != nil {
		s.Problem("what is paused is what this machine knew last: %v", err)
	}
	return read.Pauses
}

// LeftOut reports that an answer is about this machine alone.
func (s Source) LeftOut(err error) { s.Problem("other servers are left out: %v", err) }

// An Error says what is wrong with a question or a request, and what to do about it.
type Error struct {
	Kind Kind
	Err  error
	Hint string // may be empty
}

// A Kind says whose fault an Error is.
type Kind int

const (
	NotFound Kind = iota // it does not exist
	Conflict             // it exists, but its state does not allow the request
	Invalid              // the request itself is wrong
	Denied               // it is not allowed
)

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error without its hint.
func (e *Error) Unwrap() error { return e.Err }

// Fail returns an error of that kind, with a hint that may be empty.
func Fail(kind Kind, hint, format string, args ...any) error {
	return &Error{kind, fmt.Errorf(format, args...), hint}
}

// JSON returns a value as --json prints it and the API answers it. It is indented, because people
// read it, too, and ends with a line break.
func JSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return text.Bytes(), err
}

// orNil returns a pointer to a value, and nil for the zero value.
func orNil[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}

// listOf returns an empty list for nil, because the lists of docs/json.md are never null.
func listOf[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Records opens the records of the schedule.
func (s Source) Records(ctx context.Context) (*Records, error) {
	if err := Readable(s.Schedule.StateDir); err != nil {
		return &Records{Err: err}, err
	}
	return OpenRecords(ctx, s.Schedule.StateDir)
}

// Live returns the runs of all tasks that live on this machine, or wait for a deferred retry.
func (s Source) Live() []state.Row {
	r, err := s.Records(context.Background())
	if _, denied := errors.AsType[*DeniedError](err); err != nil && !denied {
		s.Problem("%v", err)
	}
	defer r.Close()
	return r.Live
}

// History returns the live and the lost runs of all tasks, and the records that the query covers.
func (s Source) History(ctx context.Context, q past.Query) (live, lost []state.Row, found []state.Row, err error) {
	r, err := s.Records(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	defer r.Close()
	found, err = findByClock(ctx, r, q, s.Now())
	return r.Live, r.Lost, found, cmp.Or(err, r.AddValues(ctx, found))
}

// Page returns the records of the query, the newest slot first, and the position of the next page
// (zero on the last page). Its cost does not grow with the history. The query has a Limit from 1 to
// MaxPageSize.
func (s Source) Page(ctx context.Context, q past.Query) (page []state.Row, next past.Position, err error) {
	records, err := s.Records(ctx)
	if err != nil {
		return nil, next, err
	}
	defer records.Close()
	limit := q.Limit
	q.Limit++ // whether there is a next page
	page, err = records.Find(ctx, q)
	if err == nil && len(page) > limit {
		page = slices.Clip(page[:limit])
		next = past.Position{Slot: page[limit-1].Slot, ID: page[limit-1].ID}
	}
	return page, next, cmp.Or(err, records.AddValues(ctx, page))
}

// Store returns the store of the schedule, or an error if the schedule has no store.
func (s Source) Store() (mutex.Store, error) {
	if s.Controls.Store == nil {
		return nil, Fail(NotFound, "let the servers share a Redis or a database: `store: redis://…` in the schedule",
			"%s has no store, so this machine stands alone", s.Schedule.File)
	}
	return s.Controls.Store, nil
}
