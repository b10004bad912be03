package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/past"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// A RunState says how far a run is.
type RunState string

// The states of a run.
const (
	RunWaiting  RunState = "waiting"  // no tick has begun it yet: see state.Row.Pending
	RunQueued   RunState = "queued"   // it waits for its mutex or for a seat of its pool
	RunStarting RunState = "starting" // its command has not started yet
	RunRunning  RunState = "running"
	RunDeferred RunState = "deferred" // its next attempt was left to a later tick
	RunVanished RunState = "vanished" // its processes are gone; the next tick will finish it
	RunEnded    RunState = "ended"    // it has an outcome, or it never took place
)

// A Run is one run with all that is known of it. Before it ends, its outcome and its end are empty.
type Run struct {
	Record
	State   RunState           `json:"state"`
	PID     *int               `json:"pid"`      // of its command; null if no command runs
	Since   *humanize.JSONTime `json:"since"`    // when the present attempt began; null if no command runs
	Attempt int                `json:"attempt"`  // of the present attempt, the last one, or the one it waits for
	At      *humanize.JSONTime `json:"at"`       // the time it waits for; null if it does not wait
	Hooks   []string           `json:"hooks"`    // hooks that were started, until the run is in the history
	StopBy  string             `json:"stop_by"`  // who asked to stop it, until the run is in the history
	Size    int64              `json:"log_size"` // bytes that its command printed
	Hooked  int64              `json:"hook_log_size"`

	Row state.Row `json:"-"` // the record, exactly

	elsewhere bool // it comes from the store, not from this server
}

// FindRun returns the run with that id, also by the beginning of the id or by its end (from four
// characters on). It finds runs that wait, live or have ended, also on another server of the store.
// If no run or several runs fit, the error is an *Error or a *past.AmbiguousError.
func FindRun(ctx context.Context, s Source, name string) (Run, error) {
	all, err := s.Records(ctx)
	if err != nil {
		return Run{}, err
	}
	defer all.Close()
	row, err := OneRow(all.Live, name)
	isAlive := row.ID != ""
	if err == nil && !isAlive {
		row, err = OneRow(all.Lost, name)
	}
	switch {
	case err != nil:
		return Run{}, err
	case row.Pending():
		return waitingRun(row), nil
	case row.ID != "":
		hooks, err := all.Hooks(ctx, row.ID)
		live := liveRun(s.Schedule.StateDir, row, isAlive, hooks)
		if err == nil {
			err = live.addNotifications(ctx, all)
		}
		return live, err
	}
	ended, err := FindRecord(ctx, s, name)
	if err == nil {
		run := EndedRun(s, ended)
		err = run.addNotifications(ctx, all)
		return run, err
	}
	if elsewhere, ok := runElsewhere(ctx, s, name); ok {
		return elsewhere, nil
	}
	return Run{}, err
}

// addNotifications adds all that is known of the notifications of the run.
func (r *Run) addNotifications(ctx context.Context, records *Records) error {
	all, err := allNotifications(ctx, records, r.Row)
	r.notify(r.Row, all)
	return err
}

// liveRun returns a run of this machine that has begun and has not ended. isAlive says that a
// process watches it, or that it waits for one.
func liveRun(dir string, row state.Row, isAlive bool, hooks []state.Hook) Run {
	r := runOf(dir, row.WithoutOutcome())
	r.State, r.Attempt = RunRunning, max(1, row.Attempt.Number)
	if row.Attempted() {
		r.PID, r.Since = orNil(row.Attempt.PID), humanize.UTCOrNil(row.Attempt.At)
	}
	switch {
	case row.Queued():
		r.State, r.At = RunQueued, humanize.UTCOrNil(row.Wait.Until)
	case row.Deferred():
		r.State, r.Attempt, r.At = RunDeferred, row.Attempt.Number+1, humanize.UTCOrNil(row.Wait.NotBefore)
		r.PID, r.Since = nil, nil
	case !isAlive:
		r.State, r.PID = RunVanished, nil
	case row.Attempt.PID == 0 && !row.BetweenAttempts():
		r.State = RunStarting
	}
	for _, hook := range hooks {
		r.Hooks = append(r.Hooks, hook.Name)
	}
	slices.Sort(r.Hooks)
	if row.Stop != nil {
		r.StopBy = row.Stop.By
	}
	return r
}

