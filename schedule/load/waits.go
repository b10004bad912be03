package load

import (
	"cmp"
	"regexp"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// This file is about waiting in place of being skipped: runs wait for locks, and slots wait for the
// store or for the end of a pause.

// waitAtMost is how long a run waits if the file does not say it.
const waitAtMost = time.Hour

// setOverlapping reads whether a run may overlap with another one. If not, it is skipped then, or
// waits.
func setOverlapping(l *loader, t *taskDraft, n *node) {
	if n.IsScalar() && n.Value == "wait" {
		t.WithoutOverlapping, t.waits = true, true
		return
	}
	if isBool := n.IsScalar() && n.Tag == "!!bool"; !isBool && !n.IsNull() {
		nearest := yamldoc.DidYouMean(l.Nearest(n.Value, []string{"wait"}))
		hint := cmp.Or(yamldoc.BoolHint(n), nearest, overlappingHint(n))
		l.Problemf(n, hint, "%s must be true, false or wait, not %s", l.Key, n.Describe())
		t.WithoutOverlapping = true
		return
	}
	if value, ok := l.Bool(n); ok {
		t.WithoutOverlapping, t.waits = value, false
	}
}

var durationInText = regexp.MustCompile(`\b\d+[smhd]\b`)

// overlappingHint says how the two keys are written, with the duration that the value has, if any.
func overlappingHint(n *node) string {
	text := n.Value
	if n.IsMapping() {
		for _, value := range n.Pairs() {
			text += " " + value.Value
		}
	}
	if atMost := durationInText.FindString(text); atMost != "" || n.IsMapping() {
		return "write `without_overlapping: wait`, and below it `wait_at_most: " + cmp.Or(atMost, "10m") + "`"
	}
	return "write true for a run that is skipped while another one runs, or wait for a run that waits"
}

// settleWait decides how long the runs of a task wait, and refuses wait for tasks that cannot wait.
func (l *loader) settleWait(task *node, t *taskDraft) {
	n := task.Lookup("without_overlapping")
	own := task.Lookup("wait_at_most")
	switch {
	case !t.waits || !t.WithoutOverlapping:
		t.WaitAtMost = 0
		if own != nil && !own.IsFalse() && (n == nil || n.IsScalar() && n.Tag == "!!bool") { // else nobody knows whether it was to wait
			l.Problemf(own, "add `without_overlapping: wait`, or remove it", "wait_at_most is for tasks with without_overlapping: wait")
		}
		return
	case !t.Background:
		if n == nil {
			n = task
		}
		l.Problemf(n, "add `background: true`, or write `without_overlapping: true`",
			"without_overlapping: wait is for background tasks: all foreground tasks after it would wait with it")
	}
	if own != nil && t.StartDeadline > 0 && t.WaitAtMost > t.StartDeadline {
		l.Warnf(own, "make one of the two what you mean", "no run waits for %s: it may not start later than start_deadline, %s%s",
			humanize.Duration(t.WaitAtMost), humanize.Duration(t.StartDeadline), l.placeText(task.Lookup("start_deadline")))
	}
	if t.WaitAtMost == 0 {
		t.WaitAtMost = waitAtMost
	}
	if !t.EvenInMaintenance {
		t.Maintenance = l.schedule.Maintenance
	}
}

// noteQueues notes which tasks share a mutex or a pool with tasks whose runs wait.
func (l *loader) noteQueues() {
	waited := map[string]bool{}
	for _, t := range l.schedule.Tasks {
		if t.WaitAtMost > 0 {
			waited["mutex "+t.Mutex], waited["pool "+t.Pool.Name] = true, t.Pool.Name != ""
		}
	}
	for _, t := range l.schedule.Tasks {
		t.Queues = t.WithoutOverlapping && waited["mutex "+t.Mutex] || waited["pool "+t.Pool.Name]
	}
}

// setStoreDown reads what happens while the store does not answer.
func setStoreDown(l *loader, t *taskDraft, n *node) {
	if word, ok := readWord(l.Reader, n, "skip", "skip", "run", "wait"); ok {
		t.RunWhenStoreDown, t.WaitWhenStoreDown = word == "run", word == "wait"
	}
}

// checkWaits refuses store_down: wait in a task that sets it itself but never asks the store.
func (l *loader) checkWaits(task *node, t *taskDraft) {
	n := task.Lookup("store_down")
	switch {
	case n == nil || !t.WaitWhenStoreDown:
	case !t.Locks():
		l.Problemf(n, "add `one_server: true` or `without_overlapping: true`, or remove it",
			"store_down: wait is for tasks that ask the store")
	case !l.hasStore:
		l.Problemf(n, "add `store:`, or remove it", "store_down: wait needs a store")
	}
}

// setMissed reads what happens to slots that were missed.
func setMissed(l *loader, t *taskDraft, n *node) {
	if word, ok := readWord(l.Reader, n, "once", "skip", "once", "after_pause"); ok {
		t.RunMissed, t.RunAfterPause = word != "skip", word == "after_pause"
	}
}
