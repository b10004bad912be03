package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/remote"
	"sched/schedule/run"
	"sched/schedule/runfile"
	"sched/schedule/statedir"
	"sched/schedule/text"
	"sched/schedule/view"
	"sched/schedule/view/runs"
)

// An Answerer carries out what other servers of the store ask of this one: for a tick that has found requests, or for `sched serve`.
// Several processes may do it at the same time, and each request is carried out by one of them, once.
//
// A request has a file in the state folder, asked/ID.json, which is locked while a process is at it. What the file says then is what
// became of the request, also after a kill. The run of a trigger is looked for besides: a kill may come between the request for the run,
// which has its id, and that file.
type Answerer struct {
	Actor Actor // By is ignored
	Runs  run.Caller

	going sync.WaitGroup
}

// keptFor is how long the file of a request is kept: longer than a request may stand.
const keptFor = time.Hour

// Answer carries out requests. See runner.Answers.
func (a *Answerer) Answer(asked []remote.Request, minute time.Time) (left bool) {
	store, err := a.Actor.Store()
	if err != nil {
		return false
	}
	a.sweep()
	for _, q := range asked {
		file, err := a.open(q)
		switch {
		case errors.Is(err, statedir.ErrLocked): // another process is at it
		case err != nil:
			a.Actor.Problem("what %s asks of this server waits: %v", q.Who(), err)
		case q.Kind == remote.Stop:
			a.going.Go(func() { a.answer(store, file, q, minute) })
		default:
			left = a.answer(store, file, q, minute) && q.Kind == remote.Trigger || left
		}
	}
	return left
}

// Wait waits for runs that are being stopped, until ctx is done.
func (a *Answerer) Wait(ctx context.Context) {
	over := make(chan struct{})
	go func() { a.going.Wait(); close(over) }()
	select {
	case <-over:
	case <-ctx.Done():
	}
}

func (a *Answerer) folder() string { return filepath.Join(a.Actor.Schedule.StateDir, "asked") }

// open locks the file of a request.
func (a *Answerer) open(q remote.Request) (*os.File, error) {
	if err := statedir.MakeDir(a.folder()); err != nil {
		return nil, err
	}
	return statedir.OpenLocked(filepath.Join(a.folder(), q.ID+".json"), os.O_RDWR|os.O_CREATE|os.O_APPEND)
}

// sweep removes the files of requests that are long over.
func (a *Answerer) sweep() {
	entries, _ := os.ReadDir(a.folder())
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > keptFor {
			os.Remove(filepath.Join(a.folder(), entry.Name()))
		}
	}
}

// answer takes a request, carries it out where that was not done already, and replies. It reports whether it was carried out.
func (a *Answerer) answer(store *mutex.Redis, file *os.File, q remote.Request, minute time.Time) bool {
	defer file.Close()
	answer, answered := answerIn(file)
	if !answered {
		taken, err := remote.Take(context.Background(), store, a.Actor.Server, q.ID)
		if err != nil || !taken {
			return false // it was taken back, or a later look finds it again
		}
		answer, err = a.carryOut(q, minute)
		if err != nil {
			a.Actor.Problem("what %s asks of this server waits: %v", q.Who(), err)
			return false
		}
		if answer.ID = q.ID; q.Kind == remote.Trigger {
			statedir.AppendLine(file, answer) // best effort: the run itself is there
		}
	}
	remote.Reply(context.Background(), store, a.Actor.Server, answer) // where that fails a later look does it again
	return answer.Done
}

// answerIn returns what the file of a request says became of it.
func answerIn(file *os.File) (answer remote.Answer, ok bool) {
	text, err := statedir.ReadAll(file)
	return answer, err == nil && json.Unmarshal(text, &answer) == nil && answer.ID != ""
}

// carryOut does what is asked for, and returns what became of it. The error says that nobody knows whether it was done before.
func (a *Answerer) carryOut(q remote.Request, minute time.Time) (remote.Answer, error) {
	actor := a.Actor
	actor.By = q.Who()
	if kinds := actor.Schedule.Remote; !slices.Contains(kinds, string(q.Kind)) {
		return refusal(view.Fail(view.Denied, "", "%s lets no other server ask for that: see `remote` in its schedule", actor.Server)), nil
	}
	switch q.Kind {
	case remote.Stop:
		return actor.stopFor(a.Runs, q), nil
	case remote.Logs:
		return actor.logFor(q), nil
	default:
		return actor.triggerFor(q, minute)
	}
}

// refusal is the answer that says why something was not done.
func refusal(err error) (answer remote.Answer) {
	answer.Text = err.Error()
	var wrong *view.Error
	if errors.As(err, &wrong) {
		answer.Hint = wrong.Hint
	}
	return answer
}

// ownRun returns the run of this machine that a request is about.
func (a Actor) ownRun(q remote.Request) (runs.Run, error) {
	one, err := runs.Of(a.Source).Run(context.Background(), q.Run)
	var wrong *view.Error
	switch {
	case errors.As(err, &wrong) && wrong.Kind == view.NotFound:
		return one, view.Fail(view.NotFound, "", "run %s of %s is not on %s any more", text.ShortRun(q.Run), q.Task, a.Server)
	case err == nil:
		err = runs.Of(a.Source).Elsewhere(one, "the process")
	}
	return one, err
}

