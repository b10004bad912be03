// Package doctor examines why a schedule works in a shell and not from cron: which program calls
// it, in which environment, and what the machine lacks. Checks know nothing of each other, only
// look, and have a deadline. Nothing is guessed: the environment is the one that a tick wrote down
// (package ticknote).
package doctor

import (
	"context"
	"sync"
	"time"
)

// A check looks at one thing. It returns a finding for each problem, or one finding that says what
// is fine.
type check struct {
	name string
	run  func(context.Context, *Subject) findings
}

// maxCheckTime bounds each check. Checks run at the same time, so it bounds the examination, too.
const maxCheckTime = 5 * time.Second

// Examine returns the checks' results in the order of the list. It takes at most maxCheckTime.
func Examine(ctx context.Context, s *Subject) (results []Result) {
	found := make([]findings, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() { found[i] = c.within(ctx, s) })
	}
	all.Wait()
	for i, c := range checks {
		for _, r := range found[i] {
			r.Check = c.name
			results = append(results, r)
		}
	}
	return results
}

// within gives up on a check that takes too long: a network file system may never answer.
func (c check) within(ctx context.Context, s *Subject) findings {
	ctx, cancel := context.WithTimeout(ctx, maxCheckTime)
	defer cancel()
	done := make(chan findings, 1)
	go func() { done <- c.run(ctx, s) }()
	select {
	case found := <-done:
		return found
	case <-ctx.Done():
		return finding(Warning, "something that it looks at hangs: a network, or a file system",
			"no answer after %s", maxCheckTime)
	}
}

// checks are in the order of results: what calls sched, what it gives, the tasks, the machine.
var checks = []check{
	{"schedule", checkSchedule},
	{"crontab", checkCrontab},
	{"cron", checkCron},
	{"systemd", checkSystemd},
	{"ticks", checkTicks},
	{"double ticks", checkDoubles},
	{"variables", checkVariables},
	{"servers", checkServers},
	{"path", checkPath},
	{"time zone", checkZone},
	{"zone data", checkZoneData},
	{"limits", checkLimits},
	{"tasks", checkTasks},
	{"cgroups", checkCgroups},
	{"state folder", checkState},
	{"disk", checkDisk},
	{"history", checkHistory},
	{"clock", checkClock},
	{"clock changes", checkClockChanges},
	{"notifications", checkNotifications},
	{"metrics", checkMetrics},
	{"store", checkStore},
}
