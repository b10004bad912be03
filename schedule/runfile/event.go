package runfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/statedir"
)

// An Event is one line of a run's file. Exactly one field is set; with Hook also PID, and with Supervisor and Result also
// Leased.
type Event struct {
	Begin      *outcome.Record `json:"begin,omitempty"`
	Supervisor string          `json:"supervisor,omitempty"` // the one that the run is given to
	Turn       *Turn           `json:"turn,omitempty"`       // the run has waited for its mutex or for a seat, and has it now
	Attempt    *Attempt        `json:"attempt,omitempty"`
	Ending     *Ending         `json:"ending,omitempty"` // the command is about to be ended
	Retry      *Retry          `json:"retry,omitempty"`  // an attempt has failed, and its supervisor waits for the next one
	Result     *outcome.Record `json:"result,omitempty"` // how the command ended; its hooks may still come. No snapshot
	Note       string          `json:"note,omitempty"`   // for the record, of the run while its command lives
	Hook       string          `json:"hook,omitempty"`   // this hook was started; written by the hook's own process
	PID        int             `json:"pid,omitempty"`    // of that process; 0 for a notification
	Deferral   *Deferral       `json:"wait,omitempty"`   // the next attempt was left to a later tick; no process watches until then
	Leased     time.Time       `json:"leased,omitzero"`  // when the lease of the run's lock began last; zero where the lock is none
	Stop       *StopRequest    `json:"stop,omitempty"`   // `sched stop` asked to stop the run
	End        *outcome.Record `json:"end,omitempty"`    // the run is finished, and waits to be put into the history. No snapshot
}

// A Turn says what a run has got that began to wait (outcome.Record.Wait), and how long that took.
type Turn struct {
	Waited time.Duration `json:"waited"`
	Locks  string        `json:"locks,omitempty"` // as in the record of a run that began with it
	Seat   outcome.Seat  `json:"seat,omitzero"`
}

// An Attempt says that the command was started.
type Attempt struct {
	Number int       `json:"number"`
	PID    int       `json:"pid"` // and the id of its process group; 0 right before it is started in the background
	At     time.Time `json:"at"`
}

// An Ending says that the command of an attempt is about to be ended, and why: whoever sees its exit code knows then that it did not
// end by itself.
type Ending struct {
	Attempt int             `json:"attempt"`
	Outcome outcome.Outcome `json:"outcome"`
	Reason  string          `json:"reason"`
}

// A Retry says that the supervisor of a run waits for its next attempt, and what the attempts so far came to: the process that
// takes the place of a killed supervisor goes on with that.
type Retry struct {
	Attempt int            `json:"attempt"`
	At      time.Time      `json:"at"`
	Record  outcome.Record `json:"record"` // No snapshot
}

// A Deferral says that the next attempt is left to a later tick, since it is a long time until then
// (docs/internals/decisions.md#the-mutex-is-free-during-a-deferred-retry).
type Deferral struct {
	Attempt   int            `json:"attempt"`
	Until     time.Time      `json:"until"`
	HeldSince time.Time      `json:"held,omitzero"`    // since when ticks have found the mutex held
	Seat      outcome.Seat   `json:"seat,omitzero"`    // which a tick took for the attempt
	Before    bool           `json:"before,omitempty"` // the before-hooks are yet to run, since the run was lost before its first attempt
	Record    outcome.Record `json:"record"`           // what the attempts so far came to. No snapshot
}

// A StopRequest asks the processes that watch a run to stop it.
type StopRequest struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// State is what the file of a run says.
type State struct {
	Begin      outcome.Record
	Supervisor string   // of a background run, once it was given to one
	Attempt    *Attempt // the last one
	Ending     *Ending  // the last one, which may be of an earlier attempt
	Retry      *Retry   // the last one, which may be over: see Resting
	Result     *outcome.Record
	Notes      []string        // of a run without a Result; later they are in that
	Hooks      map[string]bool // those that were started
	HookPID    int             // the process of the last of them that was a command
	Deferral   *Deferral       // the last one, which may be over: see Deferred
	Leased     time.Time       // when the lease of its lock began, as the process knew that gave the run to the next; else zero
	Stop       *StopRequest
	End        *outcome.Record

	// LastTold is when another server said that the run lives, if that server has fallen silent since.
	LastTold time.Time
}

// Queued reports whether the run waits for its mutex or for a seat, before anything of it has started. A process watches it, or the next
// tick gives it to one.
func (s State) Queued() bool {
	return s.Begin.Queued() && s.Result == nil && s.End == nil
}

// Waits reports whether no command of the run lives, nor is about to: it waits for its turn, or for a tick.
func (s State) Waits() bool { return s.Queued() || s.Deferred() }

// Resting reports whether the supervisor of the run waits for its next attempt.
func (s State) Resting() bool {
	return s.Retry != nil && (s.Attempt == nil || s.Attempt.Number < s.Retry.Attempt)
}

// Deferred reports whether the run waits for a tick to go on with its next attempt. No process watches it meanwhile.
func (s State) Deferred() bool {
	return s.Deferral != nil && s.Result == nil && s.End == nil && (s.Attempt == nil || s.Attempt.Number < s.Deferral.Attempt)
}

// ErrUnreadable says that the file of a run has no readable beginning: a power cut may leave an empty
// file.
var ErrUnreadable = errors.New("the file of a run cannot be read")

// parse collects the events of a file. A torn last line is what a kill or a full disk left.
func parse(file *os.File) (State, error) {
	text, err := statedir.ReadAll(file)
	if err != nil {
		return State{}, err
	}
	return parseText(text, file.Name())
}

func parseText(text []byte, name string) (State, error) {
	state := State{Hooks: map[string]bool{}}
	for line := range bytes.Lines(text) {
		var e Event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		state.add(e)
	}
	if state.Begin.Run == "" {
		return State{}, fmt.Errorf("%s: %w", name, ErrUnreadable)
	}
	return state, nil
}

func (s *State) add(e Event) {
	if !e.Leased.IsZero() {
		s.Leased = e.Leased
	}
	switch {
	case e.Begin != nil:
		s.Begin = *e.Begin
	case e.Supervisor != "":
		s.Supervisor = e.Supervisor
	case e.Turn != nil:
		s.Begin.Waited, s.Begin.Locks, s.Begin.Seat = e.Turn.Waited, e.Turn.Locks, e.Turn.Seat
	case e.Attempt != nil:
		s.Attempt = e.Attempt
	case e.Ending != nil:
		s.Ending = e.Ending
	case e.Retry != nil:
		s.Retry = e.Retry
	case e.Result != nil:
		s.Result = e.Result
	case e.Note != "":
		s.Notes = append(s.Notes, e.Note)
	case e.Hook != "":
		s.Hooks[e.Hook] = true
		if e.PID != 0 {
			s.HookPID = e.PID
		}
	case e.Deferral != nil:
		s.Deferral = e.Deferral
		if e.Deferral.Seat.Name != "" {
			s.Begin.Seat = e.Deferral.Seat
		}
	case e.Stop != nil:
		s.Stop = e.Stop
	case e.End != nil:
		s.End = e.End
		s.End.Snapshot = s.Begin.Snapshot
	}
}