// stopFor stops a run for somebody on another server. A run that was stopped before is well.
func (a Actor) stopFor(caller run.Caller, q remote.Request) remote.Answer {
	one, err := a.ownRun(q)
	if err != nil {
		return refusal(err)
	}
	ended := func(r outcome.Record, more string) remote.Answer {
		return remote.Answer{Done: true, Text: view.Describe(r) + more, Outcome: string(r.Outcome)}
	}
	switch one.State {
	case runs.Ended:
		if one.Begin.Outcome == outcome.Stopped {
			return ended(one.Begin, "")
		}
		return refusal(a.NotRunning(context.Background(), one.Record.Run))
	case runs.Waiting:
		request, _ := runs.Of(a.Source).OneRequest(one.Record.Run)
		return refusal(runs.Of(a.Source).NotBegun(request))
	}
	stopping, err := a.Stop(caller, one.Record.Run, q.Reason)
	if err := Cannot(one.Begin, stopping, err); err != nil {
		return refusal(err)
	}
	more := ""
	if stopping.Killed {
		more += "; it took KILL"
	}
	if !stopping.Over {
		more += "; its hooks still run"
	}
	return ended(stopping.Record, more)
}

// logFor returns the end of what a run printed, without what was there before the offset.
func (a Actor) logFor(q remote.Request) remote.Answer {
	one, err := a.ownRun(q)
	if err != nil {
		return refusal(err)
	}
	tail := int64(remote.MostLog)
	if q.Tail > 0 {
		tail = min(tail, q.Tail)
	}
	log, err := runs.Of(a.Source).Log(one, false, 0, tail, remote.MostLog)
	if err != nil {
		return refusal(err)
	}
	if known := min(q.Offset-log.Offset, int64(len(log.Text))); known > 0 {
		log.Text, log.Offset = log.Text[known:], log.Offset+known
	}
	hooks, err := runs.Of(a.Source).Log(one, true, 0, remote.MostHooks, remote.MostHooks)
	if err != nil {
		return refusal(err)
	}
	answer := remote.Answer{Done: true, Log: &remote.Log{Text: log.Text, Offset: log.Offset, Size: log.Size, Hooks: hooks.Text}}
	if one.State == runs.Ended {
		answer.Text, answer.Outcome = view.Describe(one.Begin), string(one.Begin.Outcome)
	}
	return answer
}

// mostAhead is how far ahead another server may ask for a run.
const mostAhead = 10 * 366 * 24 * time.Hour

// triggerFor leaves a request for one more run of a task, unless there is one already. The error says that nobody knows whether there is.
func (a Actor) triggerFor(q remote.Request, minute time.Time) (remote.Answer, error) {
	at := q.At.UTC().Truncate(time.Microsecond)
	if at.Sub(q.Asked) < time.Second { // it is wanted at once, whatever the clocks
		at = text.Earlier(at, a.Now().UTC())
		if !minute.IsZero() {
			at = text.Earlier(at, minute.UTC())
		}
	}
	request, err := a.Trigger(q.Task, at, q.Reason)
	if err == nil && (q.At.Sub(a.Now()) > mostAhead || a.Now().Sub(q.At) > mostAhead) {
		err = view.Fail(view.Invalid, "", "%s is not a time to run something", q.At.Format(time.RFC3339))
	}
	if err != nil {
		return refusal(err), nil
	}
	request.Run = q.Run
	known, err := a.knows(request.Run)
	if err != nil {
		return remote.Answer{}, err
	}
	tick := view.FirstTick(request.At, a.Now())
	if !known {
		if tick, err = a.Leave(request); err != nil {
			return refusal(err), nil
		}
	}
	if !minute.Before(request.At) {
		tick = minute
	}
	when := fmt.Sprintf("with its tick at %s", text.MinuteZone(tick, a.Schedule.Location))
	t, _ := view.FindTask(a.Schedule, request.Task)
	if pause := view.PauseOf(a.Pauses(), t, text.Later(request.At, a.Now())); pause != nil {
		when += " or when it is resumed: it is " + pause.Raw.Text(a.Now(), a.Schedule.Location)
	}
	return remote.Answer{Done: true, Tick: tick, Text: when}, nil
}

// knows reports whether a run with that id waits, lives or has ended here. The places are those that a run passes, in their order.
func (a Actor) knows(id string) (bool, error) {
	waiting, err := runfile.Requests(a.Schedule.StateDir)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(waiting, func(r runfile.Request) bool { return r.Run == id }) {
		return true, nil
	}
	for _, storage := range (run.Storage{Dir: a.Schedule.StateDir}).Folders() {
		if _, _, err := runfile.Read(storage.Dir, id); !errors.Is(err, os.ErrNotExist) {
			return err == nil, err
		}
	}
	db, err := history.OpenRead(a.Schedule.StateDir)
	if err != nil {
		return false, err
	}
	defer db.Close()
	_, err = db.Get(context.Background(), id)
	if errors.Is(err, history.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
