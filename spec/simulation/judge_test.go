package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// A slotKey is a slot, by the name of its task, in UTC.
type slotKey struct {
	task string
	at   time.Time
}

func (k slotKey) String() string { return k.task + " of " + k.at.Format("15:04") }

// claim is the key of the claim of the slot.
func (k slotKey) claim() string {
	return schedule.Slot{Task: &schedule.Task{Name: k.task}, At: k.at}.ClaimKey()
}

// A slotLog is what happened to a slot on all servers.
type slotLog struct {
	asked   time.Time // when a server asked for it first
	excuses []string  // why it may run nowhere
	ran     []*command
}

// A command is one that was started.
type command struct {
	server     *server
	task       *schedule.Task
	slot       slotKey
	run        string
	lock       mutex.Lock
	begun      time.Time
	ended      time.Time // zero while it lives
	suspicious []overlap
}

// An overlap is another command with the same mutex that lived when a command began.
type overlap struct {
	other  *command
	leased time.Time // when the lease of the other one began last
}

func keyOf(record state.Row) slotKey { return slotKey{record.Task, record.Slot.UTC()} }

func (w *world) logOf(key slotKey) *slotLog {
	if w.slots[key] == nil {
		w.slots[key] = &slotLog{}
	}
	return w.slots[key]
}

// noteAsked notes that a server asks for a slot.
func (w *world) noteAsked(record state.Row) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if log := w.logOf(keyOf(record)); log.asked.IsZero() {
		log.asked = time.Now()
	}
}

// noteExcuse notes why a slot may run nowhere.
func (w *world) noteExcuse(record state.Row, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.logOf(keyOf(record))
	log.excuses = append(log.excuses, why)
}

// noteSilence notes that a server got no answer.
func (w *world) noteSilence(s *server) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.silences = append(s.silences, time.Now())
}

// noteLate notes that a request about a key was carried out in a later tick. Then a slot may run
// nowhere: spec/README.md says so.
func (w *world) noteLate(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late[key] = true
}

func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

// start notes that a command starts.
func (w *world) start(s *server, record state.Row, task *schedule.Task, lock mutex.Lock) *command {
	w.note(s, "%s of %s runs", record.Task, record.Slot.Format("15:04"))
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &command{server: s, task: task, slot: keyOf(record), run: record.ID, lock: lock, begun: time.Now()}
	for _, other := range w.commands {
		if other.ended.IsZero() && other.task.Mutex == task.Mutex && task.WithoutOverlapping {
			c.suspicious = append(c.suspicious, overlap{other, other.lock.LeaseBegan()})
		}
	}
	w.commands = append(w.commands, c)
	log := w.logOf(c.slot)
	log.ran = append(log.ran, c)
	return c
}

func (w *world) stop(c *command) {
	w.note(c.server, "%s has ended", c.slot)
	w.mu.Lock()
	defer w.mu.Unlock()
	c.ended = time.Now()
}

// judge says which promises were broken.
func (w *world) judge() {
	w.judgeOutcomes()
	w.judgeClaims()
	w.judgeOverlaps()
	slices.Sort(w.broken)
}

// judgeOutcomes checks that each slot that was due has one outcome on each server that it was due
// for, and none on others. A task that is not for one server runs once at most on each.
func (w *world) judgeOutcomes() {
	for _, s := range w.servers {
		rows, _ := s.rows()
		first := s.first
		for minute := first; minute.Before(s.newest); minute = minute.Add(time.Minute) {
			for _, slot := range s.schedule.Due(minute) {
				key := slotKey{slot.Task.Name, slot.At.UTC()}
				if n := rows[key]; n != 1 {
					w.fail("%s has %d outcomes on %s", key, n, s.name)
				}
			}
		}
		for _, task := range s.schedule.Tasks {
			for key := range rows {
				if key.task == task.Name && !s.schedule.Here(task) {
					w.fail("%s has an outcome on %s, and is not for it", key, s.name)
				}
			}
		}
	}
}

// judgeClaims checks that a slot runs once, and that it runs if a server has asked for it and all
// had answers.
func (w *world) judgeClaims() {
	for key, log := range w.slots {
		ran := map[string]int{} // by server
		for _, c := range log.ran {
			ran[c.server.name]++
			if n := ran[c.server.name]; n > 1 && !c.task.OneServer {
				w.fail("%s ran %d times on %s", key, n, c.server.name)
			}
		}
		lostData := slices.ContainsFunc(w.dataLoss, func(at time.Time) bool { return at.After(log.asked) })
		switch {
		case log.asked.IsZero(): // not a task of one_server
		case len(log.ran) > 1 && !lostData:
			w.fail("%s ran %d times", key, len(log.ran))
		case len(log.ran) == 0 && len(log.excuses) == 0 && !w.late["claim "+key.claim()] && !w.isExplained(key):
			w.fail("%s ran nowhere", key)
		}
	}
}

// isExplained reports whether a server has an outcome for a slot that explains why no server ran
// it: its run was lost with its process, the slot was missed because the server was killed and
// stayed away, or the server got no answer for as long as the slot may wait.
func (w *world) isExplained(key slotKey) bool {
	return slices.ContainsFunc(w.servers, func(s *server) bool {
		_, last := s.rows()
		row := last[key]
		return row.Outcome == outcome.Missed || row.Outcome == outcome.Lost ||
			strings.HasPrefix(row.Reason, "nobody knew")
	})
}

// judgeOverlaps looks for two commands that live at once and have one mutex. The excuses are that
// the first one had no answer for a lease, or that the store has lost its data. If a lost lease
// stops the command, no answer is no excuse.
func (w *world) judgeOverlaps() {
	for _, c := range w.commands {
		for _, o := range c.suspicious {
			lostData := slices.ContainsFunc(w.dataLoss,
				func(at time.Time) bool { return at.After(o.other.begun.Add(-time.Minute)) && at.Before(c.begun) })
			silent := c.begun.Sub(o.leased) >= mutex.DefaultLease-5*time.Second &&
				o.other.server.wasSilent(o.leased, c.begun, o.other.task.StopOnLostLease)
			if !lostData && !silent {
				w.fail("%s on %s ran beside %s on %s, whose lease began %s before",
					c.slot, c.server.name, o.other.slot, o.other.server.name,
					c.begun.Sub(o.leased).Round(time.Second))
			}
		}
	}
}

// wasSilent reports whether the processes of a server stood still or, unless that is no excuse, got
// no answer in a time.
func (s *server) wasSilent(from, to time.Time, frozenOnly bool) bool {
	frozen := slices.ContainsFunc(s.freezes, func(f span) bool { return f.from.Before(to) && f.to.After(from) })
	return frozen || !frozenOnly && slices.ContainsFunc(s.silences,
		func(at time.Time) bool { return at.After(from) && !at.After(to.Add(3*time.Second)) })
}
