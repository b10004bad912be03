// Package app is one call of sched: what each command needs of this machine, of its schedule, and
// of what a schedule uses.
package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"sched/cmd/exit"
	"sched/cmd/terminal"
	"sched/mutex"
	"sched/mutex/stores"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/load"
	"sched/schedule/pause"
	"sched/schedule/run"
	"sched/schedule/run/holding"
	"sched/schedule/state"
	"sched/schedule/tick"
	"sched/schedule/view"
)

// Version is the version of sched (CHANGELOG.md).
const Version = "0.2.0"

// An App is one call of sched. Each command gets it. It is built in three layers:
//
//	console.Console  reads and prints
//	ScheduleFile     finds and reads a schedule
//	App              opens what a schedule uses
type App struct {
	ScheduleFile
	Connections
	Parsed bool // cobra has accepted the arguments; later errors are no wrong usage
}

// ForFile returns an App for another file, which prints as this one does.
func (a *App) ForFile(file string) *App {
	return &App{
		ScheduleFile: ScheduleFile{Console: a.Console, Config: file, System: a.System},
		Parsed:       a.Parsed,
	}
}

// Report prints an error with its hint, and returns its exit code. All errors that end a
// command are printed here.
func (a *App) Report(err error) (code int) {
	if err == nil {
		return exit.OK
	}
	if invalid, ok := errors.AsType[*load.InvalidError](err); ok {
		a.printFirstProblems(invalid.Problems)
		return exit.Invalid
	}
	e, ok := errors.AsType[*exit.Error](err)
	if !ok {
		e = a.exitOf(err)
	}
	writeErr := a.WriteError()
	printedLater := writeErr != nil && errors.Is(e.Err, writeErr) // codeAfterWriting prints it
	if e.Err != nil && !printedLater {
		a.Warn("%v", e.Err)
	}
	if e.Hint != "" && exit.HintOf(e.Err) == "" { // Warn prints the hint of e.Err itself
		fmt.Fprintf(a.Err, "hint: %s\n", e.Hint)
	}
	return e.Code
}

// exitOf returns the exit of an error that does not say its exit code.
func (a *App) exitOf(err error) *exit.Error {
	if !a.Parsed { // an error of cobra
		return &exit.Error{Code: exit.Invalid, Err: err, Hint: "see `sched --help`"}
	}
	code := exit.Failure
	if refusal, ok := errors.AsType[*view.Error](err); ok && refusal.Kind == view.Invalid {
		code = exit.Invalid
	}
	return &exit.Error{Code: code, Err: err}
}

// ChooseTask returns the name, or for "" the name of the task whose number or name a person types.
// If nobody can be asked, the error says how the command is called.
func (a *App) ChooseTask(s *schedule.Schedule, name, use string) (string, error) {
	if name != "" {
		return name, nil
	}
	if !terminal.Is(a.In) || !terminal.Is(a.Err) {
		return "", exit.Usage("`sched list"+a.ConfigFlag()+"` has the names", "name a task: sched %s", use)
	}
	if len(s.Tasks) == 0 {
		return "", exit.Failed("", "the schedule has no tasks")
	}
	for i, t := range s.Tasks {
		fmt.Fprintf(a.Err, "%3d  %s\n", i+1, t.Name)
	}
	answer := a.Ask("which one? ")
	t, err := view.FindTask(s, answer)
	if err == nil {
		return t.Name, nil
	}
	const unknown = "no task has that name or number"
	if answer == "" {
		return "", exit.Usage("type a number or a name", unknown)
	}
	number, numberErr := strconv.Atoi(answer)
	if numberErr != nil {
		return "", err
	}
	if number < 1 || number > len(s.Tasks) {
		return "", exit.Usage(fmt.Sprintf("type a number from 1 to %d, or a name", len(s.Tasks)), unknown)
	}
	return s.Tasks[number-1].Name, nil
}

// Store returns the store of the schedule, which connects at its first request. It returns nil if
// the schedule has no store. After the first call the store stays the same. So all calls must be
// for one schedule, until the store is closed.
func (a *App) Store(s *schedule.Schedule) mutex.Store {
	if a.remote == nil && len(s.Store.Servers) > 0 {
		remote, err := stores.Open(mutex.Config{
			Servers:   s.Store.Servers,
			Dir:       filepath.Dir(s.File),
			Namespace: s.Name,
			Lease:     s.Store.Lease,
		})
		if err != nil {
			panic(err) // the schedule is valid, so these servers were checked
		}
		a.remote = remote
	}
	return a.remote
}

