package cluster

import (
	"context"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// announceEvery is how often a tick announces its server to the others.
const announceEvery = 10 * time.Second

// An Announcer announces the server of a tick, and remembers what came of the last announcement.
type Announcer struct {
	Name, Version string // of this server
	Dir           string // the state folder
	Minute        time.Time
	Schedule      *schedule.Schedule
	DB            *state.DB
	Store         mutex.Store

	Detail func(format string, a ...any)       // reports something for people who asked for more
	Hourly func(kind, format string, a ...any) // reports a problem that goes on, once an hour

	announced []Running // the runs that the other servers know of
	findings  []Finding // what is wrong with the servers
	err       error     // why the store was of no use
}

// Announce announces that this server ticks, and which runs it has, again and again until ticking
// is done. Then it announces once more if the runs have changed since. In the end it notes what is
// wrong with the servers, or why the store was of no use: the outage that the tasks of the tick met
// comes first.
func (a *Announcer) Announce(ticking context.Context, outage func() error) {
	a.tell(a.self())
	for clock.Wait(ticking, announceEvery) {
		a.tell(a.self())
	}
	if server := a.self(); !slices.Equal(server.Running, a.announced) {
		a.tell(server)
	}
	if err := outage(); err != nil {
		a.err = err
	}
	Note(a.Dir, a.Minute, a.Schedule, a.findings, a.err)
}

// TellRuns announces between two ticks which runs live here. It leaves all else as the last tick
// announced it, and announces no server that the others do not know.
func (a *Announcer) TellRuns(ctx context.Context) error {
	self := a.self()
	servers, now, err := readServers(ctx, a.Store)
	last, known := servers[self.tableKey()]
	if err != nil || !known || now.Sub(last.Seen) > listedFor {
		return err
	}
	last.Seen = now.UTC()
	last.setRunning(self.Running)
	return a.Store.Put(ctx, tableServers, last.tableKey(), encode(last), listedFor)
}

// tell announces this server once, and reports what is wrong with the servers: a clock that is off
// by more than MaxOffset, and the findings. A server that fell silent is for status: it may be back
// in a minute.
func (a *Announcer) tell(server Server) {
	var offset time.Duration
	offset, a.findings, a.err = Announce(context.Background(), a.Store, clock.Now, server)
	if a.err != nil {
		a.Detail("this server is not announced: %v", a.err)
		return
	}
	if offset.Abs() > MaxOffset {
		a.Hourly("clock", "the clock of %s is %s; tasks are due by it, here at another time than elsewhere"+
			" (set it, or the store's, with NTP)", a.Name, OffsetText(offset))
	}
	for _, f := range a.findings {
		if f.Kind != KindSilent {
			a.Hourly(f.Kind, "%s; %s", f.Text, f.Hint)
		}
	}
	a.announced = server.Running
}

// self returns the announcement of this server.
func (a *Announcer) self() Server {
	server := Server{
		Name:        a.Name,
		Machine:     Machine(a.Dir),
		Version:     a.Version,
		Minute:      a.Minute,
		File:        a.Schedule.File,
		Digest:      a.Schedule.Digest,
		Labels:      a.Schedule.Machine.Labels,
		Environment: a.Schedule.Environment,
		Zone:        ZoneOf(a.Schedule, a.Minute.Year()),
	}
	live, _, _ := a.DB.LiveAndLost(context.Background())
	notBegun := func(row state.Row) bool { return row.Waits() || row.Phase == state.Planned || !row.Ran() }
	for _, row := range slices.DeleteFunc(live, notBegun) {
		running := Running{Run: row.ID, Task: row.Task, Slot: row.Slot, Since: outcome.TimeOfID(row.ID).UTC()}
		if row.Attempted() {
			running.PID, running.Since = row.Attempt.PID, row.Attempt.At.UTC()
		}
		server.Running = append(server.Running, running)
	}
	return server
}
