package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sched/schedule/servers"

	"sched/schedule/clock"

	"sched/schedule/runfile"
)

const (
	// announceEvery is how often a tick that lives tells the other servers what runs here.
	announceEvery = 10 * time.Second

	// MostOffset is how far a clock may be off before people are told: due times and claims go by it.
	MostOffset = 10 * time.Second

	// seldom is how often people are told of what stays wrong.
	seldom = time.Hour
)

// announce tells the other servers that this one ticks and what runs here, until ctx is done and
// once more then if something was started since. The tick does not depend on it: a failure is only
// a detail, and the store's outage is said elsewhere.
func (t *Tick) announce(ctx context.Context) {
	if t.State.Remote == nil {
		return
	}
	tell, told := servers.Announce, []servers.Running(nil)
	for alive := true; ; alive = clock.Wait(ctx, announceEvery) {
		self := t.self()
		if !alive && slices.Equal(self.Running, told) {
			return
		}
		offset, err := tell(context.WithoutCancel(ctx), t.State.Remote, clock.Now, self)
		if err != nil {
			t.detail("this server is not announced: %v", err)
		} else {
			t.checkClock(offset)
			tell, told = servers.Refresh, self.Running
		}
		if !alive {
			return
		}
	}
}

// self is what this machine tells of itself.
func (t *Tick) self() servers.Server {
	s := servers.Server{Name: t.Server, Version: t.Version, Minute: t.Minute}
	for _, state := range append(t.State.spares(), t.State) {
		ids, _ := runfile.List(state.Dir)
		for _, id := range ids {
			log, watched, err := runfile.Read(state.Dir, id)
			if err != nil || !watched || log.End != nil || log.Deferred() {
				continue
			}
			owner := OwnerOf(log)
			s.Running = append(s.Running, servers.Running{
				Run: owner.Run, Task: log.Begin.Task, Slot: log.Begin.Slot.UTC(), PID: owner.PID, Since: owner.Since.UTC(),
			})
		}
	}
	return s
}

// checkClock warns of a clock that is off, at most once an hour.
func (t *Tick) checkClock(offset time.Duration) {
	if offset.Abs() > MostOffset && t.seldom("clock") {
		t.Problem("the clock of %s is %s; tasks are due by it, here at another time than elsewhere (set it, or Redis's, with NTP)", t.Server, OffsetText(offset))
	}
}

// OffsetText says how a clock differs from Redis's.
func OffsetText(offset time.Duration) string {
	side := "ahead of"
	if offset < 0 {
		side = "behind"
	}
	return fmt.Sprintf("%s %s Redis's", offset.Abs().Round(time.Second), side)
}

// seldom reports whether people should be told of something now, since they were not in the last hour.
func (t *Tick) seldom(what string) bool {
	path := filepath.Join(t.State.Dir, "told-"+what)
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()).Abs() < seldom {
		return false
	}
	os.MkdirAll(t.State.Dir, 0o700)
	os.WriteFile(path, nil, 0o600)
	now := time.Now()
	os.Chtimes(path, now, now) // a file that is empty already is not changed by writing nothing
	return true
}

// detail says what only those want to know who asked for more.
func (t *Tick) detail(format string, a ...any) {
	if t.Detail != nil {
		t.Detail(format, a...)
	}
}
