package outbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/statedir"
)

// A limit is what at_most remembers of one hook, in a file that is locked while the limit is open: which messages were sent
// in the time of the limit. Of the deliveries that were held back since, only the newest is kept, in another file, with the
// number of those before it in its message. The next delivery that is admitted takes that number over; where none comes,
// a tick sends the held one when the time is over (docs/internals/decisions.md#at_most-sends-what-it-held-back).
type limit struct {
	Outbox
	hook string
	file *os.File
	limitMemory
}

type limitMemory struct {
	Sent []sent `json:"sent"`
	// Counted is the id of the held delivery whose number an admitted one has taken over. It is forgotten when the
	// admitted one is in the outbox; after a kill between the two its number must not be taken over again.
	Counted string `json:"counted,omitempty"`
}

type sent struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

const (
	limitSuffix = ".limit"
	heldSuffix  = ".held"
)

func (o Outbox) heldPath(hook string) string { return filepath.Join(o.dir, hook+heldSuffix) }

// limit opens the limit of a hook. Processes hold its lock for a moment only, so limit waits for it (limitPatience).
func (o Outbox) limit(hook string) (*limit, error) {
	path := filepath.Join(o.dir, hook+limitSuffix)
	file, err := statedir.Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := statedir.LockWithin(file, limitPatience); err != nil {
		file.Close()
		return nil, err
	}
	l := &limit{Outbox: o, hook: hook, file: file}
	text, _ := statedir.ReadFile(path)
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	if json.Unmarshal(line, &l.limitMemory) != nil {
		l.limitMemory = limitMemory{} // new, or what a power cut left: one message too many is better than none
	}
	return l, nil
}

// limitPatience is how long a process waits for another one that has the limit open: that may have been stopped with it.
const limitPatience = 2 * time.Second

// admit reports whether a delivery may be sent now; else it holds the delivery back. For the same delivery, as after a kill,
// the result is the same. After an error the delivery may be sent: one too many is better than none.
func (o Outbox) admit(d *Delivery) (bool, error) {
	m, err := o.limit(hookOf(d.Message.ID))
	if err != nil {
		return true, err
	}
	defer m.file.Close()
	held, err := m.held()
	if err != nil {
		return true, err
	}
	if m.allows(d.Message.ID, d.To.AtMost) {
		if held != nil {
			d.Message.HeldBack, d.Message.HeldSince = held.Message.HeldBack+1, held.since()
			m.Counted = held.Message.ID
		}
		return true, m.add(d.Message.ID)
	}
	if held != nil && (held.Message.ID == d.Message.ID || m.Counted == held.Message.ID) {
		if held.Message.ID == d.Message.ID {
			return false, nil
		}
		held = nil
	}
	if held != nil {
		d.Message.HeldBack, d.Message.HeldSince = held.Message.HeldBack+1, held.since()
	}
	draft := m.heldPath(m.hook) + ".new"
	if err := m.writeTo(draft, d); err != nil {
		return true, err
	}
	return false, os.Rename(draft, m.heldPath(m.hook))
}

// forgetCounted removes the held delivery whose number was taken over, when the delivery with that number is in the outbox.
func (o Outbox) forgetCounted(hook string) {
	m, err := o.limit(hook)
	if err != nil {
		return
	}
	defer m.file.Close()
	if held, err := m.held(); err == nil && held != nil && held.Message.ID == m.Counted {
		os.Remove(m.heldPath(hook))
	}
}

// ReleaseHeld puts the held delivery of a hook into the outbox when the limit allows another one, and returns its name. The
// name is empty when there is none, or when it has to wait.
func (o Outbox) ReleaseHeld(hook string) (name string, err error) {
	m, err := o.limit(hook)
	if err != nil {
		return "", err
	}
	defer m.file.Close()
	held, err := m.held()
	switch {
	case err != nil, held == nil:
		return "", err
	case held.Message.ID == m.Counted:
		return "", os.Remove(m.heldPath(hook))
	case !m.allows(held.Message.ID, held.To.AtMost):
		return "", nil
	}
	if err := m.add(held.Message.ID); err != nil {
		return "", err
	}
	return held.Message.ID, os.Rename(m.heldPath(hook), m.path(held.Message.ID))
}

// held returns the held delivery; nil when there is none.
func (m *limit) held() (*Delivery, error) {
	text, err := statedir.ReadFile(m.heldPath(m.hook))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	held := new(Delivery)
	if err == nil {
		err = json.Unmarshal(text, held)
	}
	return held, err
}

// since is when the first of the messages happened that were held back up to this one.
func (d *Delivery) since() time.Time {
	if d.Message.HeldSince.IsZero() {
		return d.Message.At
	}
	return d.Message.HeldSince
}

// allows reports whether a message may be sent, or has been already. What was sent in the future, when the clock was
// wrong, does not count. Ticks are not quite on time, so a little less than the time of the limit is enough: a task that fails
// at every full hour sends a message once an hour.
func (m *limit) allows(id string, at schedule.Limit) bool {
	now, enough := clock.Now(), at.Per-min(15*time.Second, at.Per/20)
	m.Sent = slices.DeleteFunc(m.Sent, func(s sent) bool { return s.At.After(now) || now.Sub(s.At) >= enough })
	return len(m.Sent) < at.N || slices.ContainsFunc(m.Sent, func(s sent) bool { return s.ID == id })
}

// add notes that a message is sent.
func (m *limit) add(id string) error {
	if !slices.ContainsFunc(m.Sent, func(s sent) bool { return s.ID == id }) {
		m.Sent = append(m.Sent, sent{id, clock.Now().UTC()})
	}
	text, err := json.Marshal(m.limitMemory)
	if err == nil {
		_, err = m.file.WriteAt(append(text, '\n'), 0) // a rest of what was there before comes after the line
	}
	if err == nil {
		err = m.file.Truncate(int64(len(text) + 1))
	}
	return err
}
