package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/notify"

	"sched/schedule/clock"

	"sched/schedule/process"
)

const (
	// attemptTimeout bounds one attempt to deliver a letter, and lettersAtOnce how many are made at a time.
	attemptTimeout = 30 * time.Second
	attemptsAtOnce = 16

	// giveUpAfter is how long a letter is tried; the waits in between double from firstWait to longestWait.
	giveUpAfter = 24 * time.Hour
	firstWait   = time.Minute
	longestWait = time.Hour

	// A process waits at its end for the attempts that it has begun, but no longer than one may take; and hardly at all
	// once it was asked to stop.
	Patience        = attemptTimeout
	stoppedPatience = 5 * time.Second
)

// A Sender delivers letters beside everything else that a process does. A nil one delivers nothing: what is in
// the outbox is left to the next tick.
type Sender struct {
	env []string // what the secrets are taken from

	// tell is told of a letter that was not delivered, and what becomes of it. It reports whether people know now.
	// Where it is nil nobody does, and a later tick tells them.
	Undelivered func(l *Delivery, err error, what string) bool
	// delivered is told of one that was; it may be nil.
	Delivered func(l *Delivery, target string)

	ctx      context.Context
	stop     context.CancelFunc
	slots    chan struct{}
	attempts sync.WaitGroup
}

// NewSender returns one that gives up when ctx is done.
func NewSender(ctx context.Context, env []string) *Sender {
	p := &Sender{env: env, slots: make(chan struct{}, attemptsAtOnce)}
	p.ctx, p.stop = context.WithCancel(ctx)
	return p
}

// Deliver makes one attempt for each of the letters, and returns at once.
func (p *Sender) Deliver(box Outbox, names ...string) {
	if p == nil {
		return
	}
	for _, name := range names {
		p.beside(func() { p.attempt(box, name) })
	}
}

// DeliverUnkept is deliver for letters that no outbox took.
func (p *Sender) DeliverUnkept(letters ...*Delivery) {
	if p == nil {
		return
	}
	for _, l := range letters {
		p.beside(func() { p.try(Outbox{}, l) })
	}
}

func (p *Sender) beside(do func()) {
	p.attempts.Go(func() {
		select {
		case p.slots <- struct{}{}:
			defer func() { <-p.slots }()
			if p.ctx.Err() == nil {
				do()
			}
		case <-p.ctx.Done():
		}
	})
}

// Wait waits for the attempts, and gives them up when its patience is at an end: when ctx is done that is soon.
func (p *Sender) Wait(ctx context.Context, patience time.Duration) {
	timer := time.AfterFunc(patience, p.stop)
	defer timer.Stop()
	defer context.AfterFunc(ctx, func() { timer.Reset(min(patience, stoppedPatience)) })()
	p.attempts.Wait()
	p.stop()
}

// attempt makes one attempt for a letter in the outbox, if it is time for one.
func (p *Sender) attempt(box Outbox, name string) {
	l, err := box.open(name)
	if err != nil {
		return // it was delivered, or somebody else is at it
	}
	defer l.close()
	if l.last.Permanent && p.Undelivered == nil || !l.last.Permanent && l.last.waits(clock.Now()) {
		return
	}
	if err := l.read(); err != nil {
		l.Message.Task, l.Hook = "a notification", name
		if p.Undelivered != nil && p.Undelivered(l, err, "it is dropped") {
			l.remove()
		}
		return
	}
	if l.last.Permanent {
		if p.Undelivered(l, errors.New(l.last.Why), "it is dropped") {
			l.remove()
		}
		return
	}
	p.try(box, l)
}

// waits reports whether it is too early for another attempt. The waits begin with a full minute, as ticks do. One that
// would be longer than any was written with a wrong clock.
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

// try makes one attempt.
func (p *Sender) try(box Outbox, l *Delivery) {
	ctx, cancel := context.WithTimeout(p.ctx, attemptTimeout)
	defer cancel()
	if l.file != nil && l.To.Ping != "" {
		deadline, _ := ctx.Deadline()
		if box.replacedByNewer(l.Message.ID, deadline) {
			l.remove()
			return
		}
	}
	target, err := p.target(l)
	if err == nil && target == (notify.Target{}) {
		l.remove() // there is nobody to tell any more
		return
	}
	if err == nil {
		m := l.Message
		m.Output = string(l.Output)
		err = target.Send(ctx, m)
	}
	if err != nil {
		p.failed(l, target, err)
		return
	}
	if err := l.remove(); err != nil && p.Undelivered != nil {
		p.Undelivered(l, err, "it was sent, and will be sent again")
	}
	if p.Delivered != nil {
		p.Delivered(l, target.String())
	}
}

// target puts the secrets in.
func (p *Sender) target(l *Delivery) (notify.Target, error) {
	to, err := l.To.Expanded(schedule.Expansion{Getenv: process.Lookup(p.env), Folder: l.Folder})
	if err != nil {
		return notify.Target{}, err
	}
	if left := l.last.Left; len(left) > 0 && slices.Max(left) < len(to.Mail) {
		all := to.Mail
		to.Mail = nil
		for _, i := range left {
			to.Mail = append(to.Mail, all[i])
		}
	}
	return Target(to), nil
}

// Target returns whom an expanded notification is sent to; the zero target for nobody.
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

// failed notes an attempt that failed, or drops the letter.
func (p *Sender) failed(l *Delivery, target notify.Target, err error) {
	now := clock.Now().UTC()
	f := failure{Tries: l.last.Tries + 1, Since: l.last.Since, At: now, Task: l.Message.Task, Why: err.Error(), Told: l.last.Told, Left: l.last.Left}
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
	case l.file == nil:
		what = "the outbox cannot be written either, so nobody will be told"
	case f.Permanent:
		what = "it is dropped"
	case now.Sub(f.Since) >= giveUpAfter:
		what = fmt.Sprintf("it is dropped, after a day and %d attempts", f.Tries)
	}
	switch {
	case what != "" && p.Undelivered != nil && p.Undelivered(l, err, what):
		l.remove()
		return
	case l.file == nil:
		return
	case what == "" && !f.Told && p.Undelivered != nil:
		f.Told = p.Undelivered(l, err, "it is tried again for a day")
	}
	l.fail(f)
}

// left returns which of the addresses are in rest. An earlier attempt may have left only some of all: then
// before says which of all the addresses are.
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
