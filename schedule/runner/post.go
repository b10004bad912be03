package runner

import (
	"context"
)

// openPost begins to deliver letters beside everything else, so that no server which hangs delays a task. When hurry
// is done they are left to a later tick.
func (t *Tick) openPost(hurry context.Context) {
	t.postman = newPostman(hurry, t.Environ)
	t.postman.tell = t.tellUndelivered
	t.postman.delivered = func(l *letter, target string) {
		if t.Detail != nil {
			t.Detail("%s: %s: sent %s", l.Message.Task, l.Hook, target)
		}
	}
}

// deliverOld tries again what was not delivered before.
func (t *Tick) deliverOld(box outbox) {
	letters, held, err := box.list()
	if err != nil {
		t.Problem("the notifications that wait cannot be read: %v", err)
	}
	for _, hook := range held {
		t.held = append(t.held, heldBack{box, hook})
	}
	t.postman.deliver(box, letters...)
}

// A heldBack is a hook of which at_most has held something back.
type heldBack struct {
	box  outbox
	hook string
}

// deliverHeld sends what at_most held back where it may be sent now. It comes after the tasks of the tick: they may have
// newer news, which take over the number of those that were held back.
func (t *Tick) deliverHeld() {
	for _, held := range t.held {
		name, err := held.box.digest(held.hook)
		if err != nil {
			t.Problem("what at_most held back waits on: %v", err)
		} else if name != "" {
			t.postman.deliver(held.box, name)
		}
	}
}

// tellUndelivered says that a letter was not delivered, and notes it in the record of its run.
func (t *Tick) tellUndelivered(l *letter, err error, what string) bool {
	t.Problem("%s: %s: %v; %s", l.Message.Task, l.Hook, err, what)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.notes == nil {
		t.notes = map[string][]string{}
	}
	run := runOf(l.Message.ID)
	t.notes[run] = append(t.notes[run], l.Hook+": "+err.Error()+"; "+what)
	return true
}
