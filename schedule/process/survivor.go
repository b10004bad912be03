package process

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
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

// LeftBehind returns the notes about processes that did not end by KILL: nothing waits for them any
// more.
func LeftBehind(survivors []Survivor) (notes []string) {
	for _, s := range survivors {
		why := "it may wait for a disk"
		if errors.Is(syscall.Kill(s.PID, 0), syscall.EPERM) {
			why = "it belongs to another user"
		}
		notes = append(notes, fmt.Sprintf("process %d survived KILL (%s), and was left behind", s.PID, why))
	}
	return notes
}
