package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/process"
	"sched/schedule/state"
)

const (
	// attemptTimeout bounds one attempt. attemptsAtOnce bounds the attempts that a process makes at
	// the same time.
	attemptTimeout = 30 * time.Second
	attemptsAtOnce = 16

	// giveUpAfter is the time from the first attempt to the last one; the waits in between double
	// from firstWait to state.MaxWait.
	giveUpAfter = 24 * time.Hour
	firstWait   = time.Minute

	// Patience is how long a process waits at its end for the attempts that it has begun: a little
	// longer than one attempt may take, so that the attempt says that nobody answered.
	Patience = attemptTimeout + time.Second
	// stoppedPatience is how long the process waits once it was asked to stop.
	stoppedPatience = 5 * time.Second
)

// A Sender puts deliveries into the outbox, and makes attempts beside everything else that its
// process does. Set its fields before the first Put. Its methods may be called concurrently.
type Sender struct {
	// Undelivered reports a failed attempt to people, with the fate of the delivery in words. Nil:
	// a later tick reports it.
	Undelivered func(d *Delivery, err error, fate string)
	// Lost reports a failed delivery that the outbox does not have: no later tick finds it. It is
	// called only if Undelivered is nil.
	Lost func(d *Delivery, err error)
	// Task returns a task as the schedule has it now, or nil. Targets that were corrected since the
	// hook fired come from it. It may be nil.
	Task func(name string) *schedule.Task
	// Delivered is called after an attempt that succeeded; it may be nil.
	Delivered func(d *Delivery, target string)

	db  *state.DB // nil for none: then only Put and Send are called
	env []string  // the variables for ${VAR} in targets

	ctx        context.Context
	stop       context.CancelFunc
	attempting chan struct{} // holds one element for each attempt that goes on
	attempts   sync.WaitGroup

	mu    sync.Mutex
	owner *state.Owner // of the messages that this process sends; nil before the first message
}

// NewSender returns a Sender with its outbox in db. Its attempts end when ctx is done. The caller
// closes db; the Sender does not.
func NewSender(ctx context.Context, db *state.DB, env []string) *Sender {
	s := &Sender{db: db, env: env, attempting: make(chan struct{}, attemptsAtOnce)}
	s.ctx, s.stop = context.WithCancel(ctx)
	return s
}

// Put puts a delivery into the outbox, once: a process that begins again after a kill may call it
// again. Put reports whether this process is to send the delivery (Send). If not, at_most holds it
// back, or it is a ping and follows an older ping that is being sent. A delivery that cannot be put
// in, as on a full disk, is sent once, from memory.
func (s *Sender) Put(d *Delivery) (ours bool) {
	m, err := d.pack()
	if err == nil {
		ours, err = s.putInOutbox(&m)
		d.addHeldBack(&m)
	}
	d.stored, d.line = err == nil, lineOf(m)
	return ours || err != nil
}

// putInOutbox is Put for a packed delivery. After an error the outbox does not have it.
func (s *Sender) putInOutbox(m *state.Message) (ours bool, err error) {
	if s.db == nil {
		return false, errors.New("there is no outbox")
	}
	owner, err := s.ownerOfSent()
	if err != nil {
		return false, err
	}
	return s.db.Messages().Put(context.Background(), owner, m)
}

// ownerOfSent returns the owner of the messages that this process sends.
func (s *Sender) ownerOfSent() (owner *state.Owner, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner == nil {
		s.owner, err = s.db.Owners().New(state.Finish)
	}
	return s.owner, err
}

// Withdraw takes the delivery of a hook back, if it waits.
func (s *Sender) Withdraw(id string) {
	if s.db != nil {
		_ = s.db.Messages().Withdraw(context.Background(), id) // best effort
	}
}

// Send makes one attempt for each of the deliveries, and returns at once.
func (s *Sender) Send(deliveries ...*Delivery) {
	for _, d := range deliveries {
		s.start(func() { s.attemptInTurn(d) })
	}
}

// SendWaiting makes one attempt for everything in the outbox that is due, and returns at once.
func (s *Sender) SendWaiting() {
	s.start(func() {
		if d := s.take(state.DueQuery{}); d != nil {
			s.SendWaiting() // takes the next delivery, beside this one
			s.attemptInTurn(d)
		}
	})
}

// Release makes attempts for deliveries that at_most has held back and now allows.
func (s *Sender) Release() {
	if s.db.Messages().ReleaseHeld(context.Background(), clock.Now()) == nil {
		s.SendWaiting()
	}
}