// EndedRun returns a run of this machine that has ended.
func EndedRun(s Source, row state.Row) Run {
	r := runOf(s.Schedule.StateDir, row)
	r.State, r.Attempt = RunEnded, row.Attempt.Number
	return r
}

func runOf(dir string, row state.Row) Run {
	r := Run{Record: RecordOf(row), Hooks: []string{}, Row: row}
	path := OutputOf(dir, row)
	r.Size, r.Hooked = sizeOf(path), sizeOf(output.HooksPath(path))
	return r
}

// OutputOf returns the file with the output of a run of this server; the file may not exist. A path
// of the row that leaves the folder of the outputs, as only another program writes it, counts as
// none.
func OutputOf(dir string, row state.Row) string {
	inFolder, err := filepath.Rel(output.Folder(dir), row.Output)
	if row.Output != "" && err == nil && filepath.IsLocal(inFolder) {
		return row.Output
	}
	return output.Path(dir, row) // of its hooks
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil || statedir.CheckPlain(path) != nil {
		return 0
	}
	return info.Size()
}

func waitingRun(r state.Row) Run {
	until := r.Slot
	if r.DelayedSlot() {
		until = r.Wait.Until // at most
	}
	row := state.Row{ID: r.ID, Task: r.Task, Slot: r.Slot, Origin: r.Origin, Params: r.Params}
	return Run{
		Record:  RecordOf(row),
		State:   RunWaiting,
		Attempt: 1,
		At:      humanize.UTCOrNil(until),
		Hooks:   []string{},
		Row:     row,
	}
}

// runElsewhere returns the run of another server with that id, as far as the store knows it.
func runElsewhere(ctx context.Context, s Source, name string) (Run, bool) {
	if s.Controls.Store == nil {
		return Run{}, false
	}
	live, ended, skipped, err := slotsElsewhere(ctx, s, past.Query{}, cluster.MaxRuns)
	if err != nil {
		return Run{}, false
	}
	row, _ := OneRow(live, name)
	ended = append(ended, skipped...)
	for i := 0; row.ID == "" && i < len(ended); i++ { // several ended runs may fit: the newest counts
		row, _ = OneRow(ended[i:i+1], name)
	}
	r := Run{
		Record:    RecordOf(row),
		State:     RunEnded,
		Attempt:   row.Attempt.Number,
		Hooks:     []string{},
		Row:       row,
		elsewhere: true,
	}
	if row.Outcome == "" {
		r.State = RunRunning
		r.PID, r.Since = orNil(row.Attempt.PID), humanize.UTCOrNil(row.Attempt.At)
	}
	return r, row.ID != ""
}

// Elsewhere returns the error for a command that only the run's own server can do; nil for a run of
// this server.
func (r Run) Elsewhere(command string) error {
	if !r.elsewhere {
		return nil
	}
	return NotHere(r.Row, command)
}

// Poll returns the row of a run of this machine, and after how long to ask again. While the run
// lives or waits, the row has no outcome. When the run is over, wait is 0. If the row has no
// outcome then, no process supervised the run to its end.
func Poll(ctx context.Context, s Source, begun state.Row) (current state.Row, wait time.Duration, err error) {
	db, err := state.OpenRead(s.Schedule.StateDir, state.Patience)
	if err != nil {
		return begun, 0, err
	}
	defer db.Close()
	row, lives, err := db.RowAndOwner(ctx, begun.ID)
	switch {
	case err != nil:
		return begun, 0, err
	case row.Phase == state.Ended:
		return row, 0, nil
	case row.Waits():
		return begun, waitEvery, nil
	case lives:
		return begun, pollEvery, nil
	}
	return begun, 0, nil
}

// The times between two reads of the row of a live run.
const (
	pollEvery = 100 * time.Millisecond // a process watches it
	waitEvery = time.Second            // it waits for a tick
)

// A name stands for different runs in different functions:
//
//   - Run: the id of a run that waits, lives or has ended, also on another server.
//   - FindRecord: the id of a run of this machine that has ended.
//   - NewestRun: the id of a run of this machine that has begun, or a task.
//   - OneWaiting: the id of a run of this machine that waits and has not begun.
//   - OneRow: the id of a run among rows.
//
// All of them accept a part of an id, as past.OneRun does.

