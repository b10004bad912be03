package state

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// A Row is a run, or several slots that were missed together.
type Row struct {
	ID           string // UUIDv7
	Task         string
	Mutex        string // that the task takes, or would take
	Pool         string // in which the task takes a seat; empty for none
	Slot         time.Time
	LastSlot     time.Time // of several missed slots: the last; zero for one slot
	Slots        int       // how many slots it stands for; 0 is 1
	PreviousSlot time.Time // of the schedule, before CommandSlot; zero if the task was never due before
	Nominal      string    // the day for which CommandSlot was meant, 2027-05-01; empty without a calendar
	Moved        string    // why that is another day, or that the calendar had ended, in words; else empty
	Repeats      time.Time // of a retry: the CommandSlot of the run that failed; else zero
	Scheduled    bool      // a slot of the schedule; else somebody or something asked for it
	Origin       string    // what asked for it, in words; empty for the schedule
	Test         bool      // sched test: it counts in no statistic
	Cause        *outcome.Cause
	Triggered    []outcome.Triggered // the runs that its hooks asked for
	NoChain      bool                // its hooks trigger no other task
	Params       map[string]string   // the values of the params of its task that somebody set for this run
	Background   bool
	Server       string

	Snapshot     json.RawMessage // the task as it was when the row was added; Find leaves it out
	DefinitionID int64           // of the snapshot in the table definition; 0 for none. Writing a row ignores it

	Phase  Phase
	Owner  int64 // 0 for none
	Wait   Wait
	Locked bool   // it has its mutex
	Seat   string // the seat that it has in its pool; empty for none
	Stop   *Stop  // who asked to stop it; nil when nobody did

	Attempt Attempt
	Started time.Time // when the first attempt began; zero when none did
	Result            // zero until the phase is Finishing, but for the sums of the attempts so far
	Notes   []string
	Told    []outcome.Told // the notifications that do not wait any more; package state writes them (Messages)

	Unpublished bool // other servers of the store do not know of it yet
	Unreported  bool // it ended badly, and no tick has printed that yet

	// LastReported is when another server last reported the run, if the run may have ended since.
	// It has no column.
	LastReported time.Time
}

// A Wait says what a row waits for, when that began, and how long it has waited. While the row
// waits, Result.Reason says in words what it waits for.
type Wait struct {
	For       WaitsFor
	NotBefore time.Time     // nothing happens before; zero for at once
	Until     time.Time     // afterwards it is too late; zero for never
	Since     time.Time     // when it began to wait for anything but a time; zero when it does not
	AfterBoot time.Duration // Since, by a clock that nobody sets, after the boot in Attempt.Boot; 0: not known
	Waited    time.Duration // how long it has waited for that, before Since
}

// A Stop says who, or what, asked to stop a run.
type Stop struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"` // of the outcome; empty for "sched stop by" and By

	Kind outcome.Kind `json:"kind,omitempty"` // of the outcome
}

// An Attempt is one start of the command.
type Attempt struct {
	Number int       // from 1; 0: none has begun
	At     time.Time // when it began
	PID    int       // of the command, and of its process group; 0 before it is known
	Boot   string    // of the machine, in which it began, or in which the run began to wait for it
	Leased time.Time // when the lease of its lock was renewed last, by clock.Steady; zero if a loss stops nothing
}

// A Result is what became of a run.
type Result struct {
	Outcome    outcome.Outcome
	Kind       outcome.Kind // why; empty when the outcome alone says it
	Reason     string       // why, in words; for a waiting row, what it waits for
	Ended      time.Time    // when the outcome was settled
	ExitCode   *int         // of the last attempt; nil when it is not known
	UserCPU    time.Duration
	SystemCPU  time.Duration // both of all attempts together
	PeakMemory int64         // bytes; 0 when it is not known
	Output     string        // the file; empty when nothing was printed
	Limits     string        // how the limits of the last attempt were kept, in words; empty for none
	Survivors  string        // the processes that KILL did not end (process.Survivor), with spaces between

	// Values are what the last attempt reported, by name. They have a table of their own: Find
	// leaves them out, and Runs.Values has them.
	Values map[string]float64
}

// Warned reports whether the run succeeded with a warning.
func (r Result) Warned() bool { return r.Kind == outcome.Warning }

// Wrong reports whether the run failed. To be stopped by a pause or by `sched stop` is no failure:
// somebody wanted it.
func (r Result) Wrong() bool {
	return r.Outcome.Failure() && r.Kind != outcome.Paused && r.Kind != outcome.ByHand
}

// OutcomeText is the outcome in words, with the warning of a success.
func (r Result) OutcomeText() string {
	if r.Warned() {
		return string(r.Outcome) + " with a warning"
	}
	return string(r.Outcome)
}

// Ran reports whether there was a run: the slot was neither skipped nor missed.
func (r Row) Ran() bool { return r.Outcome != outcome.Skipped && r.Outcome != outcome.Missed }

// Duration returns the time from the start of the first attempt to the end. It is 0 when the clock
// was set back in between, and while either time is not known.
func (r Row) Duration() time.Duration {
	if r.Started.IsZero() || r.Ended.IsZero() {
		return 0
	}
	return max(0, r.Ended.Sub(r.Started))
}

// CommandSlot returns the slot that the command is for, its SCHED_SLOT. A retry is due when
// somebody asks for it, and its command does the work of an earlier slot.
func (r Row) CommandSlot() time.Time {
	if r.Repeats.IsZero() {
		return r.Slot
	}
	return r.Repeats
}

// BeganAfter reports whether the last attempt began after now: the clock was set back since.
func (r Row) BeganAfter(now time.Time) bool { return r.Attempt.At.After(now) }

