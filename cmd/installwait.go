package cmd

import (
	"fmt"
	"time"

	"sched/schedule"
	"sched/schedule/ledger"
	"sched/schedule/text"
)

// The wait for the first tick: cron starts it within a second of the next minute, and a machine with much to do later.
const (
	tickPatience = 70 * time.Second
	tickPoll     = 200 * time.Millisecond
)

// awaitTick waits until a tick covers a minute that began after since, and says whether it came. A signal ends the wait.
func (a installCommand) awaitTick(s *schedule.Schedule, since time.Time) error {
	next := since.Truncate(time.Minute).Add(time.Minute)
	terminate, _, release := signals()
	defer release()
	fmt.Fprintf(a.err, "waiting for the first tick, at %s\n", text.MinuteNear(next, a.now(), s.Location))
	ticker := time.NewTicker(tickPoll)
	defer ticker.Stop()
	for end := time.Now().Add(tickPatience); time.Now().Before(end); {
		if last := ledger.LastTick(s.StateDir); !last.Before(next) {
			fmt.Fprintf(a.out, "the first tick came at %s\n", text.MinuteNear(last, a.now(), s.Location))
			fmt.Fprintf(a.err, "hint: `sched status%[1]s` says whether all is well, `sched list%[1]s` what is due when\n", a.configFlag())
			return nil
		}
		select {
		case <-terminate.Done():
			return failed("it stays installed; `sched status"+a.configFlag()+"` says when the last tick came", "not waited for the first tick")
		case <-ticker.C:
		}
	}
	return failed("is cron running (`systemctl status cron`), and what does its log say (`journalctl -u cron`)? it stays installed; `sched uninstall"+
		a.configFlag()+"` takes it back", "no tick came within %s", text.Duration(tickPatience))
}