// start calls do beside the caller, when fewer than attemptsAtOnce attempts go on.
func (s *Sender) start(do func()) {
	s.attempts.Go(func() {
		select {
		case s.attempting <- struct{}{}:
			if s.ctx.Err() == nil {
				do()
			}
			<-s.attempting
		case <-s.ctx.Done():
		}
	})
}

// Wait waits for the attempts that were begun. It ends them when patience has passed, or
// stoppedPatience after ctx is done. The Sender makes no attempt after Wait. Undelivered messages
// are left to ticks.
func (s *Sender) Wait(ctx context.Context, patience time.Duration) {
	timer := time.AfterFunc(patience, s.stop)
	defer timer.Stop()
	defer context.AfterFunc(ctx, func() { timer.Reset(min(patience, stoppedPatience)) })()
	s.attempts.Wait()
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner != nil {
		s.owner.Release()
		s.owner = nil
	}
}

// take returns a delivery of the outbox that is due. It returns nil if no delivery is due, and
// after an error: then a later tick tries again.
func (s *Sender) take(due state.DueQuery) *Delivery {
	ctx := context.Background()
	due.Now, due.Refused = clock.Now(), s.Undelivered != nil
	if hasDue, err := s.db.Messages().HasDue(ctx, due); !hasDue || err != nil || s.ctx.Err() != nil {
		return nil
	}
	owner, err := s.ownerOfSent()
	if err != nil {
		return nil
	}
	m, err := s.db.Messages().Take(ctx, owner, due)
	if m == nil || err != nil {
		return nil
	}
	d, err := unpack(m)
	if err != nil { // the delivery has only what a report needs
		d.addFailure(Target{}, &Error{Text: "it cannot be read", Permanent: true}, clock.Now().UTC())
	}
	return d
}

// attemptInTurn makes one attempt for a delivery that this process has. The messages of a task to
// one target keep their order, as long as the target accepts them:
//
//  1. It tries the older ones again that failed before, up to the first that fails again.
//  2. It makes the attempt for d, even if an older one has failed: one message holds no other up.
//  3. It makes an attempt for each newer one: all of them after a success, else those that are due.
//
// Of a ping the newer one replaces the older.
func (s *Sender) attemptInTurn(d *Delivery) {
	for works := d.stored; works; {
		older := s.take(state.DueQuery{Line: d.line, Older: true, Waiting: true})
		if older == nil {
			break
		}
		works = s.attempt(older)
	}
	for d != nil {
		works := s.attempt(d)
		if !d.stored {
			return
		}
		d = s.take(state.DueQuery{Line: d.line, Waiting: works})
	}
}

// attempt makes one attempt for a delivery, and notes what came of it. It reports whether the
// target may accept another one.
func (s *Sender) attempt(d *Delivery) (works bool) {
	if d.attempts.Refused {
		s.refuse(d)
		return true
	}
	target, err := s.target(d)
	if err == nil && schedule.Notification(target).Empty() {
		s.drop(d) // its variables are empty now: no target any more
		return true
	}
	if err == nil {
		err = s.deliver(d, target)
	}
	if err != nil {
		s.noteFailed(d, target, err)
		return false
	}
	s.noteDelivered(d, target)
	return true
}

func (s *Sender) deliver(d *Delivery, target Target) error {
	ctx, cancel := context.WithTimeout(s.ctx, attemptTimeout)
	defer cancel()
	m := d.Message
	m.Output = string(d.Output)
	m.Late = s.isLate(d)
	return Send(ctx, target, m)
}

// isLate reports whether the delivery tells of a failure, or of a task that is overdue, and the
// task has succeeded since.
func (s *Sender) isLate(d *Delivery) bool {
	m := d.Message
	if !d.stored || m.Test || !m.Outcome.Failure() && m.Event != Overdue {
		return false
	}
	late, err := s.db.Runs().SucceededSince(context.Background(), m.Task, m.At)
	return late && err == nil
}

// noteDelivered notes an attempt that succeeded.
func (s *Sender) noteDelivered(d *Delivery, target Target) {
	if s.Delivered != nil {
		s.Delivered(d, target.String())
	}
	if !d.stored {
		return
	}
	err := s.db.Messages().Delivered(context.Background(), s.owner, d.Message.ID, toldOf(target), clock.Now())
	if err != nil && !errors.Is(err, state.ErrGone) && s.Undelivered != nil {
		s.Undelivered(d, err, "it was sent, and will be sent again")
	}
}

// toldOf returns what the run says of where a message went; "" for spans, which tell no person.
func toldOf(target Target) string {
	if target.OTLP != "" {
		return ""
	}
	return target.String()
}

