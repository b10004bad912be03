package schedule

import "time"

// setStoreDown reads what happens while the store does not answer.
func setStoreDown(l *loader, t *taskDraft, n *node) {
	if word, ok := l.word(n, "skip", "skip", "run", "wait"); ok {
		t.RunWhenStoreDown, t.WaitWhenStoreDown = word == "run", word == "wait"
	}
}

// storeDown is the value of store_down.
func (t *Task) storeDown() Word {
	switch {
	case t.RunWhenStoreDown:
		return "run"
	case t.WaitWhenStoreDown:
		return "wait"
	}
	return "skip"
}

// checkWaits reports a task that says itself that its slots wait for the store, and never asks one. What a group or defaults say
// counts for those of their tasks that do, and a store that is an empty variable here may be one elsewhere.
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

// LateWithin is how old a slot may be that runs although no tick, or no store, let it start in its minute.
func (t *Task) LateWithin() time.Duration {
	if t.StartDeadline > 0 && !t.RunMissed {
		return min(t.MissedWithin, t.StartDeadline)
	}
	return t.MissedWithin
}

// GivesWay reports whether a slot is one of several of its minute. It waits neither for the store nor for the end of a pause: the next
// one is near.
func (t *Task) GivesWay(at time.Time) bool { return len(t.When.Slots(at)) > 1 }

// WaitsForPause reports whether a slot of the task waits for the end of a pause or a maintenance.
func (t *Task) WaitsForPause(at time.Time) bool { return t.RunAfterPause && !t.GivesWay(at) }

// KeptFromWaiting returns a warning for each active task whose slots give way, though it says that they wait for the end of a pause.
func (s *Schedule) KeptFromWaiting(now time.Time) (warnings []Problem) {
	for _, t := range s.Tasks {
		next, due := t.When.Next(now)
		if due && s.Active(t) && t.RunAfterPause && t.GivesWay(next) {
			warnings = append(warnings, Problem{
				Place: t.PlaceOf("missed"), Task: t.Name, Hint: "write `missed: once`",
				Text: "missed: after_pause is once for what is due several times in a minute: the next time is near when the pause is over",
			})
		}
	}
	return warnings
}

// setMissed reads what happens to slots that were missed.
func setMissed(l *loader, t *taskDraft, n *node) {
	if word, ok := l.word(n, "once", "skip", "once", "after_pause"); ok {
		t.RunMissed, t.RunAfterPause = word != "skip", word == "after_pause"
	}
}

// missed is the value of missed.
func (t *Task) missed() Word {
	if t.RunAfterPause {
		return "after_pause"
	}
	return either(t.RunMissed, "once", "skip")
}
