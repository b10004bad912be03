package tick

import (
	"path/filepath"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/pause"
)

// maintenance remembers what a tick found out about its schedule's maintenance file. The tick looks
// once for each instant at which something is due, so that all tasks of that instant are treated
// alike (docs/internals/decisions.md#maintenance-is-looked-for-once-for-each-instant). Safe for
// concurrent use.
type maintenance struct {
	schedule *schedule.Schedule
	problem  func(format string, a ...any)

	mu       sync.Mutex
	at       map[time.Time]string // the reason at each instant; "" for none
	reported bool                 // the problem that it cannot be found out
}

// reason returns why there is maintenance at an instant; "" if there is no maintenance, or if that
// cannot be found out.
func (m *maintenance) reason(at time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	reason, found := m.at[at]
	if found {
		return reason
	}
	reason, err := pause.Maintenance(m.schedule.Maintenance, filepath.Dir(m.schedule.File))
	if err != nil && !m.reported {
		m.reported = true
		m.problem("%v; the tasks run", err)
	}
	if m.at == nil {
		m.at = map[time.Time]string{}
	}
	m.at[at] = reason
	return reason
}
