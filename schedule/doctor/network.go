package doctor

import (
	"context"
	"errors"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/notify"
	"sched/schedule/process"
	"sched/schedule/state"
	"sched/schedule/view"
)

// This file has the checks that ask other machines: the mail server, and the store.

// checkNotifications asks which notifications could not be delivered, and whether mail can go out.
// It sends nothing.
func checkNotifications(ctx context.Context, s *Subject) (found findings) {
	add := func(u state.Undelivered, hint string) {
		if u.Count > 0 {
			found.add(Warning, hint, "%s could not be delivered, the first for %s, of %s: %s",
				humanize.Count(u.Count, "notification"), humanize.Age(u.Since, s.Now), u.Task, u.Error)
		}
	}
	waiting, givenUp := undelivered(s, ctx)
	add(waiting, "ticks try again for a day")
	add(givenUp, "it is not tried again")
	tasks := mailServers(s)
	for _, server := range slices.Sorted(maps.Keys(tasks)) {
		if problem := mailProblem(ctx, server); problem != "" {
			found.add(Bad, "see `mail:` in the schedule", "%s, for %s", problem, humanize.Names(tasks[server], 3))
		}
	}
	if len(tasks) > 0 {
		return found.orFine("nothing waits, and the way for mail is open")
	}
	return found.orFine("nothing waits")
}

// undelivered returns the notifications that could not be delivered. If the database cannot be
// read, it returns nothing: another check says so.
func undelivered(s *Subject, ctx context.Context) (waiting, givenUp state.Undelivered) {
	if db, err := state.OpenRead(s.Schedule.StateDir, state.Patience); err == nil {
		waiting, givenUp, _ = db.Messages().Undelivered(ctx)
		db.Close()
	}
	return waiting, givenUp
}

// mailServers returns the tasks that send mail, by the host:port of their server. The tasks of
// sendmail are at "".
func mailServers(s *Subject) map[string][]string {
	expansion := schedule.Expansion{Getenv: process.Lookup(s.Environ), Folder: filepath.Dir(s.Schedule.File)}
	tasks := map[string][]string{}
	for t := range s.Schedule.ActiveTasks() {
		for _, hook := range t.Hooks.All() {
			if hook.Notify == nil || len(hook.Notify.Mail) == 0 {
				continue
			}
			expanded, err := hook.Notify.Expanded(expansion)
			if err != nil {
				continue // check says so
			}
			server := notify.MailServer(expanded.MailURL)
			if !slices.Contains(tasks[server], t.Name) {
				tasks[server] = append(tasks[server], t.Name)
			}
		}
	}
	return tasks
}

// dialTimeout is shorter than maxCheckTime, so that the finding names the server.
const dialTimeout = 3 * time.Second

// mailProblem says why mail does not go out by a server; "" if it may go out.
func mailProblem(ctx context.Context, server string) string {
	if server == "" {
		if notify.FindSendmail() != "" {
			return ""
		}
		return "this machine has no sendmail, and the schedule names no mail server"
	}
	connection, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", server)
	if err != nil {
		return "the mail server " + server + " does not answer"
	}
	connection.Close()
	return ""
}

const (
	slowStore     = 100 * time.Millisecond // a store in the same network answers faster
	maxClockDrift = 2 * time.Second        // how far the clock of a server may be off the clock of the store
)

// checkMetrics looks for another schedule of the same name in the folder of the node exporter.
func checkMetrics(_ context.Context, s *Subject) findings {
	if s.Schedule.Textfile == "" {
		return nil
	}
	if rival := view.RivalTextfile(s.Schedule); rival != "" {
		return finding(Bad,
			"give each schedule a `name:` of its own; remove the file if no schedule writes it any more",
			"%s has a schedule of the same name, %s, and the node exporter shows one of the two", rival, s.Schedule.Name)
	}
	return fine("no other file in %s has a schedule of this name", filepath.Dir(s.Schedule.Textfile))
}

