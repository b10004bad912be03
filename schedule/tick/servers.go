package tick

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"sched/schedule/clock"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/run"
	"sched/schedule/state"
)

const (
	// announceEvery is how often a tick announces this server to the others.
	announceEvery = 10 * time.Second

	// MaxOffset is how far a clock may be off before the tick reports it: due times and claims
	// depend on the clock.
	MaxOffset = 10 * time.Second
)

// beginAnnouncing begins to announce this server to the other servers (announce), until end is
// called. The tick does not depend on it: a failure is only a detail, and an outage of the store is
// reported when locks are taken.
func (r *tickRun) beginAnnouncing() (end func()) {
	if r.tick.Storage.Store == nil {
		return func() {}
	}
	ticking, cancel := context.WithCancel(context.Background())
	var announcing sync.WaitGroup
	announcing.Go(func() { r.announce(ticking) })
	return func() {
		cancel()
		announcing.Wait()
	}
}

// announce announces that this server ticks, and which runs it has, again and again until ticking
// is done. Then it announces once more if the runs have changed since. In the end it notes what is
// wrong with the servers, or why the store was of no use.
func (r *tickRun) announce(ticking context.Context) {
	a := &announcer{tick: r.tick}
	a.tell(r.announcement())
	for clock.Wait(ticking, announceEvery) {
		a.tell(r.announcement())
	}
	if server := r.announcement(); !slices.Equal(server.Running, a.announced) {
		a.tell(server)
	}
	if outage := r.locks.Outage.Load(); outage != nil { // the tasks of this tick met it
		a.err = *outage
	}
	cluster.Note(r.tick.Storage.Dir, r.tick.Minute, a.findings, a.err)
}

// An announcer announces this server, and remembers what came of the last announcement.
type announcer struct {
	tick      *Tick
	announced []cluster.Running // the runs that the other servers know of
	findings  []cluster.Finding // what is wrong with the servers
	err       error             // why the store was of no use
}

// tell announces this server once, and reports what is wrong with the servers.
func (a *announcer) tell(server cluster.Server) {
	var offset time.Duration
	offset, a.findings, a.err = cluster.Announce(context.Background(), a.tick.Storage.Store, clock.Now, server)
	if a.err != nil {
		a.tick.Report.detail("this server is not announced: %v", a.err)
		return
	}
	a.tick.reportServers(offset, a.findings)
	a.announced = server.Running
}

// announcement returns the announcement of this server.
func (r *tickRun) announcement() cluster.Server {
	s := r.tick.Schedule
	server := cluster.Server{
		Name:        r.tick.Host.Server,
		Machine:     cluster.Machine(r.tick.Storage.Dir),
		Version:     r.tick.Host.Version,
		Minute:      r.tick.Minute,
		File:        s.File,
		Digest:      s.Digest,
		Labels:      s.Machine.Labels,
		Environment: s.Environment,
		Zone:        cluster.ZoneOf(s, r.tick.Minute.Year()),
	}
	live, _, _ := r.tick.Storage.DB.LiveAndLost(context.Background())
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

// checkLabels reports labels of this machine that cannot be used: tasks that ask for them do not
// run here.
func (t *Tick) checkLabels() {
	if wrong := t.Schedule.Machine.Wrong; wrong != "" {
		t.ProblemHourly("labels", "the labels of this machine, for which tasks ask in servers: %s", wrong)
	}
}

// reportServers reports a clock that is off by more than MaxOffset, and what is wrong with the
// other servers of the store. A server that fell silent is for status: it may be back in a minute.
func (t *Tick) reportServers(offset time.Duration, findings []cluster.Finding) {
	if offset.Abs() > MaxOffset {
		t.ProblemHourly("clock", "the clock of %s is %s; tasks are due by it, here at another time than elsewhere"+
			" (set it, or the store's, with NTP)", t.Host.Server, OffsetText(offset))
	}
	for _, f := range findings {
		if f.Kind != cluster.KindSilent {
			t.ProblemHourly(f.Kind, "%s; %s", f.Text, f.Hint)
		}
	}
}

// OffsetText describes how a clock differs from the store's: "12 s behind the store's".
func OffsetText(offset time.Duration) string {
	side := "ahead of"
	if offset < 0 {
		side = "behind"
	}
	return fmt.Sprintf("%s %s the store's", humanize.Duration(offset.Abs()), side)
}
