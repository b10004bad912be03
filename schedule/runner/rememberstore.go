package runner

import (
	"sched/mutex"
	"sched/schedule/clock"
	"sched/schedule/oneserver"
)

// rememberStore has the store notice that a Redis has lost its data, and tell it then which slots this machine knows to be claimed.
func (t *Tick) rememberStore() {
	if t.Storage.Store == nil {
		return
	}
	t.Storage.RememberStore()
	t.Storage.Store.RememberClaims(func() []mutex.ClaimedSlot {
		return oneserver.Lately(t.Storage.Dir, t.Schedule.Tasks, clock.Now())
	})
}
