package view

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/placement"
	"sched/schedule/state"
)

// A Server is one of the machines that share the schedule.
type Server struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Minute      humanize.JSONTime `json:"minute"`       // the last minute that it ticked
	Seen        humanize.JSONTime `json:"seen"`         // when it last reported, by the clock of the store
	Age         float64           `json:"age"`          // seconds from then until now
	ClockOffset float64           `json:"clock_offset"` // by how many seconds its clock is ahead of the store's
	Labels      []string          `json:"labels"`       // labels that tasks ask for
	Running     []ServerRun       `json:"running"`
	More        int               `json:"more"`        // more runs, which are not listed
	Environment string            `json:"environment"` // of its schedule
	SharedName  bool              `json:"shared_name"` // more than one machine ticks under this name
	Zone        string            `json:"zone"`        // UTC offsets of its one_server tasks that name no zone; else empty
}

// A ServerRun is a run on a server.
type ServerRun struct {
	Run   string            `json:"run"`
	Task  string            `json:"task"`
	PID   *int              `json:"pid"` // null until the command has started
	Since humanize.JSONTime `json:"since"`

	LastReported *humanize.JSONTime `json:"last_told"` // when a server that is silent now reported the run; else null
}

// Servers returns the servers that ticked the schedule in the last ten minutes, without runs that
// are over as far as the store knows; it needs a store.
func Servers(ctx context.Context, s Source) ([]cluster.Server, error) {
	store, err := s.Store()
	if err != nil {
		return nil, err
	}
	all, err := cluster.List(ctx, store)
	if err != nil {
		return nil, err
	}
	err = confirm(ctx, s, all)
	for i := range all {
		all[i].Running = slices.DeleteFunc(all[i].Running, func(r cluster.Running) bool { return r.Followed })
	}
	return all, err
}

// WasRunning reports whether a run that a server announced may have ended since: the server is
// silent, and no lock says that the run lives.
func WasRunning(s cluster.Server, r cluster.Running) bool { return s.Silent() && !r.Confirmed }

// A ServerState says whether a server ticks.
type ServerState string

const (
	ServerTicks   ServerState = "ticks"
	ServerNoTicks ServerState = "no ticks" // it says what runs there, and no tick began for three minutes
	ServerSilent  ServerState = "silent"   // nothing was heard of it for three minutes
	ServerGone    ServerState = "gone"     // the store has forgotten it: see GoneServers
)

// ServerStateOf returns the state of a server that the store lists.
func ServerStateOf(s cluster.Server) ServerState {
	switch reported := s.Seen.Add(s.Offset); { // by the clock of the server, as the minute is
	case s.Silent():
		return ServerSilent
	case ticksMissing(s.Minute, reported) != "" && reported.After(s.Minute):
		return ServerNoTicks
	}
	return ServerTicks
}

// TicksAnotherText reports whether another server ticks another text than the schedule has here.
// It is false for a silent server.
func TicksAnotherText(s *schedule.Schedule, thisServer string, other cluster.Server) bool {
	return other.Name != thisServer && other.Digest != s.Digest && !other.Silent()
}

// SilentText says of a server in a list of the store what its silence may mean. It returns "" for a
// server that is not silent, and for an entry with a newer one of its name before it.
func SilentText(servers []cluster.Server, i int) string {
	s := servers[i]
	if !s.Silent() || i > 0 && servers[i-1].Name == s.Name {
		return ""
	}
	text := fmt.Sprintf("%s says nothing for %s: it was stopped, or it died", s.Name, humanize.Duration(s.Age))
	runs := s.More
	for _, r := range s.Running {
		if WasRunning(s, r) {
			runs++
		}
	}
	if runs > 0 {
		text += fmt.Sprintf("; %s may have ended since", humanize.Count(runs, "run"))
	}
	return text
}

// SharesName reports whether other machines tick under the name of a server. In a list of the store
// it is true for the first machine of the name alone, so that people are told once.
func SharesName(servers []cluster.Server, i int) bool {
	return servers[i].SharedName && (i == 0 || servers[i-1].Name != servers[i].Name)
}

// GoneServers returns the last run of each server that ticked once and is in the list no more, by
// name. It looks at the runs that other servers published last.
func GoneServers(ctx context.Context, s Source, listed []cluster.Server) (last []state.Row, err error) {
	ended, err := cluster.Recent(ctx, s.Controls.Store, s.Server, past.Query{}, cluster.MaxRuns)
	for _, r := range ended {
		isListed := slices.ContainsFunc(listed, func(other cluster.Server) bool { return other.Name == r.Server })
		i := slices.IndexFunc(last, func(other state.Row) bool { return other.Server == r.Server })
		switch {
		case isListed:
		case i < 0:
			last = append(last, r)
		case r.Ended.After(last[i].Ended):
			last[i] = r
		}
	}
	slices.SortFunc(last, func(a, b state.Row) int { return strings.Compare(a.Server, b.Server) })
	return last, err
}