// target is the target of the next attempt, with its secrets expanded.
func (s *Sender) target(d *Delivery) (Target, error) {
	to, err := s.present(d).Expanded(schedule.Expansion{Getenv: process.Lookup(s.env), Folder: d.Folder})
	if err != nil {
		return Target{}, err
	}
	if remaining := d.attempts.Addresses; len(remaining) > 0 && slices.Max(remaining) < len(to.Mail) {
		addresses := to.Mail
		to.Mail = nil
		for _, i := range remaining {
			to.Mail = append(to.Mail, addresses[i])
		}
	}
	return Target(to), nil
}

// present returns where a delivery goes by the schedule of now. If its hook is gone or of another
// kind, it goes where it was to go when the hook fired. The addresses of a mail do not change.
func (s *Sender) present(d *Delivery) schedule.Notification {
	if s.Task == nil {
		return d.To
	}
	task := s.Task(d.Message.Task)
	if task == nil {
		return d.To
	}
	counts := map[string]int{}
	for key, hook := range task.Hooks.All() {
		counts[key]++
		if hook.Notify == nil || d.Hook != fmt.Sprintf("%s %d", key, counts[key]) {
			continue
		}
		now := *hook.Notify
		now.Mail = d.To.Mail
		isSameKind := (hook.Notify.Mail == nil) == (d.To.Mail == nil) && (now.Ping == "") == (d.To.Ping == "") &&
			(now.Webhook == "") == (d.To.Webhook == "") && (now.Sentry == "") == (d.To.Sentry == "") &&
			(now.Preset == nil) == (d.To.Preset == nil)
		if isSameKind {
			return now
		}
	}
	return d.To
}

// noteFailed notes an attempt that failed. It drops the delivery after a permanent error, after a
// day, and if it is a test. It drops nothing that it cannot report.
func (s *Sender) noteFailed(d *Delivery, target Target, err error) {
	if !d.stored {
		s.reportLost(d, err)
		return
	}
	d.addFailure(target, err, clock.Now().UTC())
	a := &d.attempts
	switch {
	case d.Message.Test && s.Undelivered != nil: // whoever tests is told, and tests again
		fate := "it is dropped"
		if !a.Refused {
			fate += ", because it was a test"
		}
		s.Undelivered(d, err, fate)
		s.drop(d)
	case a.Refused:
		s.refuse(d)
	case s.Undelivered == nil:
		s.putBack(d) // a later tick reports it
	case a.LastTry.Sub(a.FailingSince) >= giveUpAfter:
		s.Undelivered(d, err, fmt.Sprintf("it is dropped, after a day and %d attempts", a.Tries))
		s.giveUp(d)
	default:
		if !a.Reported {
			s.Undelivered(d, err, "it is tried again for a day")
			a.Reported = true
		}
		s.putBack(d)
	}
}

const noOutbox = "the outbox cannot be written either, so nobody will be told"

// reportLost reports a failed delivery that is not in the outbox: this was its only attempt.
func (s *Sender) reportLost(d *Delivery, err error) {
	if s.Undelivered != nil {
		s.Undelivered(d, err, noOutbox)
	} else if s.Lost != nil {
		s.Lost(d, fmt.Errorf("%w; %s", err, noOutbox))
	}
}

// addFailure adds a failed attempt to the attempts of a delivery.
func (d *Delivery) addFailure(target Target, err error, now time.Time) {
	a := &d.attempts
	a.Tries, a.LastTry, a.Error = a.Tries+1, now, err.Error()
	if a.FailingSince.IsZero() || a.FailingSince.After(now) {
		a.FailingSince = now
	}
	if sendError, ok := errors.AsType[*Error](err); ok {
		a.Refused = sendError.Permanent
		if sendError.Rest != nil {
			a.Addresses = remainingOf(a.Addresses, target.Mail, sendError.Rest)
		}
	}
}

// refuse drops a delivery that gets no other attempt, and reports it. If this process cannot
// report it, a tick does both.
func (s *Sender) refuse(d *Delivery) {
	if s.Undelivered == nil {
		s.putBack(d)
		return
	}
	s.Undelivered(d, errors.New(d.attempts.Error), "it is dropped")
	s.giveUp(d)
}

// putBack leaves a delivery to the next attempt. If that fails, the message becomes free when this
// process ends, and the next attempt comes sooner.
func (s *Sender) putBack(d *Delivery) {
	_ = s.db.Messages().Failed(context.Background(), s.owner, d.Message.ID, d.attempts, nextTime(d.attempts))
}

