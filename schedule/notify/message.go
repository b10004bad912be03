// Package notify tells people and machines what became of a run: it pings a URL, posts to a webhook, or
// sends a mail. One call is one attempt to tell one target. When to tell, whom, and when to try again
// is for the callers.
//
// No error of this package has a secret in it. The whole of a URL but its host counts as one: whoever
// knows the path of a Slack webhook can write to the channel.
//
// It keeps nothing between calls, needs nothing of our other packages, and reads of the environment only what
// net/http, crypto/x509 and os/exec read: the proxies, SSL_CERT_FILE and PATH.
package notify

import "time"

// Message is what there is to tell of a run, or of a slot that did not become one.
type Message struct {
	ID    string    `json:"id"`    // the same at every attempt to tell it, and in no other news
	Event Event     `json:"event"` // why it is told
	At    time.Time `json:"at"`    // when there was something to tell

	Schedule    string `json:"schedule"` // its name, as `shop`
	Task        string `json:"task"`
	Description string `json:"description,omitempty"`
	Run         string `json:"run"` // its id; empty for a skip that began no run
	Server      string `json:"server"`
	Config      string `json:"config,omitempty"` // the schedule's file, for the commands that the news names; empty where sched finds it by itself

	Outcome  string        `json:"outcome,omitempty"` // in the words of `sched history`; empty at the start
	Reason   string        `json:"reason,omitempty"`  // in words, where the outcome alone does not say it
	ExitCode *int          `json:"exit_code,omitempty"`
	Attempt  int           `json:"attempt,omitempty"` // how many attempts were made
	Slot     time.Time     `json:"slot"`              // shown in its own zone
	Started  time.Time     `json:"started,omitzero"`
	Ended    time.Time     `json:"ended,omitzero"`
	Duration time.Duration `json:"duration,omitempty"`

	Output   string `json:"output,omitempty"`    // the tail of what the run printed: any bytes, at most OutputLimit
	Cut      bool   `json:"cut,omitempty"`       // there was more before Output
	HeldBack int    `json:"held_back,omitempty"` // how many like this were not told since the last that was

	HeldSince time.Time `json:"held_since,omitzero"` // when the first of them was
}

// OutputLimit is how many bytes of output a news may have.
const OutputLimit = 64 << 10

// An Event is what a news is about.
type Event string

const (
	Start    Event = "start"
	Success  Event = "success"
	Failure  Event = "failure" // after the last attempt; also of runs that timed out, were stopped or lost
	Recovery Event = "recovery"
	Skip     Event = "skip"
	Finish   Event = "finish" // of any outcome
)