// OneRow returns the row of the run that name stands for. Its ID is empty if no row fits.
func OneRow(rows []state.Row, name string) (state.Row, error) {
	var ids []string
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	id, err := past.OneRun(ids, name)
	if id == "" {
		return state.Row{}, err
	}
	return rows[slices.Index(ids, id)], nil
}

// FindRecord returns the record of the run with that id (see past.Past.Get). Otherwise its error
// says why there is no record, with a hint.
func FindRecord(ctx context.Context, s Source, name string) (state.Row, error) {
	all, err := s.Records(ctx)
	if err != nil {
		return state.Row{}, err
	}
	defer all.Close()
	row, err := all.Get(ctx, name)
	if err == nil || !errors.Is(err, state.ErrNotFound) {
		return row, err
	}
	if r, err := OneRow(all.Pending(), name); err != nil || r.ID != "" {
		return state.Row{}, errors.Join(err, RefuseWaiting(s, r))
	}
	if _, err := FindTask(s.Schedule, name); err == nil {
		if s.Controls.Store != nil {
			return state.Row{}, Fail(NotFound, "", "%s never ran here, and no run on another server is known", name)
		}
		return state.Row{}, Fail(NotFound, "run it once with `sched test "+name+"`", "%s never ran", name)
	} else if slices.Contains(s.Schedule.Without, name) {
		return state.Row{}, err
	}
	hint := DidYouMean(name, TaskNames(s.Schedule))
	if newest, err := all.Find(ctx, past.Query{Limit: 1000}); err == nil {
		hint = cmp.Or(nearestRun(name, newest), hint)
	}
	return state.Row{}, Fail(NotFound, hint, "there is no task and no run %q", name)
}

// NewestRun returns the run of a task that began last, whatever its slot, or the run that name
// stands for (see past.OneRun). A run that has not ended has no outcome. If the run printed
// nothing, its output is empty or names a file that is missing.
func NewestRun(ctx context.Context, s Source, name string) (state.Row, error) {
	all, err := s.Records(ctx)
	if err != nil {
		return state.Row{}, err
	}
	defer all.Close()
	ended, err := newestEnded(ctx, s, all, name)
	if err != nil {
		return state.Row{}, err
	}
	begun := slices.DeleteFunc(append(all.Lost, all.Live...), state.Row.Pending)
	for _, row := range slices.Backward(begun) { // the newest first
		isOlder := row.Deferred() && row.ID < ended.ID // ids are in the order in which runs begin
		if row.Task == name && !isOlder {
			reportWait(s, row)
			return row.WithoutOutcome(), nil
		}
	}
	if ended.ID != "" {
		return ended, nil
	}
	row, err := OneRow(begun, name)
	if err != nil || row.ID == "" {
		return FindRecord(ctx, s, name)
	}
	reportWait(s, row)
	return row.WithoutOutcome(), nil
}

// newestEnded returns the ended run of a task that began last. Its ID is empty if no run has ended.
func newestEnded(ctx context.Context, s Source, all *Records, task string) (state.Row, error) {
	last, err := all.Last(ctx, []string{task})
	if err != nil {
		return state.Row{}, err
	}
	newest := last[task]
	found, err := all.Find(ctx, past.Query{Task: task, Outcomes: outcome.Ran, Limit: 1})
	if err == nil && len(found) > 0 && found[0].ID > newest.ID {
		newest = found[0] // a test, which Last leaves out
	}
	return newestBefore(ctx, all.Past, newest, s.Now()), nil
}

// nearestRun returns the hint for an id that no run has: the nearest id among the rows, or "".
func nearestRun(name string, rows []state.Row) string {
	var ids []string
	for _, r := range rows {
		ids = append(ids, humanize.ShortRun(r.ID))
	}
	near := humanize.Nearest(humanize.ShortRun(name), ids)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q, a run of %s?", near, rows[slices.Index(ids, near)].Task)
}

// OneWaiting returns the run with that id (see past.OneRun) that waits and has not begun. If
// there is no such run, its ID is empty.
func OneWaiting(s Source, id string) (state.Row, error) {
	all, _ := s.Records(context.Background()) // a tick reports the error
	defer all.Close()
	return OneRow(all.Pending(), id)
}
