package schedule

import (
	"strings"
	"time"

	"sched/schedule/yamldoc"
)

// An Expansion puts values in place of ${VAR}, ${VAR:-default} and ${file:PATH}.
type Expansion = yamldoc.Expansion

// An ExpandError says why a text cannot be expanded. It holds no values.
type ExpandError = yamldoc.ExpandError

// A Notification is a hook that tells people or machines of a run: a Ping, a Webhook, a Mail, a
// Sentry or an OTLP. It has no secrets, because it is stored with the run and in the outbox.
// Expanded puts them in.
type Notification struct {
	Ping    string   `json:"ping,omitempty"`    // a URL
	Webhook string   `json:"webhook,omitempty"` // a URL
	Mail    []string `json:"mail,omitempty"`    // addresses
	Sentry  string   `json:"sentry,omitempty"`  // the DSN of a project, for its Crons
	OTLP    string   `json:"otlp,omitempty"`    // the URL of a collector of traces; in no hook, but in the task

	On       []Moment `json:"on,omitempty"`        // of a ping that speaks the protocol of healthchecks.io, and of Sentry; else none
	Monitor  *Monitor `json:"monitor,omitempty"`   // what Sentry expects of the task; nil if it cannot be told
	Format   string   `json:"format,omitempty"`    // of a webhook: slack, text, teams, discord, or empty
	MailURL  string   `json:"mail_url,omitempty"`  // of the server, for Mail; empty: sendmail of this machine
	MailFrom string   `json:"mail_from,omitempty"` // the sender, for Mail; empty: the machine decides

	When   Occasion `json:"when,omitempty"`
	AtMost Limit    `json:"at_most,omitzero"`
}

// A Monitor is what Sentry expects of a task.
type Monitor struct {
	Cron    string        `json:"cron"`              // five fields that every cron knows
	Zone    string        `json:"zone"`              // in which the expression is meant
	Margin  time.Duration `json:"margin"`            // how late a run may start
	Longest time.Duration `json:"longest,omitempty"` // how long a run may take; 0: Sentry decides
}

// A Moment is when a ping with `on` is sent.
type Moment string

const (
	OnStart   Moment = "start"
	OnSuccess Moment = "success"
	OnFailure Moment = "failure"
)

// An Occasion narrows down when a notification is sent; empty: always.
type Occasion string

const (
	Changed Occasion = "changed" // the run before ended otherwise: one was a success, the other a failure
	Printed Occasion = "output"  // the command printed something
)

// A Limit is how many notifications may be sent in any span of time of length Per. The zero value
// is no limit.
type Limit struct {
	N   int           `json:"n"`
	Per time.Duration `json:"per"`
}

// Empty reports whether the notification has no target, as a ping to ${URL:-} if URL is not set.
// Then the notification is left out.
func (n Notification) Empty() bool {
	return n.Ping == "" && n.Webhook == "" && len(n.Mail) == 0 && n.Sentry == "" && n.OTLP == ""
}

// IsState reports whether the notification says how things are now: a newer one replaces an older
// one that waits.
func (n Notification) IsState() bool { return n.Ping != "" || n.Sentry != "" }

// Expanded returns the notification with its variables and files, for sending. It must not be
// stored. Its error is an *ExpandError.
func (n Notification) Expanded(x Expansion) (Notification, error) {
	for _, text := range []*string{&n.Ping, &n.Webhook, &n.Sentry, &n.OTLP, &n.MailURL, &n.MailFrom} {
		var err error
		if *text, err = trimmed(x, *text); err != nil {
			return Notification{}, err
		}
	}
	addresses := n.Mail
	n.Mail = nil
	for _, text := range addresses {
		address, err := trimmed(x, text)
		if err != nil {
			return Notification{}, err
		}
		if address != "" {
			n.Mail = append(n.Mail, address)
		}
	}
	return n, nil
}

// trimmed returns the expanded text without the white space around it: files of secrets end with a
// new line.
func trimmed(x Expansion, text string) (string, error) {
	text, err := x.Expand(text)
	return strings.TrimSpace(text), err
}

// A Sender names the schedule that a notification comes from. A trigger finds the schedule with it.
type Sender struct {
	Schedule string `json:"schedule,omitempty"` // its name
	File     string `json:"file,omitempty"`     // absolute
	Zone     string `json:"zone,omitempty"`     // of the task
}
