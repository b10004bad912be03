package forecast

import (
	"time"

	"sched/schedule"
)

// A waiter is a background slot whose run waits for its mutex, or for a seat of its pool. The first
// to come goes first: waiters of one mutex ask again at the same instant, in the order in which
// they came.
type waiter struct {
	slot  Slot
	until int64 // when it has waited for long enough
}

// wait has the run of the slot wait for its mutex or seat. It reports false if the slot is skipped
// instead: its task does not wait, or another run of the task waits already. skip is Overlap or
// Full, and free is when to ask again.
func (s *simulation) wait(skip Skip, by *schedule.Task, free int64) bool {
	task := s.slot.Task
	key := mutexOf{task.Name, s.slot.Server}
	if task.WaitAtMost == 0 || !task.Background || s.waiting[key] {
		return false
	}
	w := &waiter{slot: s.slot, until: task.WaitUntil(s.slot.At, s.slot.Start).UnixNano()}
	w.slot.Skip, w.slot.By = skip, by
	s.waiting[key] = true
	s.push(min(free, w.until), w)
	return true
}

func (w *waiter) happen(s *simulation, at int64) {
	s.slot = w.slot
	s.slot.Start, s.slot.Skip = time.Unix(0, at).UTC(), Runs
	until, err := s.acquireMutex()
	if err != nil {
		s.slot.Skip, _ = s.inTheWay(err)
		if at < w.until {
			s.push(min(s.freeAt(err), w.until), w)
			return
		}
	}
	delete(s.waiting, mutexOf{s.slot.Task.Name, s.slot.Server})
	if err == nil {
		if s.slot.Reason = s.paused(s.slot.Task, s.slot.At); s.slot.Reason != "" {
			s.slot.Skip = Paused
		} else {
			s.hold(holder{s.slot.Task, until})
		}
	}
	s.observe(&s.slot)
}

// inTheWay returns why acquireMutex gave the slot nothing, and whose run is in the way.
func (s *simulation) inTheWay(err error) (Skip, *schedule.Task) {
	if err == errFull {
		return Full, s.firstToLeave().task
	}
	return Overlap, s.held[s.mutex()].task
}

// freeAt returns when the mutex or seat is free that acquireMutex did not give.
func (s *simulation) freeAt(err error) int64 {
	if err == errFull {
		return s.firstToLeave().until
	}
	return s.held[s.mutex()].until
}
