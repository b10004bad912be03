//go:build linux

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// A journal is written by commands and hooks, outside the state folder. This program adds its own
// actions. Each line is one write(2) with O_APPEND, so the order of the lines is the order in which
// things happened: no clock is compared.
type journal struct {
	file *os.File
}

// An event is one line.
type event struct {
	at      int    // the number of the line
	what    string // see below
	run     string
	task    string
	slot    string
	tick    string // the number of the tick that started the process, CRASH_TICK
	attempt int
	detail  string
	outcome string // as a hook found it in its environment, or what a signal did
}

// The lines of commands and hooks.
const (
	attemptBegan = "begin"    // an attempt
	attemptLives = "beat"     // the command lives
	reported     = "reported" // its report is written
	attemptEnded = "end"      // the last thing that the command does; detail is its exit code
	hookFired    = "hook"     // detail is the hook's name
)

// The lines of this program. It writes each line before the action, but faultEnded and tickEnded
// after it.
const (
	tickBegan = "tick"   // slot is the minute
	tickEnded = "ticked" // detail says how the tick ended
	// detail is the kind of process, slot the hook's name, attempt the pid, outcome what it got
	signalSent      = "signal"
	faultBegan      = "fault"     // detail is its name
	faultEnded      = "passed"    // the fault is over
	historyRead     = "recalled"  // the history was read; detail is the number of records
	requestBegan    = "request"   // a run is asked for, or a request taken back: detail is the command
	requestEnded    = "requested" // the same command has ended: slot is the run, outcome says how it ended
	historySetAside = "aside"     // a damaged history was set aside: detail is the file
)

func openJournal(path string) *journal {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	must(err)
	return &journal{file}
}

func (j *journal) write(e event) {
	_, err := fmt.Fprintf(j.file, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n",
		e.what, e.run, e.task, e.slot, e.tick, e.attempt, e.detail, e.outcome)
	must(err)
}

// size returns how long the journal is, in bytes.
func (j *journal) size() int64 {
	info, err := j.file.Stat()
	must(err)
	return info.Size()
}

// ends returns where each line ends, in bytes.
func (j *journal) ends() (ends []int64) {
	text, err := os.ReadFile(j.file.Name())
	must(err)
	for i, letter := range text {
		if letter == '\n' {
			ends = append(ends, int64(i)+1)
		}
	}
	return ends
}

// read returns all lines. A torn line is an error of this program.
func (j *journal) read() (events []event) {
	text, err := os.ReadFile(j.file.Name())
	must(err)
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		f := strings.Split(line, "\t")
		if len(f) != 8 {
			must(fmt.Errorf("line %d of the journal is torn: %q", i+1, line))
		}
		attempt, _ := strconv.Atoi(f[5])
		events = append(events, event{i + 1, f[0], f[1], f[2], f[3], f[4], attempt, f[6], f[7]})
	}
	return events
}

func (e event) String() string {
	return strings.TrimSpace(fmt.Sprintf("%6d %-6s run %s %s %s tick %s %d %s %s",
		e.at, e.what, short(e.run), e.task, e.slot, e.tick, e.attempt, e.detail, e.outcome))
}

func short(run string) string { return run[max(0, len(run)-12):] }
