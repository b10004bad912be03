package api

import (
	"context"
	"net/http"
	"time"

	"sched/schedule"
	"sched/schedule/actions"
	"sched/schedule/remote"
	"sched/schedule/text"
	"sched/schedule/view"
	"sched/schedule/view/runs"
)

// This file is about other servers of the store: what they ask of this one, and what is asked of them here.

const (
	// lookEvery is how often a server looks for what others ask of it: a command to Redis each time.
	lookEvery = time.Second
	// lookAgain is how long it leaves a store alone that did not answer.
	lookAgain = 10 * time.Second
	// elsewherePatience is how long an answer of this one waits for that of another server, where a `sched serve` may be.
	elsewherePatience = 2 * time.Second
)

// AnswerOthers answers what other servers of the store ask of this one, as its ticks would within a minute, until ctx is done.
func (s *Server) AnswerOthers(ctx context.Context) {
	for pause := lookEvery; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = lookEvery
		if err := s.answerOthers(ctx); err != nil {
			pause = lookAgain
		}
	}
}

func (s *Server) answerOthers(ctx context.Context) error {
	known := s.current.lately()
	if known == nil || len(known.Store.Servers) == 0 {
		return nil
	}
	actor := s.Schedules.Actor(known, "")
	store, err := actor.Store()
	if err != nil {
		return err
	}
	asked, err := remote.Requests(ctx, store, actor.Server)
	if err != nil || len(asked) == 0 {
		return err
	}
	now, _, err := s.current.get() // as it is now: it may forbid what is asked for
	if err != nil {
		return err
	}
	answerer := actions.Answerer{Actor: s.Schedules.Actor(now, ""), Runs: s.Schedules.Runs(now)}
	answerer.Answer(asked, time.Time{})
	return nil
}

// readLately is how old a schedule may be that is only to say where the store is.
const readLately = time.Minute

// lately returns a schedule that was valid in the last minute; nil where there is none.
func (c *current) lately() *schedule.Schedule {
	c.mu.Lock()
	known, read := c.schedule, c.read
	c.mu.Unlock()
	if time.Since(read) > readLately {
		known, _, _ = c.get()
	}
	return known
}

// stopElsewhere asks the server of a run to stop it, unless it was asked already, and waits a moment for the answer. The run is as it is
// known then: 202 says that it goes on, and that its server will answer.
func (r *request) stopElsewhere(one runs.Run, reason string) (any, error) {
	if one.State == runs.Ended {
		return nil, view.Fail(view.Conflict, "", "run %s of %s is not running: it %s", text.ShortRun(one.Record.Run), one.Task, view.Describe(one.Begin))
	}
	status := http.StatusAccepted
	if one.StopBy == "" {
		var asked actions.Asked
		actor := r.actor()
		err := r.change("stop", one.Record.Run, reason, func() (err error) {
			asked, err = actor.Ask(r.Context(), one.Server, remote.Request{Kind: remote.Stop, Run: one.Record.Run, Task: one.Task, Reason: reason})
			return err
		})
		if err != nil {
			return nil, err
		}
		answer, err := r.answerWithin(actor, asked, elsewherePatience)
		if err != nil {
			return nil, err
		}
		if answer != nil {
			if err := asked.Refused(*answer); err != nil {
				return nil, err
			}
			status = http.StatusOK
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), longestAnswer)
	defer cancel()
	now, err := runs.Of(r.view).Run(ctx, one.Record.Run)
	return content{status: status, value: now}, err
}

// answerWithin waits for the answer of another server; nil where there is none yet. The request stands all the same.
func (r *request) answerWithin(actor actions.Actor, asked actions.Asked, patience time.Duration) (*remote.Answer, error) {
	store, err := actor.Store()
	if err != nil {
		return nil, err
	}
	const pause = 200 * time.Millisecond
	for begun := time.Now(); time.Since(begun) < patience && r.Context().Err() == nil; time.Sleep(pause) {
		state, err := remote.Look(r.Context(), store, asked.Server, asked.ID)
		if err == nil && state.Answer != nil {
			return state.Answer, nil
		}
	}
	return nil, nil
}
