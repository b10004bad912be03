package actions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/remote"
	"sched/schedule/servers"
	"sched/schedule/text"
	"sched/schedule/view"
)

// An Asked is a request that was left for another server.
type Asked struct {
	remote.Request
	Server string    // which is to carry it out
	Tick   time.Time // its next tick, by our clock, as far as its last one tells
	Last   time.Time // its last tick
}

// Ask leaves a request for another server, which has to be one that ticks. Its id, and who asks on which server, are filled in here.
func (a Actor) Ask(ctx context.Context, server string, q remote.Request) (Asked, error) {
	store, err := a.Store()
	if err != nil {
		return Asked{}, err
	}
	asked, err := a.ticking(ctx, server)
	if err != nil {
		return Asked{}, err
	}
	q.ID, q.By, q.From, q.Reason, q.Asked = outcome.NewID(), a.By, a.Server, Reason(q.Reason), a.Now().UTC().Truncate(time.Millisecond)
	asked.Request = q
	err = remote.Ask(ctx, store, server, q)
	if errors.Is(err, remote.ErrFull) {
		err = view.Fail(view.Conflict, "it answers with its next tick", "%s has %d requests already", server, remote.Most)
	}
	return asked, err
}

// ticking returns when a server ticks; an error for one that has not ticked for ten minutes.
func (a Actor) ticking(ctx context.Context, server string) (Asked, error) {
	all, err := a.Servers(ctx)
	if err != nil {
		return Asked{}, err
	}
	var names []string
	for _, one := range all {
		if names = append(names, one.Name); one.Name == server {
			return a.ticks(one), nil
		}
	}
	hint := "see `sched servers`"
	if near := text.Nearest(server, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return Asked{}, view.Fail(view.NotFound, hint, "no server %s has ticked in the last 10 minutes", text.Line(server))
}

func (a Actor) ticks(one servers.Server) Asked {
	last := a.Now().Add(-one.Age)
	return Asked{Server: one.Name, Last: last, Tick: a.Now().Add(time.Minute - one.Age%time.Minute)}
}

// How often who asks looks for the answer: often at first, since a `sched serve` there answers within a second.
const (
	lookOften  = 100 * time.Millisecond
	lookSeldom = 500 * time.Millisecond
)

// Await waits for the answer. A request that its server has not taken after wait, or when ctx is done, is taken back; one that it has
// taken may take until remote.TakenFor is over. The error says what became of a request without an answer. Taken is called once the
// server is at it.
func (a Actor) Await(ctx context.Context, q Asked, wait time.Duration, taken func()) (remote.Answer, error) {
	store, err := a.Store()
	if err != nil {
		return remote.Answer{}, err
	}
	begun, told := time.Now(), false
	for pause := lookOften; ; pause = min(pause+lookOften/2, lookSeldom) {
		state, err := remote.Look(context.WithoutCancel(ctx), store, q.Server, q.ID)
		if state.Answer != nil {
			remote.Forget(context.WithoutCancel(ctx), store, q.ID) // its end comes anyway
			return *state.Answer, nil
		}
		if state.Taken && !told {
			told = true
			taken()
		}
		switch waited := time.Since(begun); {
		case ctx.Err() != nil, !told && waited >= wait:
			return a.giveUp(q, ctx.Err() != nil, err)
		case told && waited >= wait+remote.TakenFor, err == nil && !state.Standing && waited >= remote.Stands:
			return remote.Answer{}, view.Fail(view.Conflict, "ask again", "%s has not answered, and its time is over", q.Server)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// giveUp takes a request back, and says so.
func (a Actor) giveUp(q Asked, cancelled bool, down error) (remote.Answer, error) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	store, err := a.Store()
	if err != nil {
		return remote.Answer{}, err
	}
	withdrawal, err := remote.Withdraw(ctx, store, q.Server, q.ID)
	if err == nil {
		err = down
	}
	silent := ""
	if !cancelled {
		silent = fmt.Sprintf("%s has not answered; its last tick was %s ago: ", q.Server, text.Duration(a.Now().Sub(q.Last)))
	}
	switch {
	case err != nil:
		return remote.Answer{}, fmt.Errorf("%s may carry it out all the same: %w", q.Server, err)
	case withdrawal == remote.TooLate:
		return remote.Answer{}, view.Fail(view.Conflict, "`sched history --all` shows what becomes of it", "%s is at it already, and goes on", q.Server)
	case withdrawal == remote.Over:
		return remote.Answer{}, view.Fail(view.Conflict, "`sched history --all` shows what became of it", "%swhat was asked of %s does not stand any more", silent, q.Server)
	}
	return remote.Answer{}, view.Fail(view.Conflict, "", "%swhat was asked of %s is taken back", silent, q.Server)
}

// Refused returns why a server did not do what it was asked for; nil where it did.
func (q Asked) Refused(answer remote.Answer) error {
	if answer.Done {
		return nil
	}
	return view.Fail(view.Conflict, answer.Hint, "%s: %s", q.Server, answer.Text)
}

// TriggerThere is the request for one more run of a task on another server.
func (a Actor) TriggerThere(task string, at time.Time, reason string) remote.Request {
	return remote.Request{Kind: remote.Trigger, Run: outcome.NewIDAt(at), Task: task, At: at, Reason: reason}
}
