package schedule

import "time"

// LateWithin is how old a slot may be that runs although no tick, or no store, let it start in its
// minute.
func (t *Task) LateWithin() time.Duration {
	if t.StartDeadline > 0 && !t.RunMissed {
		return min(t.MissedWithin, t.StartDeadline)
	}
	return t.MissedWithin
}

// GivesWay reports whether a slot is one of several of its minute. Such a slot does not wait,
// because the next slot is near.
func (t *Task) GivesWay(at time.Time) bool { return len(t.When.Slots(at)) > 1 }

// WaitsForPause reports whether a slot of the task waits for the end of a pause or a maintenance.
func (t *Task) WaitsForPause(at time.Time) bool { return t.RunAfterPause && !t.GivesWay(at) }

// KeptFromWaiting returns a warning for each active task whose slots give way, though the file says
// that they wait for the end of a pause.
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

// WaitUntil returns when a run of a slot stops waiting, if it begins to wait at from: when it has
// waited for as long as its task says, or may not start any more.
func (t *Task) WaitUntil(slot, from time.Time) time.Time {
	until := from.Add(t.WaitAtMost)
	if latest := slot.Add(t.StartDeadline); t.StartDeadline > 0 && latest.Before(until) {
		return latest
	}
	return until
}
