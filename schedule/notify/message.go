package notify

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

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

	Outcome  outcome.Outcome `json:"outcome,omitempty"` // in the words of `sched history`; empty at the start
	Kind     outcome.Kind    `json:"kind,omitempty"`    // why, for code
	Warning  bool            `json:"warning,omitempty"` // the run succeeded with a warning
	Reason   string          `json:"reason,omitempty"`  // for people, if the outcome alone does not say it
	ExitCode *int            `json:"exit_code,omitempty"`
	Attempt  int             `json:"attempt,omitempty"` // how many attempts of the run were made
	Slot     time.Time       `json:"slot"`              // shown in its own zone
	Started  time.Time       `json:"started,omitzero"`
	Ended    time.Time       `json:"ended,omitzero"`
	Duration time.Duration   `json:"duration,omitempty"` // nanoseconds in JSON

	PID     int    `json:"pid,omitempty"`     // of the command, in an AttemptEnd
	Program string `json:"program,omitempty"` // the name of its executable, in an AttemptEnd
	Cause   string `json:"cause,omitempty"`   // the run after which this one came, for a trace

	Params map[string]string  `json:"params,omitempty"` // the values that somebody set for the run
	Values map[string]float64 `json:"values,omitempty"` // the numbers that the run reported
	Test   bool               `json:"test,omitempty"`   // of sched test: at_most does not count it

	Output string `json:"output,omitempty"` // the end of what the run printed: any bytes; Send cuts it to OutputLimit
	Cut    bool   `json:"cut,omitempty"`    // whether there was more before Output

	Late bool `json:"-"` // it is sent after a later success of the task: Sender sees that at each attempt

	HeldBack  int       `json:"held_back,omitempty"` // messages of this hook that at_most held back after the last one
	HeldSince time.Time `json:"held_since,omitzero"` // when the first of these happened
}

// NewMessage returns a message about an event of now, of a run that ended with the result or goes
// on. Its times are shown in the zone. It lacks the id.
func NewMessage(event Event, task *schedule.Task, result state.Row, zone *time.Location) Message {
	local := func(t time.Time) time.Time { // a zero time stays zero
		if t.IsZero() {
			return t
		}
		return t.In(zone)
	}
	m := Message{
		Event:       event,
		At:          local(clock.Now()),
		Schedule:    task.Sender.Schedule,
		Config:      task.Sender.File,
		Task:        result.Task,
		Description: task.Description,
		Run:         result.ID,
		Server:      result.Server,
		Params:      result.Params,
		Values:      result.Values,
		Outcome:     result.Outcome,
		Kind:        result.Kind,
		Warning:     result.Warned(),
		Reason:      result.Reason,
		ExitCode:    result.ExitCode,
		Attempt:     result.Attempt.Number,
		Slot:        local(result.Slot),
		Started:     local(result.Started),
		Ended:       local(result.Ended),
		Duration:    result.Duration(),
	}
	if event == Skip || event == Overdue && result.Started.IsZero() {
		m.Run = ""
	}
	return m
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
	Warning  Event = "warning" // the run succeeded with a warning
	Failure  Event = "failure" // after the last attempt; also of runs that timed out, were stopped or lost
	Recovery Event = "recovery"
	Skip     Event = "skip"
	Overdue  Event = "overdue"
	Finish   Event = "finish" // of any outcome

	AttemptEnd Event = "attempt" // of any outcome; for a trace
)

// headline is the message in one line: `nightly-report failed: exit code 7`.
func (m Message) headline() string {
	headline := m.Task + " " + m.result()
	if m.Test {
		headline += " (a test)"
	}
	return headline
}

// result returns what became of the run: `failed: exit code 7`, `timed out after 20m`.
func (m Message) result() string {
	switch {
	case m.Event == Start:
		return "started"
	case m.Event == Recovery:
		return "recovered"
	case m.Event == Overdue:
		verb := "is"
		if m.Late {
			verb = "was"
		}
		return verb + " overdue" + m.since() + ": " + line(m.Reason)
	case m.Outcome == "":
		return string(m.Event)
	}
	reason := line(m.Reason)
	if reason == "" && m.Outcome == outcome.Failed && m.ExitCode != nil {
		reason = fmt.Sprintf("exit code %d", *m.ExitCode)
	}
	became := string(m.Outcome) + m.since()
	if m.Warning {
		became += " with a warning"
	}
	switch {
	case reason == "":
		return became
	case !m.Late && m.Outcome == outcome.TimedOut, // `timed out after 20m`
		!m.Late && m.Outcome == outcome.Stopped && m.Kind == "": // `stopped by SIGTERM`
		return became + " " + reason
	}
	return became + ": " + reason
}

