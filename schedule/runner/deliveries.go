package runner

import (
	"context"

	"sched/schedule/outbox"
)

// startSending begins to deliver notifications beside everything else, so that no server that hangs delays a task. When kill is
// done they are left to a later tick.
func (r *running) startSending(kill context.Context) {
	r.sender = outbox.NewSender(kill, r.Host.Environ)
	r.sender.Undelivered = r.reportUndelivered
	r.sender.Delivered = func(d *outbox.Delivery, target string) {
		r.Report.detail("%s: %s: sent %s", d.Message.Task, d.Hook, target)
	}
}

// sendWaiting tries again what was not delivered before.
func (r *running) sendWaiting(box outbox.Outbox) {
	waiting, held, err := box.List()
	if err != nil {
		r.Report.Problem("the notifications that wait cannot be read: %v", err)
	}
	for _, hook := range held {
		r.held = append(r.held, heldBack{box, hook})
	}
	r.sender.Deliver(box, waiting...)
}

// A heldBack is a hook of which at_most has held something back.
type heldBack struct {
	box  outbox.Outbox
	hook string
}

// sendHeld sends what at_most held back where it may be sent now. It comes after the tasks of the tick: they may have newer
// messages, which take over the number of those that were held back.
func (r *running) sendHeld() {
	for _, held := range r.held {
		name, err := held.box.ReleaseHeld(held.hook)
		if err != nil {
			r.Report.Problem("what at_most held back waits on: %v", err)
		} else if name != "" {
			r.sender.Deliver(held.box, name)
		}
	}
}

// reportUndelivered says that something was not delivered, and notes it in the record of its run.
func (r *running) reportUndelivered(d *outbox.Delivery, err error, what string) bool {
	r.Report.Problem("%s: %s: %v; %s", d.Message.Task, d.Hook, err, what)
	r.records.note(outbox.RunOf(d.Message.ID), d.Hook+": "+err.Error()+"; "+what)
	return true
}
