package cmd

import (
	"errors"
	"os"
	"path/filepath"

	"sched/mutex"
	"sched/mutex/stores"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/doctor"
	"sched/schedule/pause"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/view"
)

// store returns a store that is not connected yet; nil if the schedule has none.
func (a *app) store(s *schedule.Schedule) mutex.Store {
	if a.remote == nil && len(s.Store.Servers) > 0 {
		remote, err := stores.Open(mutex.Config{Servers: s.Store.Servers, Dir: filepath.Dir(s.File), Namespace: s.Name, Lease: s.Store.Lease})
		if err != nil {
			panic(err) // the schedule is valid, so these servers were checked
		}
		a.remote = remote
	}
	return a.remote
}

// closeStore closes the database, and ends the connections to the store. Commands that are still on
// their way to the store have a moment to arrive.
func (a *app) closeStore() {
	if a.caller != nil {
		a.caller.Self.Close()
		a.caller.DB.Close()
	}
	if a.remote != nil {
		a.remote.Close()
	}
}

// storage returns the storage of the schedule, which closeStore closes. It opens nothing yet.
func (a *app) storage(s *schedule.Schedule) run.Storage { return a.runs(s).Storage }

// runs returns what this process gives to runs of the schedule.
func (a *app) runs(s *schedule.Schedule) run.Caller {
	if a.caller == nil || a.caller.Dir != s.StateDir {
		caller := run.NewCaller(run.StorageAt(s.StateDir, a.store(s)), state.Tick, os.Environ())
		a.caller = &caller
	}
	return *a.caller
}

func (a *app) controls(s *schedule.Schedule) pause.Source {
	return pause.Source{Dir: s.StateDir, Store: a.store(s), ReadOnly: a.looks}
}

func (a *app) view(s *schedule.Schedule) view.Source {
	return view.Source{Schedule: s, Controls: a.controls(s), Now: a.now, Server: serverName(s.Server), Config: a.configFlag(), Problem: a.problem}
}

func (a *app) actor(s *schedule.Schedule) control.Actor {
	return control.Actor{Source: a.view(s), By: callerName(), Environ: tickEnviron(s, ownEnvironment())}
}

// ownEnvironment is the environment of this process, for tickEnviron.
func ownEnvironment() doctor.Environment { return doctor.Here(os.Environ(), localZone().String()) }

// tickEnviron returns the variables with which ticks of the schedule start commands, if this
// process, whose environment is own, can start them in the same way; else nil.
func tickEnviron(s *schedule.Schedule, own doctor.Environment) []string {
	note, ok := doctor.Noted(s.StateDir)
	if !ok {
		return nil
	}
	return note.Environ(own, os.Environ())
}

// noteChange writes a change that was just made into the log of changes. If the log cannot be
// written, it says so, and the change stays.
func (a *app) noteChange(s *schedule.Schedule, action, target, reason string) {
	if target == pause.Everything {
		target = view.Everything
	}
	line := state.Change{
		At: a.now(), Who: callerName(), From: view.FromCommand, Action: action, Target: target, Reason: control.Reason(reason),
	}
	db, err := state.Open(s.StateDir, state.Patience)
	if err == nil {
		_, err = db.Audit().Add(ctx, line)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		a.problem("this is done, but `sched history --changes` will not show it: %v", err)
	}
}