// since says that it is over what the message tells; "" if it is not.
func (m Message) since() string {
	if !m.Late {
		return ""
	}
	return " at " + humanize.MinuteZone(m.At, m.At.Location()) + " and has succeeded since"
}

// subject is the headline with the schedule before it, in at most 200 characters: inboxes show no
// more.
func (m Message) subject() string {
	subject := m.headline()
	if m.Schedule != "" {
		subject = "[" + m.Schedule + "] " + subject
	}
	return head(line(subject), 200)
}

// A fact is a line of a message: `took      11.5 s`.
type fact struct{ name, value string }

// facts say where, when and how. They leave out what is not known.
func (m Message) facts() (facts []fact) {
	add := func(name, value string) {
		if value = line(value); value != "" {
			facts = append(facts, fact{name, value})
		}
	}
	add("server", m.Server)
	add("due", zoned(m.Slot))
	add("started", zoned(m.Started))
	add("ended", zoned(m.Ended))
	if !m.Started.IsZero() && !m.Ended.IsZero() {
		add("took", humanize.DurationPrecise(m.Duration))
	}
	if m.Attempt > 1 {
		add("attempts", fmt.Sprint(m.Attempt))
	}
	add("run", m.Run)
	add("more", m.command())
	return facts
}

// zoned writes a time to the second, in the zone that it carries: "2026-03-29 10:00:00 CEST". The
// zero time is "".
func zoned(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return humanize.SecondZone(t, t.Location())
}

// inZone returns the message with its times in the zone of that name: JSON keeps the offset alone.
func (m Message) inZone(name string) Message {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" {
		return m
	}
	for _, t := range []*time.Time{&m.At, &m.Slot, &m.Started, &m.Ended} {
		if !t.IsZero() {
			*t = t.In(zone)
		}
	}
	return m
}

// command is the command that shows more: `sched logs` for a run, `sched why` for a slot that did
// not become a run.
func (m Message) command() string {
	option := ""
	if m.Config != "" {
		option = "-c " + m.Config + " "
	}
	if m.Run == "" || m.Event == Skip || m.Outcome == outcome.Skipped {
		return "sched why " + option + m.Task
	}
	return "sched logs " + option + humanize.ShortRun(m.Run)
}

// heldBackText says that at_most held messages like this one back; empty if it did not.
func (m Message) heldBackText() string {
	since := "the last one"
	if !m.HeldSince.IsZero() {
		since = zoned(m.HeldSince)
	}
	switch m.HeldBack {
	case 0:
		return ""
	case 1:
		return "1 more like this was not sent since " + since + "."
	}
	return fmt.Sprintf("%d more like this were not sent since %s.", m.HeldBack, since)
}

// tail is the end of text, at most limit bytes long. It begins at a line if a line begins in the
// first half of the end, else with a whole character.
func tail(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	if i := strings.IndexByte(text, '\n'); i >= 0 && i < limit/2 {
		return text[i+1:]
	}
	for i := 0; i < len(text) && i < utf8.UTFMax; i++ {
		if utf8.RuneStart(text[i]) {
			return text[i:]
		}
	}
	return text
}

// head is the beginning of text, at most limit characters long.
func head(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

// line makes one line of foreign text, with single spaces between its words.
func line(foreign string) string { return strings.Join(strings.Fields(humanize.Plain(foreign)), " ") }

// The JSON of two columns of the outbox.
type (
	targetColumn struct {
		Folder string                `json:"folder"`
		To     schedule.Notification `json:"to"`
		Test   bool                  `json:"test,omitempty"` // tests stand in no line with what happened
	}
	bodyColumn struct {
		Message Message `json:"message"`
		Output  []byte  `json:"output,omitempty"` // any bytes: base64
		Zone    string  `json:"zone,omitempty"`   // of the slot; older versions left it out
	}
)
