package schedule

import (
	"iter"
	"slices"
	"strings"
	"time"

	"sched/schedule/preset"
	"sched/schedule/yamldoc"
)

// Hooks are what a task does around its command, each list in order.
type Hooks struct {
	Before     []Hook `json:"before,omitempty"`
	After      []Hook `json:"after,omitempty"`
	OnSuccess  []Hook `json:"on_success,omitempty"`
	OnWarning  []Hook `json:"on_warning,omitempty"`
	OnFailure  []Hook `json:"on_failure,omitempty"`
	OnRecovery []Hook `json:"on_recovery,omitempty"`
	OnSkip     []Hook `json:"on_skip,omitempty"`
	OnOverdue  []Hook `json:"on_overdue,omitempty"`
}

// A Hook is a command, a notification (Notify), or the start of another task (Trigger).
type Hook struct {
	Run     Command       `json:"run,omitzero"`
	Notify  *Notification `json:"notify,omitempty"`
	Trigger string        `json:"trigger,omitempty"` // the name of the task
	Place   Place         `json:"-"`                 // of Trigger

	// After is the number of failures in a row from which on the hook fires (on_failure,
	// on_recovery); 0 means 1.
	After int `json:"after,omitempty"`
}

// MaxFailureStreak is how many failures in a row sched counts at most.
const MaxFailureStreak = 100

// IsCommand reports whether the hook is a command.
func (h Hook) IsCommand() bool { return h.Notify == nil && h.Trigger == "" }

// All yields the hooks with their keys.
func (h Hooks) All() iter.Seq2[string, Hook] {
	lists := []struct {
		key   string
		hooks []Hook
	}{
		{"before", h.Before},
		{"after", h.After},
		{"on_success", h.OnSuccess},
		{"on_warning", h.OnWarning},
		{"on_failure", h.OnFailure},
		{"on_recovery", h.OnRecovery},
		{"on_skip", h.OnSkip},
		{"on_overdue", h.OnOverdue},
	}
	return func(yield func(string, Hook) bool) {
		for _, list := range lists {
			for _, hook := range list.hooks {
				if !yield(list.key, hook) {
					return
				}
			}
		}
	}
}

// NeedSchedule reports whether one of the hooks needs to know its schedule: to name it, or to start
// another of its tasks.
func (h Hooks) NeedSchedule() bool {
	for _, hook := range h.All() {
		if !hook.IsCommand() {
			return true
		}
	}
	return false
}

// TriggerKeys are the keys whose hooks may trigger: the hooks after a run.
var TriggerKeys = []string{"after", "on_success", "on_warning", "on_failure", "on_recovery"}

// A Trigger is a hook that starts another task.
type Trigger struct {
	From  string // the task whose hook it is
	Key   string // of the hook, such as on_success
	Task  string // the task that the hook starts
	Place Place
}

// An Expansion puts values in place of ${VAR}, ${VAR:-default} and ${file:PATH}.
type Expansion = yamldoc.Expansion

// An ExpandError says why a text cannot be expanded. It holds no values.
type ExpandError = yamldoc.ExpandError

// A Notification is a hook that tells people or machines of a run: a Ping, a Webhook, a Mail, a
// Sentry, an OTLP or a Preset. It has no secrets, because it is stored with the run and in the
// outbox. Expanded puts them in.
type Notification struct {
	Ping    string   `json:"ping,omitempty"`    // a URL
	Webhook string   `json:"webhook,omitempty"` // a URL
	Mail    []string `json:"mail,omitempty"`    // addresses
	Sentry  string   `json:"sentry,omitempty"`  // the DSN of a project, for its Crons
	OTLP    string   `json:"otlp,omitempty"`    // the URL of a collector of traces; in no hook, but in the task

	Preset *preset.Preset `json:"preset,omitempty"` // the request of a service, with its parameters

	// On is when a message is sent: for Sentry, and for a ping that speaks the protocol of
	// healthchecks.io. Other notifications have none.
	On []Moment `json:"on,omitempty"`

	Monitor  *Monitor `json:"monitor,omitempty"`   // for Sentry; nil if no cron expression says the times of the task
	Format   string   `json:"format,omitempty"`    // of a webhook: slack, text, teams, discord, or empty
	MailURL  string   `json:"mail_url,omitempty"`  // the server for Mail; empty: sendmail of this machine
	MailFrom string   `json:"mail_from,omitempty"` // the address in From; empty: the machine decides

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

// A Moment is an event of a run at which a ping with `on`, or a message to Sentry, is sent.
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
	return n.Ping == "" && n.Webhook == "" && len(n.Mail) == 0 && n.Sentry == "" && n.OTLP == "" && n.Preset == nil
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
	if n.Preset == nil {
		return n, nil
	}
	filled, err := n.Preset.WithValues(func(text string) (string, error) { return trimmed(x, text) })
	n.Preset = filled
	return n, err
}

// trimmed returns the expanded text without the white space around it: files of secrets end with a
// new line.
func trimmed(x Expansion, text string) (string, error) {
	text, err := x.Expand(text)
	return strings.TrimSpace(text), err
}

// A ScheduleRef names the schedule of a task: notifications print it, and triggers find the
// schedule with it.
type ScheduleRef struct {
	Schedule string `json:"schedule,omitempty"` // its name
	File     string `json:"file,omitempty"`     // absolute
	Zone     string `json:"zone,omitempty"`     // of the task
}

// A Command is what a task or a hook runs: a list is run as it is, a line is given to the shell.
type Command struct {
	Line  string   `json:"line,omitempty"`
	Shell []string `json:"shell,omitempty"` // of Line
	List  []string `json:"list,omitempty"`
}

// Argv returns the program and its arguments.
func (c Command) Argv() []string {
	if len(c.List) > 0 {
		return c.List
	}
	return slices.Concat(c.Shell, []string{c.Line})
}
