package runner

import (
	"context"
	"sync"
	"time"

	"sched/schedule/remote"
	"sched/schedule/servers"
)

// Answers carries out what other servers ask of this one.
type Answers interface {
	// Answer carries out requests. It returns when runs that were asked for wait for ticks, and reports whether there are any; what
	// takes longer goes on. The tick of that minute looks for such runs once more when it has returned; zero: no tick does.
	Answer(asked []remote.Request, minute time.Time) (left bool)
	// Wait waits for what goes on, until ctx is done: what was left then is for the next tick.
	Wait(ctx context.Context)
}

// answering is how a tick passes on what its announcements find to Answers. Of what the first one finds it begins runs itself.
type answering struct {
	answers Answers
	inbox   *remote.Inbox // nil where nobody may ask
	minute  time.Time     // of the tick; zero where it does not begin whatever is asked for

	once  *sync.Once
	first chan struct{} // closed when what the first announcement found is answered, or it failed
	begin *bool         // runs were left by then
}

func newAnswering(t *Tick) answering {
	a := answering{answers: t.Answers, once: &sync.Once{}, first: make(chan struct{}), begin: new(bool)}
	if t.Storage.Store != nil && t.Answers != nil {
		a.inbox = remote.NewInbox(t.Storage.Store, t.Host.Server)
	}
	if t.Only == "" && !t.Replay {
		a.minute = t.Minute
	}
	return a
}

// also is what announcements read besides.
func (a answering) also() []servers.Also {
	if a.inbox == nil {
		return nil
	}
	return []servers.Also{a.inbox.Also}
}

// answer passes on what was found.
func (a answering) answer() {
	if a.inbox == nil {
		return
	}
	first, minute := false, time.Time{}
	a.once.Do(func() { first, minute = true, a.minute })
	asked := a.inbox.Requests()
	left := len(asked) > 0 && a.answers.Answer(asked, minute)
	if first {
		*a.begin = left
		close(a.first)
	}
}

// close lets nobody wait for a first announcement that never came.
func (a answering) close() { a.once.Do(func() { close(a.first) }) }

// left waits for the first announcement, and reports whether other servers have left runs for the ticks. It does not wait once ctx is done.
func (a answering) left(ctx context.Context) bool {
	if a.inbox == nil {
		return false
	}
	select {
	case <-a.first:
		return *a.begin && ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

func (a answering) wait(ctx context.Context) {
	if a.inbox != nil {
		a.answers.Wait(ctx)
	}
}
