package run

import (
	"os"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/notify"
	"sched/schedule/outbox"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
)

// A keyedHooks is a key of hooks, such as on_failure, with what the task has for it.
type keyedHooks struct {
	key   string
	hooks []schedule.Hook
}

// hooksAfter returns the hooks that fire after a run that ended with the result, in their order.
func (r *Run) hooksAfter(result outcome.Record) (all []keyedHooks) {
	hooks := r.task.Hooks
	switch {
	case result.Outcome == outcome.Succeeded:
		all = append(all, keyedHooks{"on_success", hooks.OnSuccess})
		if len(hooks.OnRecovery) > 0 && r.failedBefore() {
			all = append(all, keyedHooks{"on_recovery", hooks.OnRecovery})
		}
	case result.Outcome.Failure():
		all = append(all, keyedHooks{"on_failure", hooks.OnFailure})
	}
	return append(all, keyedHooks{"after", hooks.After})
}

// failedBefore reports whether the run before this one failed. It may have to open the history, so it looks once.
func (r *Run) failedBefore() bool {
	if r.lastFailed == nil {
		last, ok := previous(r.Dir, r.Record().Task, r.Record().Run)
		failed := ok && last.Outcome.Failure()
		r.lastFailed = &failed
	}
	return *r.lastFailed
}

// events has the event of a message for each key of hooks.
var events = map[string]notify.Event{
	"before": notify.Start, "after": notify.Finish, "on_success": notify.Success,
	"on_failure": notify.Failure, "on_recovery": notify.Recovery, "on_skip": notify.Skip,
}

// queueNotifications puts the notifications of a key into the outbox, except those that were put there before. They are
// sent by sendQueued, or by a later tick.
func (r *Run) queueNotifications(f keyedHooks, state runfile.State, result outcome.Record) {
	for i, hook := range f.hooks {
		if hook.Notify != nil {
			name := hookName(f.key, i)
			r.queueNotification(name, name, events[f.key], *hook.Notify, state, result)
		}
	}
}

// queueStartPings puts the pings of the key after into the outbox that are to be sent at the start, too.
func (r *Run) queueStartPings() {
	for i, hook := range r.task.Hooks.After {
		if hook.Notify != nil && slices.Contains(hook.Notify.On, schedule.OnStart) {
			name := hookName("after", i)
			r.queueNotification(name, name+" start", notify.Start, *hook.Notify, runfile.State{}, r.soFar(nil))
		}
	}
}

// queueNotification puts one notification into the outbox, if it is for a run that ended with the result, and was not put
// there before. The mark in the run's file is the name of the hook, or another one for the start of a run.
func (r *Run) queueNotification(hook, mark string, event notify.Event, n schedule.Notification, state runfile.State, result outcome.Record) {
	name := outbox.Name(r.Record().Task, hook, r.Record().Run, mark != hook)
	box := outbox.In(r.Dir)
	if state.Hooks[mark] {
		if box.Publish(name) == nil {
			r.deliveries = append(r.deliveries, name)
		}
		return
	}
	if n.On != nil && event == notify.Finish {
		event = notify.Success
		if result.Outcome.Failure() {
			event = notify.Failure
		}
	}
	if !r.wanted(n, event, result) {
		if n.On != nil {
			box.Withdraw(outbox.Name(r.Record().Task, hook, r.Record().Run, true), time.Now()) // what it says is not true any more
		}
		return
	}
	d := &outbox.Delivery{Hook: hook, Folder: r.task.Folder, To: n, Message: r.message(name, event, result)}
	if n.Ping == "" || n.On != nil {
		d.Output, d.Message.Cut = tailOf(result.Output)
	}
	r.put(box, d, mark)
}

// put puts a delivery into the outbox, and marks in the run's file that the hook fired. What no outbox takes, as on a full
// disk, is kept in memory for one attempt.
func (r *Run) put(box outbox.Outbox, d *outbox.Delivery, mark string) {
	kept, err := box.Put(d, func() { r.file.Append(runfile.Event{Hook: mark}) })
	switch {
	case err != nil:
		r.unkept = append(r.unkept, d)
	case kept:
		r.deliveries = append(r.deliveries, d.Message.ID)
	}
}

// wanted reports whether the notification is for the event of a run that ended with the result.
func (r *Run) wanted(n schedule.Notification, event notify.Event, result outcome.Record) bool {
	if n.On != nil && !slices.Contains(n.On, schedule.Moment(event)) {
		return false
	}
	switch n.When {
	case schedule.Changed:
		return result.Outcome.Failure() != r.failedBefore()
	case schedule.Printed:
		info, err := os.Stat(result.Output)
		return err == nil && info.Size() > 0
	}
	return true
}

// sendQueued begins an attempt for each delivery that this process put into the outbox, and returns at once.
func (r *Run) sendQueued() {
	r.Sender.Deliver(outbox.In(r.Dir), r.deliveries...)
	r.Sender.DeliverUnkept(r.unkept...)
	r.deliveries, r.unkept = nil, nil
}