// Caller returns the caller with which this process begins, finishes and stops runs. It opens
// nothing yet. As with store, all calls must be for one schedule.
func (a *App) Caller(s *schedule.Schedule) run.Caller {
	if a.runCaller == nil {
		caller := run.NewCaller(holding.StorageAt(s.StateDir, a.Store(s)), state.Tick, a.Environ())
		a.runCaller = &caller
	}
	return *a.runCaller
}

// Controls returns where the pauses and interrupts of the schedule are kept.
func (a *App) Controls(s *schedule.Schedule) pause.Source {
	return pause.Source{Dir: s.StateDir, Store: a.Store(s), ReadOnly: a.ReadOnly}
}

// View returns what answers to questions about the schedule are made of.
func (a *App) View(s *schedule.Schedule) view.Source {
	return view.Source{
		Schedule: s,
		Controls: a.Controls(s),
		Now:      a.Now,
		Server:   a.ServerName(s.Server),
		Environ:  a.Environ(),
		Config:   a.ConfigFlag(),
		Problem:  a.warnOnce(),
	}
}

// warnOnce returns Warn for what an answer lacks. It says once why a store does not answer: several
// parts of an answer may lack the store.
func (a *App) warnOnce() func(format string, args ...any) {
	var printed sync.Map // the errors of stores
	return func(format string, args ...any) {
		for _, arg := range args {
			err, _ := arg.(error)
			if refusal, ok := errors.AsType[*mutex.StoreError](err); ok {
				if _, again := printed.LoadOrStore(refusal.Text, true); again {
					return
				}
			}
		}
		a.Warn(format, args...)
	}
}

// Actor returns the person who called this process, as one who changes things.
func (a *App) Actor(s *schedule.Schedule) control.Actor {
	actor := control.Actor{Source: a.View(s), By: PersonName()}
	actor.Environ, actor.OnlyTicks = a.TickEnviron(s, a.OwnEnvironment())
	return actor
}

// Tick returns the tick of a minute. It reports problems to a; the caller sets the other callbacks.
func (a *App) Tick(s *schedule.Schedule, minute time.Time) *tick.Tick {
	return &tick.Tick{
		Schedule: s,
		Minute:   minute,
		Storage:  a.Caller(s).Storage,
		Report:   tick.Report{Problem: a.Warn},
		Host: tick.Host{
			Server:  a.ServerName(s.Server),
			Version: Version,
			Self:    Self(),
			Environ: a.Environ(),
		},
	}
}

// NoteChange writes a change that was just made into the log of changes. If the log cannot be
// written, it says so, and the change stays.
func (a *App) NoteChange(s *schedule.Schedule, action, target, reason string) {
	if target == pause.Everything {
		target = view.Everything
	}
	change := state.Change{
		At:     a.Now(),
		Who:    PersonName(),
		From:   view.FromCommand,
		Action: action,
		Target: target,
		Reason: control.Reason(reason),
	}
	db, err := state.Open(s.StateDir, state.Patience)
	if err == nil {
		_, err = db.Audit().Add(context.Background(), change)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		a.Warn("this is done, but `sched history --changes` will not show it: %v", err)
	}
}

// IsForeign reports whether root looks at what another user's task prints. A task that the schedule
// has no longer may have been one; s may be nil.
func (a *App) IsForeign(s *schedule.Schedule, task string) bool {
	if a.Owner != 0 || os.Geteuid() != 0 {
		return a.Owner != 0
	}
	var t *schedule.Task
	if s != nil {
		t = s.Task(task)
	}
	return t == nil || !slices.Contains([]string{"", "root", "0"}, t.As.User)
}

// Connections are the store and the database of one schedule. They are nil until the methods store
// and caller of app need them.
type Connections struct {
	remote    mutex.Store
	runCaller *run.Caller
}

// Close closes the database and the store. Requests on their way to the store have a moment to
// arrive.
func (c Connections) Close() {
	if c.runCaller != nil {
		c.runCaller.Self.Close()
		c.runCaller.DB.Close()
	}
	if c.remote != nil {
		c.remote.Close()
	}
}
