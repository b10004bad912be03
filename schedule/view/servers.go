package view

import (
	"context"

	"sched/schedule/cluster"
)

// A Server is one of the machines that share the schedule.
type Server struct {
	Name        string      `json:"name"`
	Version     string      `json:"version"`
	Minute      string      `json:"minute"`
	Seen        string      `json:"seen"`         // when it last reported, by the clock of the store
	Age         float64     `json:"age"`          // seconds from then until now
	ClockOffset float64     `json:"clock_offset"` // by how many seconds its clock is ahead of Redis's
	Labels      []string    `json:"labels"`       // labels that tasks ask for
	Running     []ServerRun `json:"running"`
	More        int         `json:"more"`        // more runs, which are not listed
	Environment string      `json:"environment"` // of its schedule
	SharedName  bool        `json:"shared_name"` // more than one machine ticks under this name
	Zone        string      `json:"zone"`        // UTC offsets of its one_server tasks; empty if they do not depend on it
}

// A ServerRun is a run on a server.
type ServerRun struct {
	Run   string `json:"run"`
	Task  string `json:"task"`
	PID   *int   `json:"pid"` // null until the command has started
	Since string `json:"since"`
}

// Servers returns the servers that ticked the schedule in the last ten minutes; it needs a store.
func (s Source) Servers(ctx context.Context) ([]cluster.Server, error) {
	store, err := s.Store()
	if err != nil {
		return nil, err
	}
	return cluster.List(ctx, store)
}

// ServersOf returns servers as they are shown.
func ServersOf(all []cluster.Server) []Server {
	out := []Server{}
	for _, s := range all {
		one := Server{
			Name: s.Name, Version: s.Version, Minute: timeText(s.Minute), Seen: timeText(s.Seen),
			Age: s.Age.Seconds(), ClockOffset: s.Offset.Seconds(), Labels: listOf(s.Labels), Running: []ServerRun{}, More: s.More,
			Environment: s.Environment, SharedName: s.SharedName, Zone: s.Zone,
		}
		for _, r := range s.Running {
			one.Running = append(one.Running, ServerRun{r.Run, r.Task, pidOrNil(r.PID), timeText(r.Since)})
		}
		out = append(out, one)
	}
	return out
}
