package tick

import (
	"context"
	"slices"
	"time"

	"sched/schedule/clock"
	"sched/schedule/cluster"
	"sched/schedule/run"
	"sched/schedule/state"
)

// announceEvery is how often a tick announces this server to the others.
const announceEvery = 10 * time.Second

// An announcer announces this server, and remembers what came of the last announcement.
type announcer struct {
	launcher  *launcher
	announced []cluster.Running // the runs that the other servers know of
	findings  []cluster.Finding // what is wrong with the servers
	err       error             // why the store was of no use
}

// announce announces that this server ticks, and which runs it has, again and again until ticking
// is done. Then it announces once more if the runs have changed since. In the end it notes what is
// wrong with the servers, or why the store was of no use.
func (a *announcer) announce(ticking context.Context) {
	a.tell(a.announcement())
	for clock.Wait(ticking, announceEvery) {
		a.tell(a.announcement())
	}
	if server := a.announcement(); !slices.Equal(server.Running, a.announced) {
		a.tell(server)
	}
	if outage := a.launcher.locks.Outage.Load(); outage != nil { // the tasks of this tick met it
		a.err = *outage
	}
	cluster.Note(a.launcher.storage.Dir, a.launcher.moment.minute, a.findings, a.err)
}

// tell announces this server once, and reports what is wrong with the servers.
func (a *announcer) tell(server cluster.Server) {
	var offset time.Duration
	offset, a.findings, a.err = cluster.Announce(context.Background(), a.launcher.storage.Store, clock.Now, server)
	if a.err != nil {
		a.launcher.report.detail("this server is not announced: %v", a.err)
		return
	}
	a.reportServers(offset, a.findings)
	a.announced = server.Running
}

// announcement returns the announcement of this server.
func (a *announcer) announcement() cluster.Server {
	s := a.launcher.schedule
	server := cluster.Server{
		Name:        a.launcher.host.Server,
		Machine:     cluster.Machine(a.launcher.storage.Dir),
		Version:     a.launcher.host.Version,
		Minute:      a.launcher.moment.minute,
		File:        s.File,
		Digest:      s.Digest,
		Labels:      s.Machine.Labels,
		Environment: s.Environment,
		Zone:        cluster.ZoneOf(s, a.launcher.moment.minute.Year()),
	}
	live, _, _ := a.launcher.storage.DB.LiveAndLost(context.Background())
	for _, row := range slices.DeleteFunc(live, state.Row.Waits) {
		holder := run.HolderOf(row)
		server.Running = append(server.Running, cluster.Running{
			Run:   holder.Run,
			Task:  row.Task,
			Slot:  row.Slot,
			PID:   holder.PID,
			Since: holder.Since.UTC(),
		})
	}
	return server
}

// reportServers reports a clock that is off by more than cluster.MaxOffset, and what is wrong with
// the other servers of the store. A server that fell silent is for status: it may be back in a
// minute.
func (a *announcer) reportServers(offset time.Duration, findings []cluster.Finding) {
	l := a.launcher
	if offset.Abs() > cluster.MaxOffset {
		l.report.Hourly(l.storage.Dir, "clock", "the clock of %s is %s; tasks are due by it, here at another time"+
			" than elsewhere (set it, or the store's, with NTP)", l.host.Server, cluster.OffsetText(offset))
	}
	for _, f := range findings {
		if f.Kind != cluster.KindSilent {
			l.report.Hourly(l.storage.Dir, f.Kind, "%s; %s", f.Text, f.Hint)
		}
	}
}
