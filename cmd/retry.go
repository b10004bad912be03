package cmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
	"sched/schedule/text"
	"sched/schedule/view"
)

// A retryCommand is `sched retry`.
type retryCommand struct{ *app }

func newRetryCommand(a *app) *cobra.Command {
	var o whenOptions
	c := &cobra.Command{
		Use:   "retry RUN...",
		Short: "Ask for runs again that went wrong, or did not take place",
		Long: `retry asks for one more run of the task of each run that is named, by its id or the last part of it
that sched history shows: like sched trigger, and the task runs as it is defined now. Runs that were
skipped or missed can be retried, too. With several runs it asks for all or, if one of them cannot
be retried, for none.`,
		Example: `  sched retry 5c2f9a1b3d4e
  sched retry 5c2f9a1b3d4e 77d0c8a2f1b3 --in 1h`,
		Args: arguments(1, unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return retryCommand{a}.retry(args, o) },
	}
	o.flags(c)
	return c
}

// retry requests another run for each of the runs, or for none where one cannot be retried.
func (a retryCommand) retry(names []string, o whenOptions) error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	at, err := a.requestTime(o, s.Location)
	if err != nil {
		return err
	}
	waiting, err := runfile.Requests(s.StateDir)
	if err != nil {
		a.problem("%v", err)
	}
	var requests []runfile.Request
	for _, name := range names {
		record, t, err := a.retriable(s, name)
		if err != nil {
			return err
		}
		origin := "retry of " + text.ShortRun(record.Run)
		if slices.ContainsFunc(append(waiting, requests...), func(r runfile.Request) bool { return strings.HasPrefix(r.Origin, origin) }) {
			a.problem("a retry of run %s of %s waits already", text.ShortRun(record.Run), t.Name)
			continue
		}
		if changed := changes(record.Snapshot, t); len(changed) > 0 {
			a.problem("%s has changed since run %s (%s); it will run as it is now", t.Name, text.ShortRun(record.Run), strings.Join(changed, ", "))
		}
		requests = append(requests, runfile.Request{Run: outcome.NewIDAt(at), Task: t.Name, At: at, Origin: origin + " by " + caller()})
	}
	return a.leaveRequests(s, requests, o, func(all []requestJSON) any { return all })
}

// retriable returns the record of a run that is over, and its task, which ticks would start.
func (a retryCommand) retriable(s *schedule.Schedule, name string) (outcome.Record, *schedule.Task, error) {
	record, err := a.endedRun(s, name)
	if err != nil {
		return record, nil, err
	}
	t, err := view.FindTask(s, record.Task)
	if err != nil {
		return record, nil, failed("", "run %s was of %s, which is no longer in the schedule", text.ShortRun(record.Run), record.Task)
	}
	return record, t, runnable(s, t)
}

// endedRun returns the record of the run with that id, or an error that says why there is none to retry.
func (a retryCommand) endedRun(s *schedule.Schedule, name string) (outcome.Record, error) {
	live, lost, records, err := a.view(s).History(ctx, history.Query{Task: name, Limit: 1})
	if err != nil {
		return outcome.Record{}, err
	}
	for _, state := range append(live, lost...) {
		if id, err := view.OneRun([]string{state.Begin.Run}, name); err != nil || id == "" {
			continue
		}
		switch short := text.ShortRun(state.Begin.Run); {
		case state.Deferred():
			return outcome.Record{}, failed("end it first with `sched stop "+short+"`", "run %s of %s waits for its attempt %d", short, state.Begin.Task, state.Deferral.Attempt)
		case slices.ContainsFunc(lost, func(l runfile.State) bool { return l.Begin.Run == state.Begin.Run }):
			return outcome.Record{}, failed("retry it then", "run %s of %s has vanished; the next tick will finish it", short, state.Begin.Task)
		default:
			return outcome.Record{}, failed("stop it first with `sched stop "+short+"`", "run %s of %s is still running", short, state.Begin.Task)
		}
	}
	if len(records) > 0 {
		return outcome.Record{}, failed(
			fmt.Sprintf("its newest run is %s; `sched trigger %s` asks for a new one", text.ShortRun(records[0].Run), name),
			"%s is a task: name one of its runs", name)
	}
	return a.view(s).FindRun(ctx, name)
}

// changes returns the keys of the task that differ from the snapshot, which is its definition when the run began.
func changes(snapshot json.RawMessage, now *schedule.Task) (keys []string) {
	var then schedule.Task // read and written again, so that keys which are new in this sched count for nothing
	if len(snapshot) == 0 || json.Unmarshal(snapshot, &then) != nil {
		return nil
	}
	was, is := fields(then), fields(*now)
	for _, key := range slices.Sorted(maps.Keys(was)) {
		if string(was[key]) != string(is[key]) {
			keys = append(keys, key)
		}
		delete(is, key)
	}
	return slices.Sorted(slices.Values(slices.AppendSeq(keys, maps.Keys(is))))
}

// fields are the keys of a task with their values.
func fields(t schedule.Task) (fields map[string]json.RawMessage) {
	text, err := json.Marshal(t)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return nil
	}
	return fields
}
