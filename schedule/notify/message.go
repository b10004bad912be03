package notify

import "time"

// A Message is what is sent about an event of a run, or about a slot that did not become a run.
// Messages that wait for another attempt are stored as this JSON. Older and newer versions of sched
// read it, so its names do not change.
type Message struct {
	ID    string    `json:"id"`    // the same at every attempt; no other message has it
	Event Event     `json:"event"` // what it is about
	At    time.Time `json:"at"`    // when that happened

	Schedule    string `json:"schedule"` // its name, as `shop`
	Task        string `json:"task"`
	Description string `json:"description,omitempty"`
	Run         string `json:"run"` // its id; empty for a skip that began no run
	Server      string `json:"server"`
	Config      string `json:"config,omitempty"` // the schedule's file, if the command in the message needs it

	Outcome  string        `json:"outcome,omitempty"` // in the words of `sched history`; empty at the start
	Reason   string        `json:"reason,omitempty"`  // for people, if the outcome alone does not say it
	ExitCode *int          `json:"exit_code,omitempty"`
	Attempt  int           `json:"attempt,omitempty"` // how many attempts of the run were made
	Slot     time.Time     `json:"slot"`              // shown in its own zone
	Started  time.Time     `json:"started,omitzero"`
	Ended    time.Time     `json:"ended,omitzero"`
	Duration time.Duration `json:"duration,omitempty"` // nanoseconds in JSON

	Output string `json:"output,omitempty"` // the end of what the run printed: any bytes; Send cuts it to OutputLimit
	Cut    bool   `json:"cut,omitempty"`    // whether there was more before Output

	HeldBack  int       `json:"held_back,omitempty"` // messages of this hook that at_most held back after the last one
	HeldSince time.Time `json:"held_since,omitzero"` // when the first of these happened
}

// OutputLimit is how many bytes of output a message carries.
const OutputLimit = 64 << 10

func (m Message) boundOutput() Message {
	if end := tail(m.Output, OutputLimit); len(end) < len(m.Output) {
		m.Output, m.Cut = end, true
	}
	return m
}

// An Event is what a message is about.
type Event string

const (
	Start    Event = "start"
	Success  Event = "success"
	Failure  Event = "failure" // after the last attempt; also of runs that timed out, were stopped or lost
	Recovery Event = "recovery"
	Skip     Event = "skip"
	Overdue  Event = "overdue"
	Finish   Event = "finish" // of any outcome
)