// Lateness returns how long after its slot the first attempt began; 0 when no attempt has begun.
func (r Row) Lateness() time.Duration {
	if r.Started.IsZero() {
		return 0
	}
	return r.Started.Sub(r.Slot)
}

// IsRange reports whether the row stands for the slots from Slot through LastSlot that have no row
// of their own. Slots is their number; before the row is added, it also counts slots with a row.
func (r Row) IsRange() bool { return !r.LastSlot.IsZero() }

// SayCount puts before the reason of a range how many slots it still has. The table has it without.
func (r *Row) SayCount() {
	if r.IsRange() {
		r.Reason = outcome.Several(r.Slots) + r.Reason
	}
}

// GivesWay reports whether any other row of the slot replaces this one, even a row that comes
// later. That holds for the record of a missed or lost slot that no run has written.
func (r Row) GivesWay() bool {
	return (r.Outcome == outcome.Missed || r.Outcome == outcome.Lost) && r.ID == outcome.MissedID(r.Task, r.Slot)
}

// WithoutOutcome returns the row of a run that has not ended, as if it had no outcome yet: only its
// hooks are left to do.
func (r Row) WithoutOutcome() Row {
	r.Outcome, r.Kind, r.Reason, r.Ended = "", "", "", time.Time{}
	return r
}

// InQueue reports whether the run stands in the queue with that name: the name of a mutex, or
// SeatQueue of a pool.
func (r Row) InQueue(name string) bool {
	switch r.Wait.For {
	case ForMutex:
		return name == r.Mutex
	case ForSeat:
		return name == r.Mutex || name == SeatQueue(r.Pool)
	}
	return false // a pause keeps it from starting, so it delays nobody
}

// SeatQueue returns the name of the queue for the seats of a pool. No mutex has such a name.
func SeatQueue(pool string) string { return pool + "#" }

// PoolOf returns the pool of a queue for seats; ok is false for the queue of a mutex.
func PoolOf(queue string) (pool string, ok bool) { return strings.CutSuffix(queue, "#") }

// A run can wait in five ways. They differ in who goes on with the run, and in whether it has had
// an attempt:
//
//	                 goes on with it   attempts   waits for
//	Requested        a tick            none       a tick, or its mutex
//	DelayedSlot      a tick            none       the store, or the end of a pause
//	Deferred         a tick            some       the time of its next attempt, or its mutex
//	Queued           its supervisor    none       its mutex, a seat, or the end of a pause
//	BetweenAttempts  its supervisor    some       the time of its next attempt
//
// If the supervisor is killed, a tick gives the run to another supervisor.

// Requested reports whether somebody, or a hook, has asked for the run, and no tick has begun it
// yet.
func (r Row) Requested() bool { return r.Pending() && !r.Scheduled }

// DelayedSlot reports whether a slot of the schedule waits for the store, or for the end of a
// pause.
func (r Row) DelayedSlot() bool { return r.Pending() && r.Scheduled }

// Pending reports whether the run is Requested or a DelayedSlot: no tick has begun it yet.
func (r Row) Pending() bool { return r.Phase == Waiting && !r.Attempted() }

// Deferred reports whether the next attempt of the run is left to a later tick. No process watches
// the run meanwhile.
func (r Row) Deferred() bool { return r.Phase == Waiting && r.Attempted() }

// Queued reports whether the run has begun and waits, before its first attempt, for its mutex, for
// a seat or for the end of a pause.
func (r Row) Queued() bool {
	blocked := r.Wait.For == ForMutex || r.Wait.For == ForSeat || r.Wait.For == ForPause
	return r.Phase == Ready && !r.Attempted() && blocked
}

// BetweenAttempts reports whether the process that watches the run waits for its next attempt.
func (r Row) BetweenAttempts() bool { return r.Phase == Ready && r.Attempted() }

// Waits reports whether the run is Requested, a DelayedSlot, Deferred or Queued: no command of it
// lives or is about to start, and it holds no mutex.
func (r Row) Waits() bool { return r.Phase == Waiting || r.Queued() }

// Attempted reports whether an attempt of the run has begun.
func (r Row) Attempted() bool { return r.Attempt.Number > 0 }

// CatchesUp reports whether the run is one of several slots that run in their order: see
// schedule.Task.CatchUp. It parses the snapshot, and is false for a row without one.
func (r Row) CatchesUp() bool {
	var task struct {
		CatchesUp bool `json:"catches_up"`
	}
	return json.Unmarshal(r.Snapshot, &task) == nil && task.CatchesUp
}

// InOrder orders rows that wait for a mutex or a seat: by the time at which each began to wait,
// then by id.
func InOrder(a, b Row) int {
	return cmp.Or(cmp.Compare(a.Wait.Since.UnixMicro(), b.Wait.Since.UnixMicro()), strings.Compare(a.ID, b.ID))
}

// A Phase says what is going on with a run.
type Phase string

const (
	Waiting   Phase = "waiting"   // nobody works on it: see Row.Wait
	Planned   Phase = "planned"   // a slot that its owner, a tick, has not come to yet
	Ready     Phase = "ready"     // its owner will start it, or skip it
	Running   Phase = "running"   // its owner has started its command, or is about to
	Finishing Phase = "finishing" // its outcome is known; its owner fires its hooks
	Ended     Phase = "ended"     // over
)

// A WaitsFor says what a waiting row waits for.
type WaitsFor string

const (
	ForNothing WaitsFor = ""      // any tick may start it, as a run that was asked for
	ForTime    WaitsFor = "time"  // its next attempt comes at Wait.NotBefore
	ForPause   WaitsFor = "pause" // the end of a pause or a maintenance
	ForMutex   WaitsFor = "mutex"
	ForSeat    WaitsFor = "seat"  // a seat of its pool
	ForStore   WaitsFor = "store" // the store must say whether another server runs it
)