func (s *Sender) giveUp(d *Delivery) {
	if d.stored {
		to := toldOf(Target(d.To)) // else a later tick does
		_ = s.db.Messages().GiveUp(context.Background(), s.owner, d.Message.ID, to, d.attempts)
	}
}

func (s *Sender) drop(d *Delivery) {
	if d.stored {
		_ = s.db.Messages().Drop(context.Background(), s.owner, d.Message.ID) // else a later tick drops it
	}
}

// nextTime returns the time of the attempt after a failed one. The waits begin with a full minute,
// as ticks do.
func nextTime(a state.Attempts) time.Time {
	wait := state.MaxWait
	if a.Tries <= 6 {
		wait = min(wait, firstWait<<(a.Tries-1))
	}
	return a.LastTry.Truncate(time.Minute).Add(wait)
}

// remainingOf returns the indexes of the addresses that are in rest. If addresses are themselves
// the rest of an earlier attempt, before has their indexes in the whole list.
func remainingOf(before []int, addresses, rest []string) (indexes []int) {
	for i, address := range addresses {
		if slices.Contains(rest, address) {
			if len(before) == len(addresses) {
				i = before[i]
			}
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// A Delivery is a message on its way to one target. It has all that sending needs but the secrets.
type Delivery struct {
	Run     string // the run, or the slot, that has the hook
	Hook    string // as `after 2`
	Folder  string // of the schedule
	To      schedule.Notification
	Message Message // without the output
	Output  []byte

	stored   bool          // it is in the outbox, so a later attempt is possible
	line     state.Message // as it is in the outbox, without its body: for state.DueQuery
	attempts state.Attempts
}

// hookKey names the hook of the task. at_most counts the messages of a hook, and a newer ping
// replaces an older ping of the same hook.
func (d *Delivery) hookKey() string { return HookKey(d.Message.Task, d.Hook) }

// HookKey is what the outbox knows the hook of a task by (state.Message.HookKey).
func HookKey(task, hook string) string { return task + " " + hook }

// AddressOf returns where a message of the outbox goes, without secrets; "" for spans, which tell
// no person.
func AddressOf(m state.Message) (string, error) {
	var target targetColumn
	err := json.Unmarshal(m.Target, &target)
	return toldOf(Target(target.To)), err
}

// pack returns the delivery as a message of the outbox.
func (d *Delivery) pack() (m state.Message, err error) {
	m = state.Message{
		ID:       d.Message.ID,
		HookKey:  d.hookKey(),
		Task:     d.Message.Task,
		Run:      d.Run,
		Hook:     d.Hook,
		Created:  d.Message.At,
		To:       toldOf(Target(d.To)),
		Replaces: d.To.IsState(),
		Limit:    state.Limit{N: d.To.AtMost.N, Per: d.To.AtMost.Per},
	}
	if d.Message.Test {
		m.Limit = state.Limit{}
	}
	to := d.To
	to.When, to.AtMost = "", schedule.Limit{} // they were for the hook: messages with the same target are in one line
	if m.Target, err = json.Marshal(targetColumn{d.Folder, to, d.Message.Test}); err != nil {
		return m, err
	}
	m.Body, err = json.Marshal(bodyColumn{d.Message, d.Output, d.Message.Slot.Location().String()})
	return m, err
}

// lineOf returns a message of the outbox without what state.DueQuery does not need.
func lineOf(m state.Message) state.Message {
	m.Body = nil
	return m
}

// addHeldBack adds what at_most held back before the message, with times in the zone of the
// message.
func (d *Delivery) addHeldBack(m *state.Message) {
	d.Message.HeldBack, d.Message.HeldSince = m.HeldBack, m.HeldSince
	if m.HeldBack > 0 {
		d.Message.HeldSince = m.HeldSince.In(d.Message.At.Location())
	}
}

// unpack returns the delivery of a message of the outbox. After an error, the delivery has only
// what a report of it needs.
func unpack(m *state.Message) (*Delivery, error) {
	d := &Delivery{
		Run:      m.Run,
		Hook:     m.Hook,
		Message:  Message{ID: m.ID, Task: m.Task},
		stored:   true,
		line:     lineOf(*m),
		attempts: m.Attempts,
	}
	var target targetColumn
	if err := json.Unmarshal(m.Target, &target); err != nil {
		return d, err
	}
	var body bodyColumn
	if err := json.Unmarshal(m.Body, &body); err != nil {
		return d, err
	}
	d.Folder, d.To = target.Folder, target.To
	d.Message, d.Output = body.Message.inZone(body.Zone), body.Output
	d.addHeldBack(m)
	return d, nil
}
