package forecast

import (
	"cmp"
	"container/heap"
	"errors"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/pause"
)

// An Input is the input of a simulation.
type Input struct {
	Schedule *schedule.Schedule
	From, To time.Time // the slots at or after From and before To
	Servers  int       // if there are several, they share a store; each ticks
	Pauses   pause.Pauses
	Loads    map[string]Load // of a run of each task, by its name

	Done <-chan struct{} // when closed, nobody waits any more, and the simulation stops; nil: it goes on to its end
}

func (in Input) done() bool {
	select {
	case <-in.Done:
		return true
	default:
		return false
	}
}

// A Load is what a run uses.
type Load struct {
	Runs   int // of the history, from which it is known; 0 if nothing is known
	Took   time.Duration
	CPU    time.Duration // of all its processors together
	Memory int64         // bytes
}

// A Skip is the kind of reason for which a slot does not run. The set is closed.
type Skip string

const (
	NoSkip  Skip = ""          // the slot does run
	Unmet   Skip = "condition" // a condition of time
	Paused  Skip = "paused"
	TooLate Skip = "too late" // past its start_deadline, or its next slot was due
	Overlap Skip = "overlap"  // another run has the mutex
	Full    Skip = "pool full"
)

// Skips are the kinds of reasons that there are.
var Skips = []Skip{Unmet, Paused, TooLate, Overlap, Full}

// A Slot is the outcome of a slot on one server.
type Slot struct {
	schedule.Slot
	Server int       // from 0
	Start  time.Time // of the run, or when it is skipped
	Load   Load      // of the run
	Skip   Skip
	Reason string // of the skip, in the words that a tick would use; "" for Overlap and Full

	// By is the task of the run that is in the way; nil for none:
	//
	//   - Overlap: the run that has the mutex.
	//   - Full: the run that gives its seat back first.
	//   - For a slot that starts late: the task for which it waited longest.
	By *schedule.Task
}

// Lateness is how long after its time the slot starts.
func (s Slot) Lateness() time.Duration { return s.Start.Sub(s.At) }

// Simulate calls observe with the outcome of each slot of the span, in the order of starts. If one
// server has taken a slot, observe is not called for the others. observe must not keep the pointer
// after it returns.
func Simulate(in Input, observe func(*Slot)) {
	s := &simulation{
		Input:   in,
		observe: observe,
		held:    map[lockKey]holder{},
		seats:   map[lockKey][]holder{},
		claimed: map[schedule.Slot]bool{},
		waiting: map[lockKey]bool{},
	}
	s.clock = func() time.Time { return s.slot.Start }
	s.pausedBy, s.claim, s.locksUntil = s.pauseText, s.claimSlot, s.untilFree
	for minute, due := range minutes(in.Schedule, in.From, in.To) {
		if in.done() {
			return
		}
		s.runUntil(minute.UnixNano())
		due = slices.DeleteFunc(due, func(slot schedule.Slot) bool { return slot.At.Before(in.From) })
		for server := range in.Servers {
			s.tick(server, due)
		}
	}
	s.runUntil(1<<63 - 1)
}

// A simulation is a span of time while it is simulated. Instants are nanoseconds since 1970.
type simulation struct {
	Input
	observe func(*Slot)
	events  heapOf[event]
	pushed  int
	held    map[lockKey]holder
	seats   map[lockKey][]holder   // of a pool, by its name
	claimed map[schedule.Slot]bool // by some server
	waiting map[lockKey]bool       // of a task, by its name

	// The slot that is decided, and the functions with which package schedule asks about it.
	slot       Slot
	clock      func() time.Time
	pausedBy   schedule.SlotCheck
	claim      func() error
	locksUntil func() (int64, error)
}

// A lockKey names a mutex or a pool. Without a store each server has its own.
type lockKey struct {
	name   string
	server int
}

// A holder is the task whose run has a mutex or a seat, or had it until then.
type holder struct {
	task  *schedule.Task
	until int64
}

func (s *simulation) tick(server int, due []schedule.Slot) {
	background, foreground := schedule.SplitBackground(due)
	for len(background) > 0 {
		now, later := schedule.SplitAfter(background, background[0].At)
		s.push(now[0].At.UnixNano(), &backgroundGroup{server, now})
		background = later
	}
	if len(foreground) > 0 {
		s.push(foreground[0].At.UnixNano(), &foregroundQueue{server: server, slots: foreground})
	}
}

