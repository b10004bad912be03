package runner

import (
	"context"

	"sched/schedule/outbox"
)

// openPost begins to deliver letters beside everything else, so that no server which hangs delays a task. When hurry
// is done they are left to a later tick.
func (t *Tick) openPost(hurry context.Context) {
	t.postman = outbox.NewSender(hurry, t.Environ)
	t.postman.Undelivered = t.tellUndelivered
	t.postman.Delivered = func(l *outbox.Delivery, target string) {
		if t.Detail != nil {
			t.Detail("%s: %s: sent %s", l.Message.Task, l.Hook, target)
		}
	}
}

// deliverOld tries again what was not delivered before.
func (t *Tick) deliverOld(box outbox.Outbox) {
	letters, held, err := box.List()
	if err != nil {
		t.Problem("the notifications that wait cannot be read: %v", err)
	}
	for _, hook := range held {
		t.held = append(t.held, heldBack{box, hook})
	}
	t.postman.Deliver(box, letters...)
}

// A heldBack is a hook of which at_most has held something back.
type heldBack struct {
	box  outbox.Outbox
	hook string
}

// deliverHeld sends what at_most held back where it may be sent now. It comes after the tasks of the tick: they may have
// newer news, which take over the number of those that were held back.
func (t *Tick) deliverHeld() {
	for _, held := range t.held {
		name, err := held.box.ReleaseHeld(held.hook)
		if err != nil {
			t.Problem("what at_most held back waits on: %v", err)
		} else if name != "" {
			t.postman.Deliver(held.box, name)
		}
	}
}

// tellUndelivered says that a letter was not delivered, and notes it in the record of its run.
func (t *Tick) tellUndelivered(l *outbox.Delivery, err error, what string) bool {
	t.Problem("%s: %s: %v; %s", l.Message.Task, l.Hook, err, what)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.notes == nil {
		t.notes = map[string][]string{}
	}
	run := outbox.RunOf(l.Message.ID)
	t.notes[run] = append(t.notes[run], l.Hook+": "+err.Error()+"; "+what)
	return true
}
