package tick

import (
	"context"

	"sched/schedule/notify"
)

// deliveries are the notifications that a tick sends, beside everything else.
type deliveries struct {
	tick    *running
	records *records
	sender  *notify.Sender // nil until start
}

// start begins to deliver notifications, so that no server that hangs delays a task. When kill is
// done the undelivered ones are left to a later tick.
func (d *deliveries) start(kill context.Context) {
	d.sender = notify.NewSender(kill, d.tick.db, d.tick.Host.Environ)
	d.sender.Undelivered = d.reportUndelivered
	d.sender.Delivered = func(sent *notify.Delivery, target string) {
		d.tick.Report.detail("%s: %s: sent %s", sent.Message.Task, sent.Hook, target)
	}
}

// sendWaiting tries again to deliver what earlier attempts did not.
func (d *deliveries) sendWaiting() {
	d.sender.SendWaiting()
}

// sendHeld sends what at_most held back, if it may be sent now. Call it after the tasks of the tick
// have run: they may have newer messages, which take over the number of messages that were held
// back (docs/internals/decisions.md#at_most-sends-what-it-held-back).
func (d *deliveries) sendHeld() {
	if !d.tick.quiet {
		d.sender.Release()
	}
}

// reportUndelivered prints that a delivery failed and what becomes of it, and notes both in the
// row of its run.
func (d *deliveries) reportUndelivered(failed *notify.Delivery, err error, what string) {
	d.tick.Report.Problem("%s: %s: %v; %s", failed.Message.Task, failed.Hook, err, what)
	d.records.note(failed.Run, failed.Hook+": "+err.Error()+"; "+what)
}
