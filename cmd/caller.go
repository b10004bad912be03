package cmd

import (
	"os"
	"os/user"
	"strconv"

	"sched/schedule"
	"sched/schedule/actions"
)

// caller is the login name of the person who called sched, for the history: the one before sudo.
func caller() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "user " + strconv.Itoa(os.Getuid())
}

// actor is the person who called sched, as somebody who asks for something.
func (st *stores) actor(s *schedule.Schedule) actions.Actor {
	return actions.Actor{Source: st.view(s), By: caller()}
}
