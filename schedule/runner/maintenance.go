package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"sched/schedule"
)

// Maintenance says in words that the maintenance file of the schedule exists; "" when it does not, or the schedule
// names none.
func Maintenance(s *schedule.Schedule) (reason string, err error) {
	if s.Maintenance == "" {
		return "", nil
	}
	_, err = os.Stat(s.Maintenance)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("nobody knows whether there is maintenance: %w", err)
	}
	shown, rerr := filepath.Rel(filepath.Dir(s.File), s.Maintenance)
	if rerr != nil || shown == ".." || strings.HasPrefix(shown, "../") {
		shown = s.Maintenance
	}
	return "maintenance: " + shown + " exists", nil
}

// maintenance is what a tick has found out about it. The tick looks once for each instant at which something is due, so that all tasks
// of that instant are treated alike. Safe for concurrent use.
type maintenance struct {
	schedule *schedule.Schedule
	problem  func(format string, a ...any)

	mu   sync.Mutex
	at   map[time.Time]string // what was found for each instant
	said bool                 // that it cannot be found out
}

// inMaintenance says why a task that is to start at the time does not run in maintenance, and "" when it may. Where that cannot be found out the
// task runs.
func (r *running) inMaintenance(task *schedule.Task, at time.Time) string {
	if r.Schedule.Maintenance == "" {
		return ""
	}
	if reason := r.maintenance.reason(at.UTC()); !task.EvenInMaintenance {
		return reason
	}
	return ""
}

func (m *maintenance) reason(at time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	reason, found := m.at[at]
	if found {
		return reason
	}
	reason, err := Maintenance(m.schedule)
	if err != nil && !m.said {
		m.said = true
		m.problem("%v; the tasks run", err)
	}
	if m.at == nil {
		m.at = map[time.Time]string{}
	}
	m.at[at] = reason
	return reason
}
