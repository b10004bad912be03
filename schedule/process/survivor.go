package process

import (
	"strconv"
	"strings"
)

// A Survivor is a process that did not end by KILL.
type Survivor struct {
	PID   int
	Start string // in ticks after boot: with the pid it names one process and no later one; "" if that is not known
}

// String returns the text that ParseSurvivor reads.
func (s Survivor) String() string { return strconv.Itoa(s.PID) + "@" + s.Start }

// Alive reports whether the process has not ended.
func (s Survivor) Alive() bool { return s.PID > 0 && isAlive(s.PID, s.Start) }

// ParseSurvivor reads what Survivor.String wrote.
func ParseSurvivor(text string) (s Survivor) {
	pid, start, _ := strings.Cut(text, "@")
	s.PID, _ = strconv.Atoi(pid)
	s.Start = start
	return s
}
