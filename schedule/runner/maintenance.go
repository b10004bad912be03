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

// Maintenance returns in words that the maintenance file of the schedule exists; "" when it does not, or the schedule
// names none. After an error it is not known.
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

// maintenance remembers what a tick found out about its schedule's maintenance file. The tick looks once for each instant at which
// something is due, so that all tasks of that instant are treated alike
// (docs/decisions.md#maintenance-is-looked-for-once-for-each-instant). Safe for concurrent use.
type maintenance struct {
	schedule *schedule.Schedule
	problem  func(format string, a ...any)

	mu       sync.Mutex
	at       map[time.Time]string // the reason at each instant; "" for none
	reported bool                 // the problem that it cannot be found out
}

// reason returns why there is maintenance at an instant; "" for none, and where that cannot be found out.
func (m *maintenance) reason(at time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	reason, found := m.at[at]
	if found {
		return reason
	}
	reason, err := Maintenance(m.schedule)
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
