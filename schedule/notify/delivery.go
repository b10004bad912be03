package notify

import (
	"encoding/json"

	"sched/schedule"
	"sched/schedule/state"
)

// A Delivery is a message on its way to one target. It has all that sending needs but the secrets.
type Delivery struct {
	Run     string // the run, or the slot, that has the hook
	Hook    string // as `after 2`
	Folder  string // of the schedule
	To      schedule.Notification
	Message Message // without the output
	Output  []byte

	kept     bool // it is in the outbox, so a later attempt is possible
	attempts state.Attempts
}

// A place and a content are the two columns of a delivery in the outbox.
type (
	place struct {
		Folder string                `json:"folder"`
		To     schedule.Notification `json:"to"`
	}
	content struct {
		Message Message `json:"message"`
		Output  []byte  `json:"output,omitempty"` // any bytes: base64
	}
)

// sender names the hook of the task. at_most counts the messages of a sender, and a newer ping
// replaces an older ping of it.
func (d *Delivery) sender() string { return d.Message.Task + " " + d.Hook }

// pack returns the delivery as a message of the outbox.
func (d *Delivery) pack() (m state.Message, err error) {
	m = state.Message{
		ID: d.Message.ID, Sender: d.sender(), Task: d.Message.Task, Run: d.Run, Hook: d.Hook,
		Created: d.Message.At, Replaces: d.To.Ping != "", Limit: state.Limit{N: d.To.AtMost.N, Per: d.To.AtMost.Per},
	}
	if m.Target, err = json.Marshal(place{d.Folder, d.To}); err != nil {
		return m, err
	}
	m.Body, err = json.Marshal(content{d.Message, d.Output})
	return m, err
}

// unpack returns the delivery of a message of the outbox.
func unpack(m *state.Message) (*Delivery, error) {
	d := &Delivery{Run: m.Run, Hook: m.Hook, Message: Message{ID: m.ID, Task: m.Task}, kept: true, attempts: m.Attempts}
	var to place
	if err := json.Unmarshal(m.Target, &to); err != nil {
		return d, err
	}
	var what content
	if err := json.Unmarshal(m.Body, &what); err != nil {
		return d, err
	}
	d.Folder, d.To, d.Message, d.Output = to.Folder, to.To, what.Message, what.Output
	d.tellHeldBack(m)
	return d, nil
}

// tellHeldBack lets the message say what at_most held back before it, with times in its own zone.
func (d *Delivery) tellHeldBack(m *state.Message) {
	d.Message.HeldBack, d.Message.HeldSince = m.HeldBack, m.HeldSince
	if m.HeldBack > 0 {
		d.Message.HeldSince = m.HeldSince.In(d.Message.At.Location())
	}
}

// TargetOf returns the target of an expanded notification. If its variables are empty, it is the
// zero Target.
func TargetOf(n schedule.Notification) (t Target) {
	switch {
	case n.Ping != "":
		t.Ping = &Ping{URL: n.Ping, Protocol: n.On != nil}
	case n.Webhook != "":
		t.Webhook = &Webhook{URL: n.Webhook, Format: Format(n.Format)}
	case len(n.Mail) > 0:
		t.Mail = &Mail{To: n.Mail, From: n.MailFrom, URL: n.MailURL}
	}
	return t
}
