package view

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// A Notification says what became of a notification of a run. It has no secrets.
type Notification struct {
	Hook  string             `json:"hook"`  // as `on_failure 1`
	To    string             `json:"to"`    // as `mail to ops@example.com`
	State string             `json:"state"` // sent, waiting or not sent
	At    *humanize.JSONTime `json:"at"`    // when that was settled; null if it waits, or was not to be sent
	Why   string             `json:"why"`   // why it waits or was not sent, in words; may be empty
}

// The states of a notification.
const (
	notificationSent    = "sent"
	notificationWaiting = "waiting"
	notificationNotSent = "not sent"
)

// Text says it in one line, for people.
func (n Notification) Text(zone *time.Location) string {
	text := n.Hook + ": " + n.To + ": " + n.State
	if n.State == notificationSent && n.At != nil {
		text += " at " + humanize.SecondZone(n.At.Time, zone)
	}
	if n.Why != "" {
		text += ": " + n.Why
	}
	return text
}

// String is Text with times in UTC, for tables.
func (n Notification) String() string { return n.Text(time.UTC) }

// notificationsOf returns the notifications of a run that are over.
func notificationsOf(row state.Row) []Notification {
	all := []Notification{}
	for _, told := range row.Told {
		at := humanize.UTCOrNil(told.At)
		n := Notification{Hook: told.Hook, To: told.To, State: notificationSent, At: at}
		if told.Why != "" {
			why, failure, _ := strings.Cut(told.Why, ": ")
			n.State, n.Why = notificationNotSent, why
			n.addFailure(failure)
		}
		all = append(all, n)
	}
	return all
}

// allNotifications returns the notifications of a run of this machine: those that are over, those
// that wait, and those that were not to be sent, and why.
func allNotifications(ctx context.Context, r *Records, row state.Row) ([]Notification, error) {
	waiting, err := waitingNotifications(ctx, r, row.ID)
	all := knownNotifications(row, waiting)
	if err == nil && row.Outcome != "" && row.DefinitionID != 0 && row.Ran() {
		if row, err = r.Row(ctx, row.ID); err == nil {
			all, err = addUnsent(ctx, r, all, row)
		}
	}
	slices.SortStableFunc(all, func(x, y Notification) int { return strings.Compare(x.Hook, y.Hook) })
	return all, err
}

// WaitingNotifications are the notifications that wait or that at_most holds back, by their runs.
type WaitingNotifications map[string][]Notification

