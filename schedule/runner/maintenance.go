package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sched/schedule"
)

// Maintenance says in words that the maintenance file of the schedule exists; "" when it does not, or
// the schedule names none.
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

// maintenance says why a task that is to start at the time does not run in maintenance, and "" when it may. The tick looks once for each
// instant at which something is due, so that all tasks of that instant are told the same. What nobody knows keeps no
// task from running.
func (t *Tick) maintenance(task *schedule.Task, at time.Time) string {
	if t.Schedule.Maintenance == "" {
		return ""
	}
	if reason := t.lookedAt(at.UTC()); !task.EvenInMaintenance {
		return reason
	}
	return ""
}

func (t *Tick) lookedAt(at time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	reason, looked := t.inMaintenance[at]
	if looked {
		return reason
	}
	reason, err := Maintenance(t.Schedule)
	if err != nil && !t.saidMaintenance {
		t.saidMaintenance = true
		t.Problem("%v; the tasks run", err)
	}
	if t.inMaintenance == nil {
		t.inMaintenance = map[time.Time]string{}
	}
	t.inMaintenance[at] = reason
	return reason
}