// ServersOf returns servers as they are shown.
func ServersOf(all []cluster.Server) []Server {
	shown := []Server{}
	for _, s := range all {
		server := Server{
			Name:        s.Name,
			Version:     s.Version,
			Minute:      humanize.UTC(s.Minute),
			Seen:        humanize.UTC(s.Seen),
			Age:         s.Age.Seconds(),
			ClockOffset: s.Offset.Seconds(),
			Labels:      listOf(s.Labels),
			Running:     []ServerRun{},
			More:        s.More,
			Environment: s.Environment,
			SharedName:  s.SharedName,
			Zone:        s.Zone,
		}
		for _, r := range s.Running {
			running := ServerRun{Run: r.Run, Task: r.Task, PID: orNil(r.PID), Since: humanize.UTC(r.Since)}
			if WasRunning(s, r) {
				running.LastReported = &server.Seen
			}
			server.Running = append(server.Running, running)
		}
		shown = append(shown, server)
	}
	return shown
}

// unservedTasks returns a trouble for each task whose `servers` match no server that ticks.
func unservedTasks(ctx context.Context, s Source, h *Health) (troubles []Trouble) {
	namesServers := func(t *schedule.Task) bool { return len(t.Servers) > 0 }
	if s.Controls.Store == nil || h.Outage != nil || !slices.ContainsFunc(h.Schedule.Tasks, namesServers) {
		return nil
	}
	all, err := cluster.List(ctx, s.Controls.Store)
	notTicking := func(server cluster.Server) bool { return ServerStateOf(server) != ServerTicks }
	all = slices.DeleteFunc(all, notTicking)
	if err != nil || len(all) == 0 { // no outage yet; that no ticks come is a trouble of its own
		return nil
	}
	var machines []placement.Machine
	var ticking []string
	for _, server := range all {
		machine := placement.Machine{Name: server.Name, Labels: server.Labels}
		machines, ticking = append(machines, machine), append(ticking, machine.String())
	}
	ticking = slices.Compact(ticking)
	for _, t := range h.Schedule.Tasks {
		serves := func(m placement.Machine) bool { return m.IsAny(t.Servers) }
		if !namesServers(t) || !h.Schedule.InUse(t) || slices.ContainsFunc(machines, serves) {
			continue
		}
		troubles = append(troubles, Trouble{
			Task: t.Name,
			Kind: "unserved",
			Text: fmt.Sprintf("no server runs it: servers is %s, and those that tick are %s",
				strings.Join(t.Servers, ", "), strings.Join(ticking, "; ")),
			Next: "sched list --servers" + s.Config,
		})
	}
	return troubles
}

// kindNowhere is the kind of a Trouble of a one_server task: its newest slot ran on no server.
const kindNowhere = "nowhere"

// unclaimedSlots returns a trouble for each one_server task whose newest slot is open here (see
// openSlot), unless a server of the store is known to have run or claimed that slot or a later one.
func unclaimedSlots(ctx context.Context, s Source, h *Health) (troubles []Trouble) {
	if s.Controls.Store == nil || h.Outage != nil {
		return nil
	}
	open := map[string]past.Total{}
	var slots []schedule.Slot
	for _, t := range h.Tasks {
		if slot, ok := openSlot(ctx, s, t); ok {
			open[t.Name] = slot
			slots = append(slots, schedule.Slot{Task: t.Task, At: slot.Slot})
		}
	}
	for _, slot := range unclaimed(ctx, s, slots) {
		total := open[slot.Task.Name]
		troubles = append(troubles, Trouble{
			Task: slot.Task.Name,
			Kind: kindNowhere,
			Text: fmt.Sprintf("due at %s, and ran on no server: it was %s here",
				humanize.MinuteZone(slot.At, h.Schedule.Location), total.Outcome),
			Run:  total.Run,
			Next: "sched why" + s.Config + " " + slot.Task.Name,
		})
	}
	return troubles
}

// unclaimed returns the slots that no server of the store has run or claimed. If the store does not
// answer it returns none: the next tick notes the outage.
func unclaimed(ctx context.Context, s Source, slots []schedule.Slot) []schedule.Slot {
	if len(slots) == 0 {
		return nil
	}
	var names, keys []string
	for _, slot := range slots {
		names, keys = append(names, slot.Task.Name), append(keys, slot.ClaimKey())
	}
	last, err := cluster.Last(ctx, s.Controls.Store, s.Server, names)
	if err != nil {
		return nil
	}
	live, err := RunningElsewhere(ctx, s)
	if err != nil {
		return nil
	}
	claims, err := s.Controls.Store.Claims(ctx, keys...)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(slots, func(slot schedule.Slot) bool {
		_, claimed := claims[slot.ClaimKey()]
		lives := slices.ContainsFunc(live, func(row state.Row) bool {
			return row.Task == slot.Task.Name && !row.Slot.Before(slot.At)
		})
		return claimed || lives || !last[slot.Task.Name].Slot.Before(slot.At)
	})
}

// openSlot returns the newest slot of a one_server task on this machine. It returns false unless
// the slot was missed, or was skipped because another server may have run it.
func openSlot(ctx context.Context, s Source, t TaskHealth) (newest past.Total, ok bool) {
	if !t.OneServer || len(t.Running) > 0 {
		return newest, false
	}
	for _, total := range t.Totals {
		if total.Slot.After(newest.Slot) {
			newest = total
		}
	}
	switch newest.Outcome {
	case outcome.Missed:
		return newest, true
	case outcome.Skipped:
		query := past.Query{Task: t.Name, Outcomes: []outcome.Outcome{outcome.Skipped}, Limit: 1}
		found, _, err := s.Page(ctx, query)
		if err != nil || len(found) == 0 {
			return newest, false
		}
		return newest, found[0].Slot.Equal(newest.Slot) && found[0].Kind == outcome.StoreDown
	}
	return newest, false
}
