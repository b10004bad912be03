package api

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule/actions"
	"sched/schedule/remote"
	"sched/schedule/text"
	"sched/schedule/view"
	"sched/schedule/view/runs"
)

// An AskedOutput is the end of the output of a run of another server, which was asked for.
type AskedOutput struct {
	Run    string `json:"run"`
	Server string `json:"server"`
	Tick   string `json:"tick"`  // the next tick of that server, which answers
	There  bool   `json:"there"` // it has come, and GET shows it
}

// outputs are those that were asked for, the newest last. They are kept in memory: an output is a look, and nothing that is to outlive
// the server. Safe for concurrent use.
type outputs struct {
	mu  sync.Mutex
	all []output
}

type output struct {
	asked  actions.Asked
	answer *remote.Answer // nil until it has come
	at     time.Time      // when it was asked for
}

const (
	mostOutputs = 32               // at a time
	outputFor   = 10 * time.Minute // after it was asked for
)

// of returns the output of a run that was asked for last, with the answer where that has come.
func (o *outputs) of(ctx context.Context, store *mutex.Redis, run string) (found output, ok bool) {
	o.mu.Lock()
	o.all = slices.DeleteFunc(o.all, func(one output) bool { return time.Since(one.at) > outputFor })
	i := slices.IndexFunc(o.all, func(one output) bool { return one.asked.Run == run })
	if i >= 0 {
		found = o.all[i]
	}
	o.mu.Unlock()
	if i < 0 || found.answer != nil || store == nil {
		return found, i >= 0
	}
	if state, err := remote.Look(ctx, store, found.asked.Server, found.asked.ID); err == nil && state.Answer != nil {
		found.answer = state.Answer
		o.set(found)
		remote.Forget(ctx, store, found.asked.ID) // its end comes anyway
	}
	return found, true
}

// set keeps an output in the place of an older one of its run.
func (o *outputs) set(one output) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = slices.DeleteFunc(o.all, func(other output) bool { return other.asked.Run == one.asked.Run })
	o.all = append(o.all, one)
	o.all = o.all[max(0, len(o.all)-mostOutputs):]
}

// OutputElsewhere returns the end of the output of a run of another server, if it was asked for and has come. The error says that it was
// not asked for, or when it comes, or why it does not.
func (s *Server) OutputElsewhere(ctx context.Context, source view.Source, run runs.Run) (remote.Log, error) {
	found, asked := s.outputs.of(ctx, source.Controls.Store, run.Record.Run)
	since := time.Since(found.at)
	switch {
	case !asked:
		return remote.Log{}, view.Fail(view.Conflict, "POST "+prefix+"/runs/"+run.Record.Run+"/log asks "+run.Server+" for the end of it", "%s", runs.Of(source).Elsewhere(run, "the output"))
	case found.answer == nil && since > remote.Stands:
		return remote.Log{}, view.Fail(view.Conflict, "ask again", "%s was asked for it %s ago, and has not answered", run.Server, text.Duration(since))
	case found.answer == nil:
		return remote.Log{}, view.Fail(view.Conflict, "ask later", "%s was asked for it %s ago; its next tick answers", run.Server, text.Duration(since))
	}
	if err := found.asked.Refused(*found.answer); err != nil {
		return remote.Log{}, err
	}
	if found.answer.Log == nil {
		return remote.Log{}, view.Fail(view.Conflict, "", "%s has sent no output", run.Server)
	}
	return *found.answer.Log, nil
}

// postLog asks the server of a run for the end of what that has printed, and waits a moment.
func postLog(r *request) (any, error) {
	one, err := r.run()
	if err != nil {
		return nil, err
	}
	if runs.Of(r.view).Elsewhere(one, "the output") == nil {
		return nil, view.Fail(view.Conflict, "GET shows it", "the output of run %s is on this server", one.Record.Run)
	}
	found, known := r.server.outputs.of(r.Context(), r.view.Controls.Store, one.Record.Run)
	if !known || found.answer != nil || time.Since(found.at) > remote.Stands { // else it is on its way
		actor := r.actor()
		err = r.change("read", one.Record.Run, "", func() (err error) {
			found.asked, err = actor.Ask(r.Context(), one.Server, remote.Request{Kind: remote.Logs, Run: one.Record.Run, Task: one.Task})
			return err
		})
		if err != nil {
			return nil, err
		}
		found.at = time.Now()
		if found.answer, err = r.answerWithin(actor, found.asked, elsewherePatience); err != nil {
			return nil, err
		}
		r.server.outputs.set(found)
	}
	status := http.StatusAccepted
	if found.answer != nil {
		status = http.StatusOK
	}
	tick := found.asked.Tick.UTC().Format(time.RFC3339)
	return content{status: status, value: AskedOutput{one.Record.Run, one.Server, tick, found.answer != nil}}, nil
}

// logElsewhere is the part of the output of another server's run that was asked for: as much of it as has come.
func (r *request) logElsewhere(one runs.Run, hooks bool, offset, tail int64) (runs.Log, error) {
	log, err := r.server.OutputElsewhere(r.Context(), r.view, one)
	if err != nil {
		return runs.Log{}, err
	}
	found := runs.Log{Text: log.Text, Offset: log.Offset, Size: log.Size}
	if hooks {
		found = runs.Log{Text: log.Hooks, Size: int64(len(log.Hooks))}
	}
	skip := max(0, offset-found.Offset)
	if tail > 0 {
		skip = max(0, int64(len(found.Text))-tail)
	}
	skip = min(skip, int64(len(found.Text)))
	found.Text, found.Offset = found.Text[skip:], found.Offset+skip
	return found, nil
}
