package serve

import (
	"fmt"
	"os"
	"sync"
	"time"

	"sched/schedule"
)

// current is the schedule as it is now. It is read again when one of its files has changed, and
// from time to time: a new file may be among those that it includes.
type current struct {
	load func() (*schedule.Schedule, error, error)

	mu       sync.Mutex
	schedule *schedule.Schedule
	invalid  error
	err      error
	read     time.Time // when it was
	seen     string    // what its files looked like then
}

// readAgainAfter is how old a schedule may be whose files look the same.
const readAgainAfter = 5 * time.Second

// get returns the schedule. If the file is wrong, it returns the schedule that runs in its place,
// and in invalid what is wrong. It returns err if no schedule can run.
func (c *current) get() (valid *schedule.Schedule, invalid, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.read) > readAgainAfter || c.seen != looks(c.schedule) {
		c.schedule, c.invalid, c.err = c.load()
		c.read, c.seen = time.Now(), looks(c.schedule)
	}
	return c.schedule, c.invalid, c.err
}

func (c *current) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = time.Time{}
}

// looks is different after a file of the schedule has changed.
func looks(s *schedule.Schedule) (all string) {
	if s == nil {
		return ""
	}
	for _, path := range s.Files() {
		if info, err := os.Stat(path); err == nil {
			all += fmt.Sprintf("%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}
	}
	return all
}
