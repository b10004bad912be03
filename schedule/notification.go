package schedule

import (
	"strings"
	"time"
)

// A Notification tells people or machines of a run. Exactly one of Ping, Webhook and Mail is set.
//
// Its texts are as the file has them, with ${VAR} and ${file:PATH}: a notification is in the snapshot of a run and waits
// in the outbox, and its secrets must be in neither. Expanded has them.
type Notification struct {
	Ping    string   `json:"ping,omitempty"`    // a URL
	Webhook string   `json:"webhook,omitempty"` // a URL
	Mail    []string `json:"mail,omitempty"`    // addresses

	On       []Moment `json:"on,omitempty"`     // of a ping that speaks the protocol of healthchecks.io; else none
	Format   string   `json:"format,omitempty"` // of a webhook: slack, or empty
	MailURL  string   `json:"mail_url,omitempty"`
	MailFrom string   `json:"mail_from,omitempty"`

	When   Occasion `json:"when,omitempty"`
	AtMost Limit    `json:"at_most,omitzero"`
}

// A Moment is when a ping with `on` is sent.
type Moment string

const (
	OnStart   Moment = "start"
	OnSuccess Moment = "success"
	OnFailure Moment = "failure"
)

// An Occasion narrows down when a notification is sent.
type Occasion string

const (
	Always  Occasion = ""
	Changed Occasion = "changed" // the run before ended otherwise: one was a success, the other a failure
	Printed Occasion = "output"  // the command printed something
)

// A Limit is how many may be sent in any time of that length. The zero limit is none.
type Limit struct {
	N   int           `json:"n"`
	Per time.Duration `json:"per"`
}

// Empty reports whether there is nobody to tell, as for a ping to ${URL:-} where no URL is set: such a notification
// is none.
func (n Notification) Empty() bool {
	return n.Ping == "" && n.Webhook == "" && len(n.Mail) == 0
}

// Expanded returns the notification with its secrets. Its error is an *ExpandError.
func (n Notification) Expanded(x Expansion) (Notification, error) {
	for _, text := range []*string{&n.Ping, &n.Webhook, &n.MailURL, &n.MailFrom} {
		var err error
		if *text, err = x.trimmed(*text); err != nil {
			return Notification{}, err
		}
	}
	addresses := n.Mail
	n.Mail = nil
	for _, text := range addresses {
		address, err := x.trimmed(text)
		if err != nil {
			return Notification{}, err
		}
		if address != "" {
			n.Mail = append(n.Mail, address)
		}
	}
	return n, nil
}

func (x Expansion) trimmed(text string) (string, error) {
	text, err := x.Expand(text)
	return strings.TrimSpace(text), err
}

// A Sender is what notifications tell of the schedule that they come from.
type Sender struct {
	Schedule string `json:"schedule,omitempty"` // its name
	File     string `json:"file,omitempty"`
	Zone     string `json:"zone,omitempty"` // of the task
}

// notifies reports whether there is a notification among the hooks.
func (h Hooks) notifies() bool {
	for _, hooks := range [][]Hook{h.Before, h.After, h.OnSuccess, h.OnFailure, h.OnRecovery, h.OnSkip} {
		for _, hook := range hooks {
			if hook.Notify != nil {
				return true
			}
		}
	}
	return false
}
