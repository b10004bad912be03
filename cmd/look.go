package cmd

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/doctor"
	"sched/schedule/view"
)

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
