// Package outcome has the types for what became of a slot: outcomes, their kinds, and ids of runs.
// Package state stores them.
package outcome

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
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

// Ran has the outcomes of slots that ran.
var Ran = []Outcome{Succeeded, Failed, TimedOut, Stopped, Lost}

// Failures has the outcomes that are failures.
var Failures = []Outcome{Failed, TimedOut, Stopped, Lost}

// HookNote begins each note of a run about a hook that failed: "hook on_failure 1: exit code 127".
const HookNote = "hook "

// Outcomes that are in queries alone: each stands for rows of one kind (FilterKind).
const (
	Warned  Outcome = "warning"    // the successes with a warning
	NoStore Outcome = "store down" // slots that were skipped because the store did not answer
)

// Filters lists what a query can ask for.
var Filters = append(slices.Clone(All), Warned, NoStore)

// FilterKind returns the kind of the rows for which o stands in a query; empty if o is an outcome.
func (o Outcome) FilterKind() Kind {
	switch o {
	case Warned:
		return Warning
	case NoStore:
		return StoreDown
	}
	return ""
}

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
func (o Outcome) Failure() bool { return slices.Contains(Failures, o) }

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

// A Told says what became of a notification of a run: it was delivered, or nobody will be told by
// it.
type Told struct {
	Hook string    `json:"hook"` // as `on_failure 1`
	To   string    `json:"to"`   // without secrets, as `mail to ops@example.com`
	At   time.Time `json:"at"`
	Why  string    `json:"why,omitempty"` // it was not delivered, in words; empty if it was
}

// GivenUp begins the Why of a notification that no attempt will be made for any more.
const GivenUp = "given up"

// Several returns how the reason of a record of several slots begins: "3 times until ".
func Several(slots int) string {
	if slots == 1 {
		return "once until "
	}
	return fmt.Sprintf("%d times until ", slots)
}

// A Kind says what code must know of why a run has its outcome; empty if the outcome says enough.
// The words beside it (a reason) are for people. Code must decide nothing by them.
type Kind string

const (
	Elsewhere Kind = "elsewhere"  // skipped: another tick, here or on another server, has the slot
	StoreDown Kind = "store down" // skipped: the store did not say whether the slot may run
	Full      Kind = "full"       // skipped: others have, or wait for, the seats of its pool
	Lacking   Kind = "lacking"    // skipped: the task names a variable or a file that is not there
	Paused    Kind = "paused"     // stopped: by a pause that stops runs
	ByHand    Kind = "by hand"    // stopped: by `sched stop`
	NotBegun  Kind = "not begun"  // stopped: before an attempt
	Warning   Kind = "warning"    // succeeded, and something is to be looked at
	Timeout   Kind = "timeout"    // the command is being ended: the attempt took longer than timeout
	Reported  Kind = "reported"   // failed: a value that it reported, or did not report
	Printed   Kind = "printed"    // failed: a line that it printed
	Required  Kind = "required"   // failed: a file that it had to leave
	Budget    Kind = "budget"     // skipped, failed or stopped: a budget is spent
	Copied    Kind = "copied"     // lost or missed: it goes on in the state folder of which this one is a copy
	TickEnded Kind = "tick ended" // the command is being ended: its supervisor was told to end
)

// NewID returns an id for a run: a UUIDv7 (RFC 9562), so that ids sort by the time they were made.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// NewIDAt returns an id for a run that is asked for at another time: it sorts as if it were made at
// that time.
func NewIDAt(at time.Time) string {
	id := uuid.Must(uuid.NewV7())
	setTime(&id, at)
	return id.String()
}

// setTime sets the time by which an id sorts, to the millisecond.
func setTime(id *uuid.UUID, at time.Time) {
	binary.BigEndian.PutUint16(id[0:], uint16(at.UnixMilli()>>32))
	binary.BigEndian.PutUint32(id[2:], uint32(at.UnixMilli()))
}

// TimeOfID returns when the id of a run was made, to the millisecond; zero for a text that is no
// id.
func TimeOfID(id string) time.Time {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return time.Time{}
	}
	seconds, nanoseconds := parsed.Time().UnixTime()
	return time.Unix(seconds, nanoseconds)
}

// IsID reports whether a text is an id in our form. A foreign text may be anything, and ids name
// files.
func IsID(id string) bool {
	parsed, err := uuid.Parse(id)
	return err == nil && parsed.String() == id
}

// MissedID returns the id of the record of a slot that left no trace of a run: missed, or lost. It
// has the form of any other id. It is made of the task and the slot, so the slot has one such
// record however many ticks add it.
func MissedID(task string, slot time.Time) string { return stableID(task, slot) }

// RangeID is like MissedID, for the record of all slots from first on (state.Row.IsRange).
func RangeID(task string, first time.Time) string { return stableID(task+"\x00range", first) }

// TriggeredID returns the id of the run that a hook of the run cause asks for. The hook is named by
// its key, such as `on_success 1`; ended is when cause ended. The id is the same whenever somebody
// asks for it, and sorts as if it were made at the time ended.
func TriggeredID(cause, hook string, ended time.Time) string {
	return stableID(cause+"\x00"+hook, ended)
}

// stableID returns an id that is made of the seed and the time: the same whenever somebody asks for
// it. It sorts as if it were made at that time.
func stableID(seed string, at time.Time) string {
	hash := sha256.Sum256([]byte(seed + "\x00" + at.UTC().Format(time.RFC3339Nano)))
	var id uuid.UUID
	copy(id[:], hash[:])
	setTime(&id, at)
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80 // version 7 and the variant of RFC 9562
	return id.String()
}
