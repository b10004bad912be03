// Package outcome has the types for what became of a slot: outcomes, their kinds, and ids of runs.
// Package state stores them.
package outcome

import (
	"fmt"
	"slices"
	"strings"
)

// An Outcome is what became of a slot. The set is closed.
type Outcome string

const (
	Succeeded Outcome = "succeeded"
	Failed    Outcome = "failed"
	TimedOut  Outcome = "timed out"
	Stopped   Outcome = "stopped" // by a signal or `sched stop`
	Lost      Outcome = "lost"    // its processes vanished; found by a later tick
	Skipped   Outcome = "skipped" // Reason says by which condition or lock
	Missed    Outcome = "missed"  // no tick covered its minute
)

// All lists every outcome.
var All = []Outcome{Succeeded, Failed, TimedOut, Stopped, Lost, Skipped, Missed}

// Warned is in queries alone: it stands for the successes with a warning.
const Warned Outcome = "warning"

// Filters lists what a query can ask for.
var Filters = append(slices.Clone(All), Warned)

// Words returns outcomes as people type them: timed-out.
func Words(outcomes []Outcome) (words []string) {
	for _, o := range outcomes {
		words = append(words, strings.ReplaceAll(string(o), " ", "-"))
	}
	return words
}

// Parse reads one of Filters, in upper or lower case, its words separated by blanks, - or _.
func Parse(word string) (Outcome, bool) {
	plain := Outcome(strings.ToLower(strings.NewReplacer("-", " ", "_", " ").Replace(strings.TrimSpace(word))))
	return plain, slices.Contains(Filters, plain)
}

// Verb says what a run with the outcome did, as in "run 3fa2 failed".
func (o Outcome) Verb() string {
	switch o {
	case TimedOut, Succeeded, Failed:
		return string(o)
	}
	return "was " + string(o)
}

// Failure reports whether on_failure hooks fire for the outcome.
func (o Outcome) Failure() bool {
	return slices.Contains(Failures, o)
}

// A Cause is the run whose hook triggered another run.
type Cause struct {
	Task    string  `json:"task"`
	Run     string  `json:"run"`
	Outcome Outcome `json:"outcome"`
}

// A Triggered is a run that a hook of another run asked for. Its own record says what became of it.
type Triggered struct {
	Task string `json:"task"`
	Run  string `json:"run"`
}

// String returns the id of the run, for tables.
func (c Cause) String() string { return c.Run }

// String returns the id of the run, for tables.
func (t Triggered) String() string { return t.Run }

// Several begins the reason of a record that stands for several slots.
func Several(slots int) string {
	if slots == 1 {
		return "once until "
	}
	return fmt.Sprintf("%d times until ", slots)
}

// Ran has the outcomes of slots that ran.
var Ran = []Outcome{Succeeded, Failed, TimedOut, Stopped, Lost}

// Failures has the outcomes that are failures.
var Failures = []Outcome{Failed, TimedOut, Stopped, Lost}

// A Kind says what code must know of why a run has its outcome; empty if the outcome says enough.
// People read the words beside it (a reason), and no code does.
type Kind string

const (
	Elsewhere Kind = "elsewhere"  // skipped: another tick, here or on another server, has the slot
	StoreDown Kind = "store down" // skipped: nobody knows whether another server runs the slot
	Paused    Kind = "paused"     // stopped: by a pause that stops runs
	Warning   Kind = "warning"    // succeeded, with an exit code of warn_codes
	Timeout   Kind = "timeout"    // the command is being ended: the attempt took longer than timeout
	TickEnded Kind = "tick ended" // the command is being ended: its supervisor was told to end
)