// runUntil runs all events before an instant.
func (s *simulation) runUntil(end int64) {
	for len(s.events) > 0 && s.events[0].at < end {
		e := heap.Pop(&s.events).(event)
		e.action.run(s, e.at)
	}
}

func (s *simulation) push(at int64, action action) {
	s.pushed++
	heap.Push(&s.events, event{at, s.pushed, action})
}

// A backgroundGroup is the background slots of one instant on a server.
type backgroundGroup struct {
	server int
	slots  []schedule.Slot
}

func (g *backgroundGroup) run(s *simulation, at int64) {
	free, conditional := schedule.SplitConditional(g.slots)
	for _, slot := range slices.Concat(free, conditional) {
		s.start(g.server, slot, at, nil)
	}
}

// A foregroundQueue is the foreground slots of a tick, which run one after another.
type foregroundQueue struct {
	server int
	slots  []schedule.Slot
	next   int
	order  schedule.ForegroundOrder

	// Since the queue was last idle, the run of longest took the longest time.
	longest *schedule.Task
	took    time.Duration // by the run of longest
}

// run decides the slots of the queue until one of them runs, or is yet to come.
func (q *foregroundQueue) run(s *simulation, at int64) {
	for ; q.next < len(q.slots); q.next++ {
		q.order.Reorder(q.slots, q.next, func(slot schedule.Slot) bool { return at > slot.At.UnixNano() })
		slot := q.slots[q.next]
		if due := slot.At.UnixNano(); due >= at {
			q.longest, q.took = nil, 0
			if due > at {
				s.push(due, q)
				return
			}
		}
		if !s.start(q.server, slot, at, q.longest) {
			continue
		}
		q.order.Ran(slot.Task)
		took := s.slot.Load.Took
		q.next++
		if q.next == len(q.slots) {
			return
		}
		if took > q.took {
			q.longest, q.took = slot.Task, took
		}
		s.push(at+int64(took), q)
		return
	}
}

var (
	errClaimed = errors.New("another server has the slot")
	errHeld    = errors.New("another run has the mutex")
	errFull    = errors.New("other runs have all seats of the pool")
)

// start decides a slot, passes on its outcome, and reports whether it runs. before is the
// foreground task that it waited for.
func (s *simulation) start(server int, slot schedule.Slot, at int64, before *schedule.Task) bool {
	s.slot = Slot{Slot: slot, Server: server, Start: time.Unix(0, at).UTC(), Load: s.Loads[slot.Task.Name]}
	refusal := schedule.Refuse(slot, s.clock, s.pausedBy)
	s.slot.Skip, s.slot.Reason = skipOf[refusal.Kind], refusal.Reason
	if s.slot.Skip != NoSkip {
		if server == 0 || !slot.Task.OneServer { // else the first server has passed it on
			s.observe(&s.slot)
		}
		return false
	}
	until, err := schedule.TakeLocks(slot.Task, s.claim, s.locksUntil)
	switch {
	case err == errClaimed:
		return false
	case err != nil:
		skip, blocker := s.blocker(err)
		if !s.wait(blocker) {
			s.slot.Skip, s.slot.By = skip, blocker.task
			s.observe(&s.slot)
		}
		return false
	case until > 0:
		s.hold(holder{slot.Task, until})
	}
	s.slot.By = before
	s.observe(&s.slot)
	return true
}

// skipOf is the kind of skip for each kind of refusal. The only check is for pauses.
var skipOf = [...]Skip{
	schedule.NotRefused:         NoSkip,
	schedule.RefusedByCondition: Unmet,
	schedule.RefusedByCheck:     Paused,
	schedule.RefusedTooLate:     TooLate,
}

// pauseText returns the pause of a task at the start of the slot, in words; "" for none. A pause
// counts at the start of a run, and not at the time of its slot.
func (s *simulation) pauseText(task *schedule.Task, _ time.Time) string {
	p, ok := s.Pauses.Foreseen(task, s.slot.Start)
	if !ok {
		return ""
	}
	return p.Text(s.slot.Start, s.Schedule.Location)
}

func (s *simulation) claimSlot() error {
	if s.Servers < 2 {
		return nil
	}
	if s.claimed[s.slot.Slot] {
		return errClaimed
	}
	s.claimed[s.slot.Slot] = true
	return nil
}

