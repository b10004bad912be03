package run

import (
	"io"
	"os"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/notify"
	"sched/schedule/outbox"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
	"sched/schedule/statedir"
)

// A keyedHooks is a key of hooks that fires.
type keyedHooks struct {
	key   string
	hooks []schedule.Hook
}

// hooksAfter returns what fires after a run that ended with the result, in order.
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

// failedBefore reports whether the run before this one failed. It may have to look into the history, so it looks once.
func (r *Run) failedBefore() bool {
	if r.lastFailed == nil {
		last, ok := previous(r.Dir, r.Record().Task, r.Record().Run)
		failed := ok && last.Outcome.Failure()
		r.lastFailed = &failed
	}
	return *r.lastFailed
}

// events are what messages are about, by the key of the hook that sends them.
var events = map[string]notify.Event{
	"before": notify.Start, "after": notify.Finish, "on_success": notify.Success,
	"on_failure": notify.Failure, "on_recovery": notify.Recovery, "on_skip": notify.Skip,
}

// queueNotifications puts the notifications of a key into the outbox, those that were not put there before. What is in the
// outbox is delivered when the caller says so (deliver), or by a later tick.
func (r *Run) queueNotifications(f keyedHooks, state runfile.State, result outcome.Record) {
	for i, hook := range f.hooks {
		if hook.Notify != nil {
			name := hookName(f.key, i)
			r.queueNotification(name, name, events[f.key], *hook.Notify, state, result)
		}
	}
}

// queueStartPings does the same for the pings that tell of the start, too.
func (r *Run) queueStartPings() {
	for i, hook := range r.task.Hooks.After {
		if hook.Notify != nil && slices.Contains(hook.Notify.On, schedule.OnStart) {
			name := hookName("after", i)
			r.queueNotification(name, name+" start", notify.Start, *hook.Notify, runfile.State{}, r.soFar(nil))
		}
	}
}

// queueNotification puts one notification into the outbox, if it is for a run that ended like this, and was not put there before.
// The mark is the name of the hook, or another one for the start of a run.
func (r *Run) queueNotification(hook, mark string, event notify.Event, n schedule.Notification, state runfile.State, result outcome.Record) {
	name := outbox.Name(r.Record().Task, hook, r.Record().Run, mark != hook)
	box := outbox.In(r.Dir)
	if state.Hooks[mark] {
		if box.Post(name) == nil {
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
			box.Withdraw(outbox.Name(r.Record().Task, hook, r.Record().Run, true), time.Now()) // it has not started now
		}
		return
	}
	l := &outbox.Delivery{Hook: hook, Folder: r.task.Folder, To: n, Message: r.message(name, event, result)}
	if n.Ping == "" || n.On != nil {
		l.Output, l.Message.Cut = tailOf(result.Output)
	}
	r.put(box, l, mark)
}

// put puts a letter into the outbox, and leaves the mark that the hook fired in the run's file. Where no outbox takes it, it is
// tried from memory.
func (r *Run) put(box outbox.Outbox, l *outbox.Delivery, mark string) {
	kept, err := box.Put(l, func() { r.file.Append(runfile.Event{Hook: mark}) })
	switch {
	case err != nil:
		r.unkept = append(r.unkept, l)
	case kept:
		r.deliveries = append(r.deliveries, l.Message.ID)
	}
}

// wanted reports whether the notification is for a run that ended like this.
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

// message is what is sent of a run that ended with the result.
func (r *Run) message(id string, event notify.Event, result outcome.Record) notify.Message {
	sender, zone := r.task.Sender, time.UTC
	if z, err := time.LoadLocation(sender.Zone); err == nil {
		zone = z
	}
	in := func(t time.Time) time.Time {
		if t.IsZero() {
			return t
		}
		return t.In(zone)
	}
	m := notify.Message{
		ID: id, Event: event, At: in(clock.Now()),
		Schedule: sender.Schedule, Config: sender.File, Task: result.Task, Description: r.task.Description,
		Run: result.Run, Server: result.Server,
		Outcome: string(result.Outcome), Reason: result.Reason, ExitCode: result.ExitCode, Attempt: result.Attempts,
		Slot: in(result.Slot), Started: in(result.Started), Ended: in(result.Ended), Duration: result.Duration(),
	}
	if event == notify.Skip {
		m.Run = ""
	}
	return m
}

// tailOf returns the end of what a run printed, and whether there was more before it. It is a few bytes
// longer than what is sent of it, so that the sender can begin with a whole character or line.
func tailOf(path string) (tail []byte, cut bool) {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return nil, false
	}
	defer file.Close()
	const most = notify.OutputLimit + 4
	info, err := file.Stat()
	if err != nil {
		return nil, false
	}
	from := max(0, info.Size()-most)
	tail, _ = io.ReadAll(io.NewSectionReader(file, from, most))
	return tail, from > 0
}

// sendQueued tries at once to deliver what this process put into the outbox, beside everything else.
func (r *Run) sendQueued() {
	r.Sender.Deliver(outbox.In(r.Dir), r.deliveries...)
	r.Sender.DeliverUnkept(r.unkept...)
	r.deliveries, r.unkept = nil, nil
}