// checkStore asks the store, and looks for what goes wrong among the servers that share it.
func checkStore(ctx context.Context, s *Subject) (found findings) {
	if s.Store == nil {
		return fine("no store: this machine stands alone")
	}
	began := time.Now()
	servers, err := cluster.List(ctx, s.Store)
	took := time.Since(began)
	if refusal, ok := errors.AsType[*mutex.StoreError](err); ok {
		return finding(Bad, refusal.Hint, "%s", refusal.Text)
	} else if err != nil {
		return finding(Bad, "", "%s", err.Error())
	}
	risks := storeRisks(ctx, s.Store)
	outage := cluster.NotesIn(s.Schedule.StateDir).Outage
	goesOn := outage != nil && !outage.OfOld(s.Schedule) && !outage.IsOver(servers, s.Server, s.Schedule)
	if goesOn && !risks.refuse {
		found.add(Bad, "it answers here: compare its URL there and here, and what its user may write",
			"since %s ticks cannot use it: %s", humanize.MinuteZone(outage.Since, s.Schedule.Location), outage.Why)
	}
	if took > slowStore {
		found.add(Warning, "each tick waits so long: keep it near", "the store took %s to answer",
			humanize.Duration(took))
	}
	for _, server := range servers {
		if server.Offset.Abs() > maxClockDrift {
			found.add(Warning, "keep it right with chrony or systemd-timesyncd",
				"the clock of %s is %s off the clock of the store", server.Name, humanize.Duration(server.Offset.Abs()))
		}
	}
	found = slices.Concat(found, strayServers(s, servers), risks.findings, otherSchedules(s, servers))
	return found.orFine("it answers in %s; %s of this schedule",
		humanize.Duration(took), humanize.Count(len(servers), "server"))
}

// strayServers finds servers that are silent or share a name, and servers that tick in another
// environment or time zone than this one.
func strayServers(s *Subject, servers []cluster.Server) (found findings) {
	ownZone := cluster.ZoneOf(s.Schedule, s.Now.Year())
	for i, server := range servers {
		if text := view.SilentText(servers, i); text != "" {
			hint := "if it is gone for good, `sched forget " + server.Name + "` takes it off the list"
			found.add(Warning, hint, "%s", text)
		}
		if view.SharesName(servers, i) {
			found.add(Warning, "name each with `server:` or $SCHED_SERVER",
				"more than one machine ticks under the name %s", server.Name)
		}
		if server.Environment != "" && server.Environment != s.Schedule.Environment {
			found.add(Warning, "give each environment a `name` or a store of its own",
				"%s ticks in the environment %s under the name %s, and this schedule is in %s",
				server.Name, server.Environment, s.Schedule.Name, s.Schedule.Environment)
		}
		if server.Zone != "" && ownZone != "" && server.Zone != ownZone {
			found.add(Warning, "write `timezone:` into the schedule",
				"%s is in the time zone %s, and this machine in %s: a one_server task without `timezone` runs once in each",
				server.Name, server.Zone, ownZone)
		}
	}
	return found
}

// otherSchedules finds schedules that are ticked under the name of this schedule. They share its
// claims, mutexes and pauses, so a slot of one schedule keeps a slot of the other from running. A
// text that differs on another server may also be a deploy half-way.
func otherSchedules(s *Subject, servers []cluster.Server) (found findings) {
	for _, server := range servers {
		switch {
		case server.Name == s.Server && !(call{config: server.File}).isOf(s.Schedule.File):
			found.add(Bad, "give each a `name:` of its own",
				"%s is ticked on this server under the name %s, too: the two share claims, mutexes and pauses",
				server.File, s.Schedule.Name)
		case view.TicksAnotherText(s.Schedule, s.Server, server):
			found.add(Warning, "deploy one text everywhere, or give each schedule a `name:` of its own",
				"%s ticks another text under the name %s: its %s", server.Name, s.Schedule.Name, server.File)
		}
	}
	return found
}

// riskFindings are what may go wrong with the servers of the store.
type riskFindings struct {
	findings findings
	refuse   bool // one of the servers takes no writes
}

// storeRisks asks the store what may go wrong with its servers.
func storeRisks(ctx context.Context, store mutex.Store) (found riskFindings) {
	risks, _ := store.Risks(ctx) // checkStore has found that the store answers
	for _, risk := range risks {
		level := Warning
		if risk.Evicts || risk.Refuses {
			level = Bad
		}
		found.findings.add(level, risk.Hint, "%s", risk.Text)
		found.refuse = found.refuse || risk.Refuses
	}
	return found
}
