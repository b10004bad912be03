package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/notify"
	"sched/schedule/process"
)

const (
	// attemptTimeout bounds one attempt, and attemptsAtOnce how many of a process are made at a time.
	attemptTimeout = 30 * time.Second
	attemptsAtOnce = 16

	// giveUpAfter is the time from the first attempt to the last one; the waits in between double from firstWait to longestWait.
	giveUpAfter = 24 * time.Hour
	firstWait   = time.Minute
	longestWait = time.Hour

	// Patience is how long a process waits at its end for the attempts that it has begun: as long as one may take.
	Patience = attemptTimeout
	// stoppedPatience is how long it waits once it was asked to stop.
	stoppedPatience = 5 * time.Second
)

// A Sender makes attempts beside everything else that a process does. A nil Sender makes none: what is in the outbox is
// left to the next tick. Its fields are set before the first Deliver; its methods may be called concurrently.
type Sender struct {
	env []string // the environment in which ${VAR} of the targets is expanded

	// Undelivered reports an attempt that failed to people, with what becomes of the delivery. It returns whether that
	// was possible; where Undelivered is nil, a later tick reports it.
	Undelivered func(d *Delivery, err error, what string) bool
	// Delivered is called after an attempt that succeeded; it may be nil.
	Delivered func(d *Delivery, target string)

	ctx      context.Context
	stop     context.CancelFunc
	slots    chan struct{}
	attempts sync.WaitGroup
}

// NewSender returns a Sender whose attempts end when ctx is done. Targets are expanded with the variables of env.
func NewSender(ctx context.Context, env []string) *Sender {
	s := &Sender{env: env, slots: make(chan struct{}, attemptsAtOnce)}
	s.ctx, s.stop = context.WithCancel(ctx)
	return s
}

// Deliver makes one attempt for each of the deliveries of the outbox, and returns at once.
func (s *Sender) Deliver(box Outbox, names ...string) {
	if s == nil {
		return
	}
	for _, name := range names {
		s.beside(func() { s.attempt(box, name) })
	}
}

// DeliverUnkept is Deliver for what no outbox took: there will be no second attempt.
func (s *Sender) DeliverUnkept(deliveries ...*Delivery) {
	if s == nil {
		return
	}
	for _, d := range deliveries {
		s.beside(func() { s.try(Outbox{}, d) })
	}
}

func (s *Sender) beside(do func()) {
	s.attempts.Go(func() {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
			if s.ctx.Err() == nil {
				do()
			}
		case <-s.ctx.Done():
		}
	})
}

// Wait waits for the attempts that were begun, and ends them when patience has passed, or stoppedPatience after ctx is
// done. The Sender makes no attempt after it.
func (s *Sender) Wait(ctx context.Context, patience time.Duration) {
	timer := time.AfterFunc(patience, s.stop)
	defer timer.Stop()
	defer context.AfterFunc(ctx, func() { timer.Reset(min(patience, stoppedPatience)) })()
	s.attempts.Wait()
	s.stop()
}

// attempt makes one attempt for a delivery of the outbox, if it is time for one.
func (s *Sender) attempt(box Outbox, name string) {
	d, err := box.open(name)
	if err != nil {
		return // it was delivered, or another process makes an attempt
	}
	defer d.close()
	if d.last.Permanent && s.Undelivered == nil || !d.last.Permanent && d.last.waits(clock.Now()) {
		return
	}
	if err := d.read(); err != nil {
		d.Message.Task, d.Hook = "a notification", name
		if s.Undelivered != nil && s.Undelivered(d, err, "it is dropped") {
			d.remove()
		}
		return
	}
	if d.last.Permanent {
		if s.Undelivered(d, errors.New(d.last.Why), "it is dropped") {
			d.remove()
		}
		return
	}
	s.try(box, d)
}

// waits reports whether it is too early for another attempt. The waits begin with a full minute, as ticks do. A failure
// that would have to wait for longer than longestWait was written with a wrong clock, and waits no more.
func (f failure) waits(now time.Time) bool {
	if f.Tries == 0 {
		return false
	}
	wait := longestWait
	if f.Tries <= 6 {
		wait = min(wait, firstWait<<(f.Tries-1))
	}
	rest := f.At.Truncate(time.Minute).Add(wait).Sub(now)
	return 0 < rest && rest <= longestWait
}

