package run

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/run/output"
	"sched/schedule/state"
)

// A keyedHooks is a key of hooks, such as on_failure, with what the task has for it.
type keyedHooks struct {
	key   string
	hooks []schedule.Hook

	failures int // in a row: up to this run, or before it for on_recovery; counted if a hook asks for it
}

// due yields the hooks that fire, with their places: not those that are to fire after more failures
// in a row.
func (k keyedHooks) due() iter.Seq2[int, schedule.Hook] {
	return func(yield func(int, schedule.Hook) bool) {
		for i, hook := range k.hooks {
			if hook.After <= k.failures && !yield(i, hook) {
				return
			}
		}
	}
}

// counted returns the hooks of a key with the number of failures in a row: the failures of this run
// (0 or 1), and the ones before it if a hook asks for them.
func (h *hooks) counted(key string, list []schedule.Hook, failures int) keyedHooks {
	limit := 0
	for _, hook := range list {
		limit = max(limit, hook.After)
	}
	if limit > 0 {
		failures += h.failuresBefore(limit, time.Time{})
	}
	return keyedHooks{key, list, failures}
}

// failuresBefore returns how many runs of the task failed in a row before this one, and ended after
// since. It counts no further than limit.
func (h *hooks) failuresBefore(limit int, since time.Time) int {
	n, _ := h.run.DB.Past().FailuresBefore(context.Background(), h.run.row.Task, h.run.row.ID, since, limit)
	return n
}

// hooks fire the hooks of a run in this process, and remember what of them is still to be
// delivered.
type hooks struct {
	run        *Run
	marks      hookMarks
	deliveries []*notify.Delivery // that this process is to send, and has not begun to
	lastFailed *bool              // whether the run before this one failed; nil until failedBefore has looked
}

// after returns the hooks that fire after a run that ended with the result, in their order.
func (h *hooks) after(result state.Row) (all []keyedHooks) {
	keys := h.run.task.Hooks
	switch {
	case result.Outcome == outcome.Succeeded:
		all = append(all, keyedHooks{key: "on_success", hooks: keys.OnSuccess})
		if result.Warned() {
			all = append(all, keyedHooks{key: "on_warning", hooks: keys.OnWarning})
		}
		if len(keys.OnRecovery) > 0 && h.failedBefore() {
			all = append(all, h.counted("on_recovery", keys.OnRecovery, 0))
		}
	case result.Outcome == outcome.Skipped: // it waited for its turn, and did not get it
		return []keyedHooks{{key: "on_skip", hooks: keys.OnSkip}}
	case result.Outcome.Failure():
		all = append(all, h.counted("on_failure", keys.OnFailure, 1))
	}
	return append(all, keyedHooks{key: "after", hooks: keys.After})
}

// failedBefore reports whether the run before this one failed. It looks once.
func (h *hooks) failedBefore() bool {
	if h.lastFailed == nil {
		last, ok, _ := h.run.DB.Runs().Previous(context.Background(), h.run.row.Task, h.run.row.ID)
		failed := ok && last.Outcome.Failure()
		h.lastFailed = &failed
	}
	return *h.lastFailed
}

// events has the event of a message for each key of hooks.
var events = map[string]notify.Event{
	"before": notify.Start, "after": notify.Finish, "on_success": notify.Success, "on_warning": notify.Warning,
	"on_failure": notify.Failure, "on_recovery": notify.Recovery, "on_skip": notify.Skip, "on_overdue": notify.Overdue,
}

// queueMessages puts the notifications of a key into the outbox, except notifications that were put
// there before. They are sent by send, or by a later tick.
func (h *hooks) queueMessages(f keyedHooks, result state.Row) {
	for i, hook := range f.due() {
		if hook.Notify != nil {
			name := hookName(f.key, i)
			h.queueMessage(name, name, events[f.key], *hook.Notify, result)
		}
	}
}

// queueStartPings puts the pings of the key after into the outbox that are to be sent at the start,
// too.
func (h *hooks) queueStartPings() {
	for i, hook := range h.run.task.Hooks.After {
		if hook.Notify != nil && slices.Contains(hook.Notify.On, schedule.OnStart) {
			name := hookName("after", i)
			h.queueMessage(name, startMark(name), notify.Start, *hook.Notify, h.run.row.soFar())
		}
	}
}

// queueAttemptSpan puts the span of the last attempt into the outbox, if the task is traced. The
// result has the outcome and the end of the attempt.
func (h *hooks) queueAttemptSpan(result state.Row) {
	attempt := h.run.row.Attempt
	if attempt.At.IsZero() {
		return
	}
	result.Started = attempt.At
	h.queueSpan(hookName("otlp attempt", attempt.Number-1), result, func(m *notify.Message) {
		m.Event, m.PID, m.Program = notify.AttemptEnd, attempt.PID, filepath.Base(h.run.task.Command.Argv()[0])
	})
}

