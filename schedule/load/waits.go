package load

import (
	"cmp"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// This file reads the keys that make a slot or a run wait instead of being skipped: runs wait for
// locks, and slots for the store or for the end of a pause.

// readWaitAtMost reads how long a run waits at most.
func readWaitAtMost(r *reader, n *node) (time.Duration, bool) {
	d, ok := time.Duration(0), n.IsScalar() && n.Value == "0"
	if !ok {
		d, ok = r.Duration(n, 0)
	}
	if ok && d == 0 {
		r.Problemf(n, "write `without_overlapping: true` for a task that does not wait",
			"wait_at_most %s would skip every run that has to wait", n.Value)
	}
	return d, ok
}

// defaultWait is how long a run waits if the file does not say it.
const defaultWait = time.Hour

// setOverlapping reads whether a run may overlap with another one. If not, it is skipped then, or
// waits.
func setOverlapping(l *loader, t *taskDraft, n *node) {
	if n.IsScalar() && (n.Value == "wait" || n.Value == "replace") {
		t.WithoutOverlapping, t.waitsForMutex, t.Replace = true, true, n.Value == "replace"
		return
	}
	if !n.IsBool() && !n.IsNull() {
		nearest := yamldoc.DidYouMean(l.Nearest(n.Value, []string{"wait", "replace"}))
		hint := cmp.Or(yamldoc.BoolHint(n), nearest, overlappingHint(n))
		l.Problemf(n, hint, "%s must be true, false, wait or replace, not %s", l.Key, n.Describe())
		t.WithoutOverlapping = true
		return
	}
	if value, ok := l.Bool(n); ok {
		t.WithoutOverlapping, t.waitsForMutex, t.Replace = value, false, false
	}
}

var durationInText = humanize.Pattern(`\b\d+[smhd]\b`)

// overlappingHint says how the two keys are written, with the duration that the value has, if any.
func overlappingHint(n *node) string {
	text := n.Value
	if n.IsMapping() {
		for _, value := range n.Pairs() {
			text += " " + value.Value
		}
	}
	if atMost := durationInText().FindString(text); atMost != "" || n.IsMapping() {
		return "write `without_overlapping: wait`, and below it `wait_at_most: " + cmp.Or(atMost, "10m") + "`"
	}
	return "write true for a run that is skipped while another one runs, wait for a run that waits, " +
		"or replace for one that ends the other"
}

// settleWait decides how long the runs of a task wait, and refuses wait for tasks that cannot wait.
func settleWait(l *loader, task *node, t *taskDraft) {
	if !t.waitsForMutex || !t.WithoutOverlapping {
		t.MaxWait, t.Replace = 0, false
		refuseWaitAtMost(l, task)
		return
	}
	refuseForegroundWait(l, task, t)
	warnOfLongWait(l, task, t)
	t.MaxWait = cmp.Or(t.MaxWait, defaultWait)
	if !t.EvenInMaintenance {
		t.Maintenance = l.schedule.Maintenance
	}
}

// refuseWaitAtMost refuses wait_at_most in a task that does not wait.
func refuseWaitAtMost(l *loader, task *node) {
	own := task.Lookup("wait_at_most")
	if own != nil && !own.IsFalse() && !hasWrongOverlapping(task) {
		l.Problemf(own, "add `without_overlapping: wait`, or remove it",
			"wait_at_most is for tasks with without_overlapping: wait or replace")
	}
}

// refuseForegroundWait refuses a foreground task whose runs wait.
func refuseForegroundWait(l *loader, task *node, t *taskDraft) {
	if t.Background {
		return
	}
	word := "wait"
	if t.Replace {
		word = "replace"
	}
	l.Problemf(firstOf(task, "without_overlapping"),
		"add `background: true`, or write `without_overlapping: true`",
		"without_overlapping: %s is for background tasks: all foreground tasks after it would wait with it", word)
}

// warnOfLongWait warns of a wait that start_deadline ends earlier.
func warnOfLongWait(l *loader, task *node, t *taskDraft) {
	own := task.Lookup("wait_at_most")
	if own != nil && t.StartDeadline > 0 && t.MaxWait > t.StartDeadline {
		l.Warnf(own, "make one of the two what you mean",
			"no run waits for %s: it may not start later than start_deadline, %s%s",
			humanize.Duration(t.MaxWait), humanize.Duration(t.StartDeadline),
			placeText(l, task.Lookup("start_deadline")))
	}
}

// hasWrongOverlapping reports whether the task itself has a wrong value of without_overlapping, so
// that nobody knows whether it was to wait.
func hasWrongOverlapping(task *node) bool {
	n := task.Lookup("without_overlapping")
	return n != nil && !n.IsBool()
}

// setMayQueue sets MayQueue of the tasks that share a mutex or a pool with tasks whose runs wait.
func setMayQueue(l *loader) {
	mutexes, pools := map[string]bool{}, map[string]bool{} // that runs wait for
	for _, t := range l.schedule.Tasks {
		if t.MaxWait > 0 || t.RunAllMissed {
			mutexes[t.Mutex], pools[t.Pool.Name] = true, true
		}
	}
	for _, t := range l.schedule.Tasks {
		takesMutex, takesSeat := t.WithoutOverlapping, t.Pool.Name != ""
		t.MayQueue = (takesMutex && mutexes[t.Mutex]) || (takesSeat && pools[t.Pool.Name])
	}
}

// A wrong word counts as one that goes with the other keys about the store, or about missed slots,
// so that these keys are not refused, too.
var (
	storeDownWords = wordList{words: []string{"skip", "run", "wait"}, yes: "run", ifWrong: "skip"}
	lostLeaseWords = wordList{words: []string{"continue", "stop"}, yes: "stop", ifWrong: "stop"}
	missedWords    = wordList{words: []string{"skip", "once", "all", "after_pause"}, yes: "once", ifWrong: "all"}
)

func setStoreDown(l *loader, t *taskDraft, n *node) {
	if word, ok := storeDownWords.read(l.Reader, n); ok {
		t.RunWhenStoreDown, t.WaitWhenStoreDown = word == "run", word == "wait"
	}
}

func setOnLostLease(l *loader, t *taskDraft, n *node) {
	if word, ok := lostLeaseWords.read(l.Reader, n); ok {
		t.StopOnLostLease = word == "stop"
	}
}

// warnOfOneServerAlone warns of one_server without a store: each server of several would run the
// task.
func warnOfOneServerAlone(l *loader, keys *node) {
	if own := keys.Lookup("one_server"); own != nil && !own.IsFalse() && !l.hasStore {
		l.Warnf(own, "add `store:`, which all servers reach, or remove it",
			"one_server without a store holds on this machine alone: each other server runs the task, too")
	}
}

// checkStoreDown refuses store_down: wait in a task that sets it itself but never asks the store.
func checkStoreDown(l *loader, task *node, t *taskDraft) {
	own := task.Lookup("store_down")
	switch {
	case own == nil || !t.WaitWhenStoreDown: // right
	case !t.NeedsLocks():
		l.Problemf(own, "add `one_server: true` or `without_overlapping: true`, or remove it",
			"store_down: wait is for tasks that ask the store")
	case !l.hasStore:
		l.Problemf(own, "add `store:`, or remove it", "store_down: wait needs a store")
	}
}

func setMissed(l *loader, t *taskDraft, n *node) {
	if word, ok := missedWords.read(l.Reader, n); ok {
		t.RunMissed, t.RunAllMissed, t.RunAfterPause = word != "skip", word == "all", word == "after_pause"
	}
}

// checkMissed refuses bounds of what a task does not do.
func checkMissed(l *loader, task *node, t *taskDraft) {
	runsLate := t.RunMissed || t.WaitWhenStoreDown
	if within := task.Lookup("missed_within"); within != nil && !within.IsFalse() && !runsLate {
		l.Problemf(within, "add `missed: once`, or remove it",
			"missed_within is for tasks with missed: once, missed: all, missed: after_pause or store_down: wait")
	}
	if most := task.Lookup("missed_at_most"); most != nil && !most.IsFalse() && !t.RunAllMissed {
		l.Problemf(most, "add `missed: all`, or remove it", "missed_at_most is for tasks with missed: all")
	}
}

func showOverlapping(t *taskDraft) any {
	switch {
	case t.Replace:
		return schedule.Word("replace")
	case t.MaxWait > 0:
		return schedule.Word("wait")
	}
	return t.WithoutOverlapping
}

func showStoreDown(t *taskDraft) any {
	switch {
	case t.RunWhenStoreDown:
		return schedule.Word("run")
	case t.WaitWhenStoreDown:
		return schedule.Word("wait")
	}
	return schedule.Word("skip")
}

func showOnLostLease(t *taskDraft) any {
	if t.StopOnLostLease {
		return schedule.Word("stop")
	}
	return schedule.Word("continue")
}

func showMissed(t *taskDraft) any {
	switch {
	case t.RunAfterPause:
		return schedule.Word("after_pause")
	case t.RunAllMissed:
		return schedule.Word("all")
	case t.RunMissed:
		return schedule.Word("once")
	}
	return schedule.Word("skip")
}
