package tick

import (
	"context"

	"sched/schedule/outbox"
)

// deliveries are the notifications that a tick sends, beside everything else.
type deliveries struct {
	tick    *Tick
	records *records
	sender  *outbox.Sender // nil until start
	held    []heldBack     // for sendHeld
}

// A heldBack is a hook some of whose messages at_most holds back.
type heldBack struct {
	box  outbox.Outbox
	hook string
}

// start begins to deliver notifications, so that no server that hangs delays a task. When kill is done the undelivered ones are
// left to a later tick.
func (d *deliveries) start(kill context.Context) {
	d.sender = outbox.NewSender(kill, d.tick.Host.Environ)
	d.sender.Undelivered = d.reportUndelivered
	d.sender.Delivered = func(sent *outbox.Delivery, target string) {
		d.tick.Report.detail("%s: %s: sent %s", sent.Message.Task, sent.Hook, target)
	}
}

// sendWaiting tries again to deliver what earlier attempts did not.
func (d *deliveries) sendWaiting(box outbox.Outbox) {
	waiting, held, err := box.List()
	if err != nil {
		d.tick.Report.Problem("the notifications that wait cannot be read: %v", err)
	}
	for _, hook := range held {
		d.held = append(d.held, heldBack{box, hook})
	}
	d.sender.Deliver(box, waiting...)
}

// sendHeld sends what at_most held back where it may be sent now. Call it after the tasks of the tick have run: they may have newer
// messages, which take over the number of those that were held back (docs/internals/decisions.md#at_most-sends-what-it-held-back).
func (d *deliveries) sendHeld() {
	for _, held := range d.held {
		name, err := held.box.ReleaseHeld(held.hook)
		if err != nil {
			d.tick.Report.Problem("what at_most held back waits on: %v", err)
		} else if name != "" {
			d.sender.Deliver(held.box, name)
		}
	}
}

// reportUndelivered prints that a delivery failed and what becomes of it, and notes both in the record of its run.
func (d *deliveries) reportUndelivered(failed *outbox.Delivery, err error, what string) bool {
	d.tick.Report.Problem("%s: %s: %v; %s", failed.Message.Task, failed.Hook, err, what)
	d.records.note(outbox.RunOf(failed.Message.ID), failed.Hook+": "+err.Error()+"; "+what)
	return true
}