// queueRunSpan puts the span of the run into the outbox, if the task is traced.
func (h *hooks) queueRunSpan(result state.Row) {
	h.queueSpan("otlp", result, func(m *notify.Message) {
		if result.Cause != nil {
			m.Cause = result.Cause.Run
		}
	})
}

func (h *hooks) queueSpan(mark string, result state.Row, complete func(*notify.Message)) {
	task := &h.run.task
	if task.OTLP == "" || result.Started.IsZero() || h.marks.hasEnded(mark) {
		return
	}
	m := h.message(h.messageID(mark), notify.Finish, result)
	complete(&m)
	h.put(&notify.Delivery{
		Run:     m.Run,
		Hook:    mark,
		Folder:  task.Folder,
		To:      schedule.Notification{OTLP: task.OTLP},
		Message: m,
	}, mark)
}

// tailBytes is a few more than a message carries, so that it can begin with a whole character or
// line.
const tailBytes = notify.OutputLimit + 4

// queueMessage puts one notification into the outbox, if it is for a run that ended with the
// result, and was not put there before. The mark in the database is the name of the hook, or
// another one for the start of a run.
func (h *hooks) queueMessage(hook, mark string, event notify.Event, n schedule.Notification, result state.Row) {
	if h.marks.hasEnded(mark) {
		return
	}
	if n.On != nil && event == notify.Finish {
		event = notify.Success
		if result.Outcome.Failure() {
			event = notify.Failure
		}
	}
	if !h.isWanted(n, event, result) {
		if n.On != nil {
			h.run.Sender.Withdraw(h.messageID(startMark(hook))) // the message about the start is outdated
		}
		return
	}
	d := &notify.Delivery{
		Run:     h.run.row.ID,
		Hook:    hook,
		Folder:  h.run.task.Folder,
		To:      n,
		Message: h.message(h.messageID(mark), event, result),
	}
	if n.Sentry == "" && (n.Ping == "" || n.On != nil) {
		d.Output, d.Message.Cut = output.Tail(result.Output, tailBytes)
	}
	h.put(d, mark)
}

// put puts a delivery into the outbox.
func (h *hooks) put(d *notify.Delivery, mark string) {
	if h.run.Sender.Put(d) {
		h.deliveries = append(h.deliveries, d)
	}
	h.marks.markMade(mark) // after a kill before this, the message is put in again, and may be sent again
}

// messageID returns the id of a message of the run: the same when a finish begins again after a
// kill.
func (h *hooks) messageID(mark string) string { return h.run.row.ID + " " + mark }

// startMark is the mark of a hook that tells of the start of a run, and not of its end.
func startMark(hook string) string { return hook + " start" }

// isWanted reports whether the notification is for the event of a run that ended with the result.
func (h *hooks) isWanted(n schedule.Notification, event notify.Event, result state.Row) bool {
	if n.On != nil && !slices.Contains(n.On, schedule.Moment(event)) {
		return false
	}
	switch n.When {
	case schedule.Changed:
		return result.Outcome.Failure() != h.failedBefore()
	case schedule.Printed:
		return hasBytes(result.Output)
	}
	return true
}

// send begins an attempt for each delivery that this process put into the outbox, and returns at
// once.
func (h *hooks) send() {
	h.run.Sender.Send(h.deliveries...)
	h.deliveries = nil
}

// message returns what is sent about an event of the run, whose times are shown in the schedule's
// zone.
func (h *hooks) message(id string, event notify.Event, result state.Row) notify.Message {
	sender, zone := h.run.task.Sender, ZoneOf(&h.run.task)
	local := func(t time.Time) time.Time { // a zero time stays zero
		if t.IsZero() {
			return t
		}
		return t.In(zone)
	}
	m := notify.Message{
		ID:          id,
		Event:       event,
		At:          local(clock.Now()),
		Schedule:    sender.Schedule,
		Config:      sender.File,
		Task:        result.Task,
		Description: h.run.task.Description,
		Run:         result.ID,
		Server:      result.Server,
		Params:      result.Params,
		Outcome:     result.Outcome,
		Warning:     result.Warned(),
		Reason:      result.Reason,
		ExitCode:    result.ExitCode,
		Attempt:     result.Attempt.Number,
		Slot:        local(result.Slot),
		Started:     local(result.Started),
		Ended:       local(result.Ended),
		Duration:    result.Duration(),
	}
	if event == notify.Skip || event == notify.Overdue && result.Started.IsZero() {
		m.Run = ""
	}
	return m
}

// ZoneOf returns the time zone in which messages and reasons show the times of a task's runs.
func ZoneOf(task *schedule.Task) *time.Location {
	if zone, err := time.LoadLocation(task.Sender.Zone); err == nil {
		return zone
	}
	return time.UTC
}
