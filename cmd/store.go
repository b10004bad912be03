package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"sched/mutex"
	"sched/mutex/stores"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/doctor"
	"sched/schedule/pause"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/view"

	"github.com/spf13/cobra"
)

// store returns a store that is not connected yet; nil if the schedule has none.
func (st *storages) store(s *schedule.Schedule) mutex.Store {
	if st.remote == nil && len(s.Store.Servers) > 0 {
		remote, err := stores.Open(mutex.Config{Servers: s.Store.Servers, Dir: filepath.Dir(s.File), Namespace: s.Name, Lease: s.Store.Lease})
		if err != nil {
			panic(err) // the schedule is valid, so these servers were checked
		}
		st.remote = remote
	}
	return st.remote
}

// closeStore closes the database, and ends the connections to the store. Commands that are still on
// their way to the store have a moment to arrive.
func (st *storages) closeStore() {
	if st.caller != nil {
		st.caller.Self.Close()
		st.caller.DB.Close()
	}
	if st.remote != nil {
		st.remote.Close()
	}
}

// storage returns the storage of the schedule, which closeStore closes. It opens nothing yet.
func (st *storages) storage(s *schedule.Schedule) run.Storage { return st.runs(s).Storage }

// runs returns what this process gives to runs of the schedule.
func (st *storages) runs(s *schedule.Schedule) run.Caller {
	if st.caller == nil || st.caller.Dir != s.StateDir {
		caller := run.NewCaller(run.StorageAt(s.StateDir, st.store(s)), state.Tick, os.Environ())
		st.caller = &caller
	}
	return *st.caller
}

func (st *storages) controls(s *schedule.Schedule) pause.Source {
	return pause.Source{Dir: s.StateDir, Store: st.store(s), ReadOnly: st.looks}
}

// look begins a command that only reads. Such a command writes nothing, neither into the state
// folder nor to the store, and works for everybody who may read the files: also for root on the
// schedule of another user.
func (f *scheduleFile) look() { f.looks = true }

func (st *storages) view(s *schedule.Schedule) view.Source {
	return view.Source{Schedule: s, Controls: st.controls(s), Now: st.now, Server: serverName(s.Server), Config: st.configFlag(), Problem: st.problem}
}

// asUser is the command line of this process as another user would type it.
func asUser(uid int) string {
	name := fmt.Sprintf("'#%d'", uid)
	if u, err := user.LookupId(fmt.Sprint(uid)); err == nil {
		name = u.Username
	}
	words := []string{"sudo", "-u", name, "sched"}
	for _, arg := range os.Args[1:] {
		if strings.ContainsAny(arg, " '\"$`\\*?;&|<>()#") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

// caller is the login name of the person who called sched, before sudo.
func caller() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "user " + strconv.Itoa(os.Getuid())
}

func (st *storages) actor(s *schedule.Schedule) control.Actor {
	return control.Actor{Source: st.view(s), By: caller(), Environ: asTicks(s, here())}
}

// here is the environment of this process, for asTicks.
func here() doctor.Environment { return doctor.Here(os.Environ(), localZone().String()) }

// asTicks returns the variables with which ticks of the schedule start commands, if this process
// can start them in the same way; else nil.
func asTicks(s *schedule.Schedule, here doctor.Environment) []string {
	note, ok := doctor.Noted(s.StateDir)
	if !ok {
		return nil
	}
	return note.Environ(here, os.Environ())
}

func reasonFlag(c *cobra.Command, reason *string) {
	c.Flags().StringVar(reason, "reason", "", "why, for those who wonder")
}

// noteChange writes a change that was just made into the log of changes. If the log cannot be
// written, it says so, and the change stays.
func (a *app) noteChange(s *schedule.Schedule, action, target, reason string) {
	if target == pause.Everything {
		target = view.Everything
	}
	line := state.Change{
		At: a.now(), Who: caller(), From: view.FromCommand, Action: action, Target: target, Reason: control.Reason(reason),
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
