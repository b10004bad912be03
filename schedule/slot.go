package schedule

import "time"

// A Slot is a task and one instant at which it is due, in UTC.
type Slot struct {
	Task *Task
	At   time.Time
}

// ClaimKey is the key of the claim of a slot. It does not contain the mutex, which tasks with other
// slots may share.
func (s Slot) ClaimKey() string { return s.Task.Name + "@" + s.At.UTC().Format("20060102T150405Z") }

// ClaimedUntil returns until when the claim of a slot is kept, on every server: an hour after the
// last time at which a tick may start the slot.
func (s Slot) ClaimedUntil() time.Time {
	last := s.At
	if s.Task.RunMissed || s.Task.WaitWhenStoreDown {
		last = last.Add(s.Task.MissedWithin)
	}
	return last.Add(time.Hour)
}