// try makes one attempt for a delivery that is open, or that no outbox took.
func (s *Sender) try(box Outbox, d *Delivery) {
	ctx, cancel := context.WithTimeout(s.ctx, attemptTimeout)
	defer cancel()
	if d.file != nil && d.To.Ping != "" {
		deadline, _ := ctx.Deadline()
		if box.replacedByNewer(d.Message.ID, deadline) {
			d.remove()
			return
		}
	}
	target, err := s.target(d)
	if err == nil && target == (notify.Target{}) {
		d.remove() // its variables are empty now: no target any more
		return
	}
	if err == nil {
		m := d.Message
		m.Output = string(d.Output)
		err = target.Send(ctx, m)
	}
	if err != nil {
		s.failed(d, target, err)
		return
	}
	if err := d.remove(); err != nil && s.Undelivered != nil {
		s.Undelivered(d, err, "it was sent, and will be sent again")
	}
	if s.Delivered != nil {
		s.Delivered(d, target.String())
	}
}

// target is where the next attempt goes to, with its secrets expanded.
func (s *Sender) target(d *Delivery) (notify.Target, error) {
	to, err := d.To.Expanded(schedule.Expansion{Getenv: process.Lookup(s.env), Folder: d.Folder})
	if err != nil {
		return notify.Target{}, err
	}
	if left := d.last.Left; len(left) > 0 && slices.Max(left) < len(to.Mail) {
		all := to.Mail
		to.Mail = nil
		for _, i := range left {
			to.Mail = append(to.Mail, all[i])
		}
	}
	return Target(to), nil
}

// Target returns the target of an expanded notification; the zero Target for one whose variables are empty.
func Target(n schedule.Notification) (t notify.Target) {
	switch {
	case n.Ping != "":
		t.Ping = &notify.Ping{URL: n.Ping, Protocol: n.On != nil}
	case n.Webhook != "":
		t.Webhook = &notify.Webhook{URL: n.Webhook, Format: notify.Format(n.Format)}
	case len(n.Mail) > 0:
		t.Mail = &notify.Mail{To: n.Mail, From: n.MailFrom, URL: n.MailURL}
	}
	return t
}

// failed notes an attempt that failed, or drops the delivery: after a permanent error, and after a day. It drops nothing
// that Undelivered could not report.
func (s *Sender) failed(d *Delivery, target notify.Target, err error) {
	now := clock.Now().UTC()
	f := failure{Tries: d.last.Tries + 1, Since: d.last.Since, At: now, Task: d.Message.Task, Why: err.Error(), Reported: d.last.Reported, Left: d.last.Left}
	if f.Since.IsZero() || f.Since.After(now) {
		f.Since = now
	}
	if wrong, ok := errors.AsType[*notify.Error](err); ok {
		f.Permanent = wrong.Permanent
		if wrong.Rest != nil && wrong.Rest.Mail != nil {
			f.Left = left(f.Left, target.Mail.To, wrong.Rest.Mail.To)
		}
	}
	what := ""
	switch {
	case d.file == nil:
		what = "the outbox cannot be written either, so nobody will be told"
	case f.Permanent:
		what = "it is dropped"
	case now.Sub(f.Since) >= giveUpAfter:
		what = fmt.Sprintf("it is dropped, after a day and %d attempts", f.Tries)
	}
	switch {
	case what != "" && s.Undelivered != nil && s.Undelivered(d, err, what):
		d.remove()
		return
	case d.file == nil:
		return
	case what == "" && !f.Reported && s.Undelivered != nil:
		f.Reported = s.Undelivered(d, err, "it is tried again for a day")
	}
	d.fail(f)
}

// left returns the indexes of those addresses that are in rest. Where addresses are only what an earlier attempt left of
// all, before has their indexes in all.
func left(before []int, addresses, rest []string) (left []int) {
	for i, address := range addresses {
		if slices.Contains(rest, address) {
			if len(before) == len(addresses) {
				i = before[i]
			}
			left = append(left, i)
		}
	}
	return left
}