// untilFree returns when the run of the slot would give its mutex and its seat back, or why it
// cannot have them now. It takes nothing: see hold.
func (s *simulation) untilFree() (until int64, err error) {
	task, now := s.slot.Task, s.slot.Start.UnixNano()
	held := s.held[s.mutexKey()]
	isReplaced := task.Replace && held.task == task
	if task.WithoutOverlapping && held.until > now && !isReplaced {
		return 0, errHeld
	}
	if name := task.Pool.Name; name != "" {
		hasLeft := func(h holder) bool { return h.until <= now }
		taken := slices.DeleteFunc(s.seats[s.keyOf(name)], hasLeft)
		s.seats[s.keyOf(name)] = taken
		if len(taken) >= task.Pool.Seats {
			return 0, errFull
		}
	}
	return s.slot.Start.Add(s.slot.Load.Took).UnixNano(), nil
}

// hold gives the run of a holder its mutex and its seat.
func (s *simulation) hold(h holder) {
	if h.task.WithoutOverlapping {
		s.held[s.mutexKey()] = h
	}
	if name := h.task.Pool.Name; name != "" {
		s.seats[s.keyOf(name)] = append(s.seats[s.keyOf(name)], h)
	}
}

// firstToLeave returns the holder of a seat, in the pool of the slot, that gives the seat back
// first.
func (s *simulation) firstToLeave() holder {
	seats := s.seats[s.keyOf(s.slot.Task.Pool.Name)]
	return slices.MinFunc(seats, func(a, b holder) int { return cmp.Compare(a.until, b.until) })
}

func (s *simulation) mutexKey() lockKey { return s.keyOf(s.slot.Task.Mutex) }

// keyOf is the key of a mutex, or of a pool, for the server of the slot.
func (s *simulation) keyOf(name string) lockKey {
	if len(s.Schedule.Store.Servers) > 0 {
		return lockKey{name: name}
	}
	return lockKey{name, s.slot.Server}
}

// An action happens at its instant, and may push further events.
type action interface {
	run(s *simulation, at int64)
}

type event struct {
	at     int64
	seq    int // orders events of one instant: the one that was pushed first comes first
	action action
}

func (e event) Before(other event) bool {
	return e.at < other.at || e.at == other.at && e.seq < other.seq
}

// A waiter is a background slot whose run waits for its mutex, or for a seat of its pool. The first
// to come goes first: waiters of one mutex ask again at the same instant, in the order in which
// they came.
type waiter struct {
	slot  Slot
	until int64 // when it has waited for long enough
}

// wait has the run of the slot wait for its mutex or seat. It reports false if the slot is skipped
// instead: its task does not wait, or another run of the task waits already.
func (s *simulation) wait(blocker holder) bool {
	task := s.slot.Task
	key := lockKey{task.Name, s.slot.Server}
	if task.MaxWait == 0 || !task.Background || s.waiting[key] {
		return false
	}
	w := &waiter{slot: s.slot, until: task.WaitUntil(s.slot.At, s.slot.Start).UnixNano()}
	w.slot.By = blocker.task
	s.waiting[key] = true
	s.push(min(blocker.until, w.until), w)
	return true
}

func (w *waiter) run(s *simulation, at int64) {
	s.slot = w.slot
	s.slot.Start = time.Unix(0, at).UTC()
	until, err := s.untilFree()
	if err != nil {
		skip, blocker := s.blocker(err)
		if at < w.until {
			s.push(min(blocker.until, w.until), w)
			return
		}
		s.slot.Skip = skip
	}
	delete(s.waiting, lockKey{s.slot.Task.Name, s.slot.Server})
	if err == nil {
		s.slot.Reason = s.pauseText(s.slot.Task, s.slot.At)
		if s.slot.Reason != "" {
			s.slot.Skip = Paused
		} else {
			s.hold(holder{s.slot.Task, until})
		}
	}
	s.observe(&s.slot)
}

// blocker returns the skip for an error of untilFree, and the holder for which it waits: the
// holder of the mutex, or the first one to give a seat back.
func (s *simulation) blocker(err error) (Skip, holder) {
	if err == errFull {
		return Full, s.firstToLeave()
	}
	return Overlap, s.held[s.mutexKey()]
}

// source says where the load comes from.
func (l Load) source() string {
	if l.Runs > 0 {
		return "history"
	}
	return "unknown"
}

// A heapOf is a heap for package container/heap. Its first element comes before all others.
type heapOf[T interface{ Before(T) bool }] []T

func (h heapOf[T]) Len() int { return len(h) }

func (h heapOf[T]) Less(i, j int) bool { return h[i].Before(h[j]) }

func (h heapOf[T]) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *heapOf[T]) Push(x any) { *h = append(*h, x.(T)) }

func (h *heapOf[T]) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
