package outcome

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
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

// Parse reads an outcome, in upper or lower case, its words separated by blanks, - or _.
func Parse(word string) (Outcome, bool) {
	plain := Outcome(strings.ToLower(strings.NewReplacer("-", " ", "_", " ").Replace(strings.TrimSpace(word))))
	return plain, slices.Contains(All, plain)
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

// A Record is what is kept of one slot, or of several slots that were missed together. While a run
// lives it has no Outcome.
type Record struct {
	Run        string          `json:"run"` // UUIDv7: sorts by time
	Task       string          `json:"task"`
	Mutex      string          `json:"mutex"`
	Slot       time.Time       `json:"slot"`             // UTC
	Until      time.Time       `json:"until,omitzero"`   // the last of several slots that one record stands for (Slots)
	Slots      int             `json:"slots,omitempty"`  // how many slots it stands for; 0 is 1
	Origin     string          `json:"origin,omitempty"` // what asked for the run, in words; empty for its schedule
	Cause      *Cause          `json:"cause,omitempty"`  // the run whose hook triggered this one; nil if no hook did
	Background bool            `json:"background,omitempty"`
	Server     string          `json:"server"`
	Started    time.Time       `json:"started,omitzero"` // when the first attempt began; zero when no attempt did
	Ended      time.Time       `json:"ended,omitzero"`   // when the outcome was settled
	Outcome    Outcome         `json:"outcome,omitempty"`
	Reason     string          `json:"reason,omitempty"`    // in words, if the outcome alone does not say it
	ExitCode   *int            `json:"exit_code,omitempty"` // of the last attempt; nil when it is not known
	Attempts   int             `json:"attempts,omitempty"`
	UserCPU    time.Duration   `json:"user_cpu,omitempty"` // of all attempts together
	SystemCPU  time.Duration   `json:"system_cpu,omitempty"`
	PeakMemory int64           `json:"peak_memory,omitempty"` // bytes; of the largest process of the command; 0 when it is not known
	Output     string          `json:"output,omitempty"`      // the file, absolute; empty when nothing was printed
	Notes      []string        `json:"notes,omitempty"`       // hooks that failed, copies that could not be made
	Triggered  []Triggered     `json:"triggered,omitempty"`   // the runs that its hooks asked for, in their order
	NoChain    bool            `json:"no_chain,omitempty"`    // its hooks trigger no other task
	Locked     bool            `json:"locked,omitempty"`      // while it lives: it has its mutex
	Seat       string          `json:"seat,omitempty"`        // while it lives: its seat in the pool, a mutex; else empty
	Wait       Wait            `json:"wait,omitzero"`         // of a run that began to wait for its mutex or a seat
	Waited     time.Duration   `json:"waited,omitempty"`      // how long it waited for them
	Snapshot   json.RawMessage `json:"snapshot,omitempty"`
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

// A Wait says when a run began to wait for its turn, and until when it waits.
type Wait struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
}

// Queued reports whether the run began without its mutex or seat, and still has neither.
func (r Record) Queued() bool { return r.Wait != (Wait{}) && !r.Locked && r.Seat == "" }

// Ran reports whether there was a run: the slot was neither skipped nor missed.
func (r Record) Ran() bool { return r.Outcome != Skipped && r.Outcome != Missed }

// IsRange reports whether the record stands for the slots from Slot through Until that have no
// record of their own. Slots is the number of these slots; before the record is added, it also
// counts slots with a record.
func (r Record) IsRange() bool { return !r.Until.IsZero() }

// Duration is the time from the start of the first attempt to the end of the run; 0 if the clock
// was set back in between.
func (r Record) Duration() time.Duration {
	if r.Started.IsZero() {
		return 0
	}
	return max(0, r.Ended.Sub(r.Started))
}

// NewestFirst orders records by their slots, the newest first, and records of one slot by their
// ids.
func NewestFirst(a, b Record) int {
	return cmp.Or(b.Slot.Compare(a.Slot), strings.Compare(b.Run, a.Run))
}

// Lateness is how long after its slot the first attempt began; 0 when no attempt began.
func (r Record) Lateness() time.Duration {
	if r.Started.IsZero() {
		return 0
	}
	return r.Started.Sub(r.Slot)
}

// GivesWay reports whether any other record of the slot replaces this one, whichever comes first.
func (r Record) GivesWay() bool {
	return (r.Outcome == Missed || r.Outcome == Lost) && r.Run == MissedID(r.Task, r.Slot)
}

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

// AnotherTick begins the reason of a skip of a slot that another tick had claimed.
const AnotherTick = "another tick "

// AnotherServer is in the reason when a one_server slot was skipped because the store had no
// answer.
const AnotherServer = "whether another server runs it"