// NotificationsWaiting returns the notifications of the runs of this machine that wait.
func NotificationsWaiting(ctx context.Context, s Source) (WaitingNotifications, error) {
	r, err := s.Records(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return waitingNotifications(ctx, r, "")
}

// waitingNotifications returns the notifications of a run that wait, or of all runs for "".
func waitingNotifications(ctx context.Context, r *Records, run string) (WaitingNotifications, error) {
	messages, err := r.Messages().OfRun(ctx, run)
	waiting := WaitingNotifications{}
	for _, m := range messages {
		if n, ok := waitingNotification(m); ok {
			waiting[m.Run] = append(waiting[m.Run], n)
		}
	}
	return waiting, err
}

// knownNotifications returns the notifications of a run that are over, and those that wait.
func knownNotifications(row state.Row, waiting WaitingNotifications) []Notification {
	all := notificationsOf(row)
	for _, n := range waiting[row.ID] {
		if !hasNotification(all, n.Hook) {
			all = append(all, n)
		}
	}
	slices.SortStableFunc(all, func(x, y Notification) int { return strings.Compare(x.Hook, y.Hook) })
	return all
}

// notesBeside returns the notes of a run that no notification repeats: the note of a failed attempt
// begins with the hook of its notification, which says what became of that.
func notesBeside(all []Notification, notes []string) []string {
	return slices.DeleteFunc(slices.Clone(notes), func(note string) bool {
		return slices.ContainsFunc(all, func(n Notification) bool { return strings.HasPrefix(note, n.Hook+": ") })
	})
}

func hasNotification(all []Notification, hook string) bool {
	return slices.ContainsFunc(all, func(n Notification) bool { return n.Hook == hook })
}

// waitingNotification returns a message of the outbox as it is shown. It returns false for spans,
// which tell no person.
func waitingNotification(m state.Message) (Notification, bool) {
	to, err := notify.AddressOf(m)
	n := Notification{Hook: m.Hook, To: to, State: notificationWaiting}
	switch {
	case m.Held:
		n.Why = fmt.Sprintf("held back by at_most: %d per %s", m.Limit.N, humanize.Setting(m.Limit.Per))
	case m.Refused:
		n.State, n.At = notificationNotSent, humanize.UTCOrNil(m.LastTry)
		n.Why = "given up after " + humanize.Count(m.Tries, "attempt")
		n.addFailure(m.Error)
	case m.Error != "":
		n.Why = "after " + humanize.Count(m.Tries, "attempt")
		n.addFailure(m.Error)
	}
	return n, err == nil && to != ""
}

// addFailure adds why an attempt failed; "" for none. An error begins with its target, whose host
// may be in a variable of the schedule: the notification names the target once, with its host.
func (n *Notification) addFailure(text string) {
	if text == "" {
		return
	}
	if target, rest, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(target, n.To) {
		n.To, text = target, rest
	}
	n.Why += ": " + text
}

// addUnsent adds the notifications that a run that has ended was not to send, by its definition.
func addUnsent(ctx context.Context, r *Records, all []Notification, row state.Row) ([]Notification, error) {
	var task schedule.Task
	if json.Unmarshal(row.Snapshot, &task) != nil { // of another version of sched
		return all, nil
	}
	previous, _, err := r.Previous(ctx, row.Task, row.ID)
	if err != nil {
		return all, err
	}
	counts := map[string]int{}
	for key, hook := range task.Hooks.All() {
		counts[key]++
		name := fmt.Sprintf("%s %d", key, counts[key])
		if hook.Notify == nil || !firesAfter(key, row, previous) || hasNotification(all, name) {
			continue
		}
		why, err := whyUnsent(ctx, r, hook, row, previous)
		if err != nil {
			return all, err
		}
		if why != "" {
			address := notify.Target(*hook.Notify).String()
			all = append(all, Notification{Hook: name, To: address, State: notificationNotSent, Why: why})
		}
	}
	return all, nil
}

// firesAfter reports whether the hooks of a key fire after a run that ran.
func firesAfter(key string, row, previous state.Row) bool {
	switch key {
	case "after":
		return true
	case "on_failure":
		return row.Outcome.Failure()
	case "on_success":
		return row.Outcome == outcome.Succeeded
	case "on_warning":
		return row.Warned()
	case "on_recovery":
		return row.Outcome == outcome.Succeeded && previous.Outcome.Failure()
	}
	return false
}

// whyUnsent says why a hook that fires after the run sent nothing; "" if its keys give no reason.
func whyUnsent(
	ctx context.Context, r *Records, hook schedule.Hook, row, previous state.Row,
) (string, error) {
	failed := row.Outcome.Failure()
	if hook.After > 1 {
		failures, err := r.FailuresBefore(ctx, row.Task, row.ID, time.Time{}, hook.After)
		switch {
		case err != nil:
			return "", err
		case failed && failures+1 < hook.After:
			return fmt.Sprintf("after: %d, and it was failure %d in a row", hook.After, failures+1), nil
		case !failed && failures < hook.After:
			before := humanize.Count(failures, "failure")
			return fmt.Sprintf("after: %d, and it came after %s in a row", hook.After, before), nil
		}
	}
	switch {
	case hook.Notify.When == schedule.Changed && failed == previous.Outcome.Failure():
		verb := "had not failed either"
		if failed {
			verb = "had failed, too"
		}
		return "when: changed, and the run before " + verb, nil
	case hook.Notify.When == schedule.Printed && row.Output == "":
		return "when: output, and it printed nothing", nil
	}
	return "", nil
}

// Telling says what became of the notifications of a run, and what else is noted of the run, in
// words. It leaves out what a success has told as always.
func Telling(row state.Row, waiting WaitingNotifications, zone *time.Location) []string {
	all := knownNotifications(row, waiting)
	texts := notesBeside(all, row.Notes)
	for _, n := range all {
		if row.Outcome.Failure() || !n.isUsual() {
			texts = append(texts, n.Text(zone))
		}
	}
	return texts
}

// isUsual reports whether a success has such a notification, and it is sent or on its way.
func (n Notification) isUsual() bool {
	key, _, _ := strings.Cut(n.Hook, " ")
	return slices.Contains([]string{"before", "after", "on_success"}, key) &&
		(n.State == notificationSent || n.State == notificationWaiting && n.Why == "")
}
