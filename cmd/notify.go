package cmd

import (
	"errors"
	"strings"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/notify"

	"sched/schedule/outbox"
)

// checkNotification says what is wrong with whom a notification is for.
func checkNotification(n schedule.Notification) (problem, hint string) {
	target := outbox.Target(n)
	err := target.Check()
	if err == nil {
		return "", ""
	}
	return strings.TrimPrefix(err.Error(), target.String()+": "), hintOf(err)
}

// hintOf returns what can be done about a store or a server that does not answer as it should, and "" for any
// other error.
func hintOf(err error) string {
	var down *mutex.StoreError
	var untold *notify.Error
	switch {
	case errors.As(err, &down):
		return down.Hint
	case errors.As(err, &untold):
		return untold.Hint
	}
	return ""
}
