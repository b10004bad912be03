package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"sched/mutex"
	"sched/mutex/stores"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/pause"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/tick"
	"sched/schedule/view"
)

// connections are the store and the database of one schedule. They are nil until the methods store
// and caller of app need them.
type connections struct {
	remote    mutex.Store
	runCaller *run.Caller
}

// close closes the database and the store. Requests on their way to the store have a moment to
// arrive.
func (c connections) close() {
	if c.runCaller != nil {
		c.runCaller.Self.Close()
		c.runCaller.DB.Close()
	}
	if c.remote != nil {
		c.remote.Close()
	}
}

// store returns the store of the schedule, which connects at its first request. It returns nil if
// the schedule has no store. After the first call the store stays the same. So all calls must be
// for one schedule, until a.connections are empty again (liveStore, runForWork).
func (a *app) store(s *schedule.Schedule) mutex.Store {
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

// caller returns the caller with which this process begins, finishes and stops runs. It opens
// nothing yet. As with store, all calls must be for one schedule.
func (a *app) caller(s *schedule.Schedule) run.Caller {
	if a.runCaller == nil {
		caller := run.NewCaller(run.StorageAt(s.StateDir, a.store(s)), state.Tick, os.Environ())
		a.runCaller = &caller
	}
	return *a.runCaller
}

// controls returns where the pauses and interrupts of the schedule are kept.
func (a *app) controls(s *schedule.Schedule) pause.Source {
	return pause.Source{Dir: s.StateDir, Store: a.store(s), ReadOnly: a.readOnly}
}

// view returns what answers to questions about the schedule are made of.
func (a *app) view(s *schedule.Schedule) view.Source {
	return view.Source{
		Schedule: s,
		Controls: a.controls(s),
		Now:      a.now,
		Server:   serverName(s.Server),
		Config:   a.configFlag(),
		Problem:  a.warn,
	}
}

// actor returns the person who called this process, as one who changes things.
func (a *app) actor(s *schedule.Schedule) control.Actor {
	actor := control.Actor{Source: a.view(s), By: personName()}
	actor.Environ, actor.OnlyTicks = tickEnviron(s, ownEnvironment())
	return actor
}

// tick returns the tick of a minute. It reports problems to a; the caller sets the other callbacks.
func (a *app) tick(s *schedule.Schedule, minute time.Time) *tick.Tick {
	return &tick.Tick{
		Schedule: s,
		Minute:   minute,
		Storage:  a.caller(s).Storage,
		Report:   tick.Report{Problem: a.warn},
		Host: tick.Host{
			Server:  serverName(s.Server),
			Version: Version,
			Self:    self(),
			Environ: os.Environ(),
		},
	}
}

// noteChange writes a change that was just made into the log of changes. If the log cannot be
// written, it says so, and the change stays.
func (a *app) noteChange(s *schedule.Schedule, action, target, reason string) {
	if target == pause.Everything {
		target = view.Everything
	}
	change := state.Change{
		At:     a.now(),
		Who:    personName(),
		From:   view.FromCommand,
		Action: action,
		Target: target,
		Reason: control.Reason(reason),
	}
	db, err := state.Open(s.StateDir, state.Patience)
	if err == nil {
		_, err = db.Audit().Add(noDeadline, change)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		a.warn("this is done, but `sched history --changes` will not show it: %v", err)
	}
}
