// Package notify tells people and machines what became of a run: it pings a URL, posts to a webhook, or
// sends a mail. One call is one attempt to tell one target. When to tell, whom, and when to try again
// is for the callers.
//
// No error of this package has a secret in it. The whole of a URL but its host counts as one: whoever
// knows the path of a Slack webhook can write to the channel.
package notify

import (
	"context"
	"time"
)

// News is what there is to tell of a run, or of a slot that did not become one.
type News struct {
	ID    string    `json:"id"`    // the same at every attempt to tell it, and in no other news
	Event Event     `json:"event"` // why it is told
	At    time.Time `json:"at"`    // when there was something to tell

	Schedule    string `json:"schedule"` // its name, as `shop`
	Task        string `json:"task"`
	Description string `json:"description,omitempty"`
	Run         string `json:"run"` // its id; empty for a skip that began no run
	Server      string `json:"server"`

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

// A Target is whom to tell, and how: exactly one of its parts is set. It holds secrets.
type Target struct {
	Ping    *Ping    `json:"ping,omitempty"`
	Webhook *Webhook `json:"webhook,omitempty"`
	Mail    *Mail    `json:"mail,omitempty"`
}

// A Ping is a GET request.
type Ping struct {
	URL string `json:"url"` // http or https
	// Protocol is that of healthchecks.io: the news decides about what is appended to the path, and goes
	// along as a POST with the tail of the output.
	Protocol bool `json:"protocol,omitempty"`
}

// A Webhook is a POST request with the news as JSON.
type Webhook struct {
	URL    string `json:"url"`
	Format Format `json:"format,omitempty"`
}

// A Format says what the JSON of a webhook looks like.
type Format string

const (
	Plain Format = ""      // every field of the news
	Slack Format = "slack" // a message, for the incoming webhooks of Slack and Mattermost
)

// A Mail goes to one or more addresses, as one message.
type Mail struct {
	To   []string `json:"to"`             // as RFC 5322 has them: ops@example.com, or Ops <ops@example.com>
	From string   `json:"from,omitempty"` // empty: the user of this process at the server of the news
	URL  string   `json:"url,omitempty"`  // smtp or smtps://[user:password@]host[:port]; empty: sendmail(8)
}

// An Error says why a target was not told, or cannot be. It is told in one line, has no secret in it, and
// wraps nothing that could have one.
type Error struct {
	Text      string // begins with Target.String
	Hint      string // what to do about it; may be empty
	Permanent bool   // it is no use to try again
}

func (e *Error) Error() string { return e.Text }

// Check reports what is wrong with the target itself, as an *Error, without telling anybody anything.
func (t Target) Check() error { return nil }

// Send makes one attempt to tell t. Its error is an *Error. It returns when ctx is done at the latest, whatever the
// other side does; then nobody knows whether the news arrived, and it may arrive twice.
func (t Target) Send(ctx context.Context, n News) error { return nil }

// String names the target to people: its kind, and its host or addresses.
func (t Target) String() string { return "" }
