package overdue

import (
	"context"
	"errors"
	"os"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
)

// Tell fires the on_overdue hooks of an incident, and returns notes about hooks that failed. Each
// hook is started once, whatever is killed; notifications are put into the outbox once. If a
// one_server task had no success, one server tells. If it is not known for now which server, a
// later tick asks again.
func (w *Watch) Tell(c run.Caller, t *schedule.Task, i Incident) (notes []string, err error) {
	if t.OneServer && i.Kind == Every && c.Store != nil {
		err := claim(c.Storage, i)
		var held *mutex.HeldError
		if errors.As(err, &held) {
			return nil, w.Told(i)
		}
		if err != nil {
			return nil, err
		}
	}
	ours, err := w.takeOn(c, i)
	if err != nil || !ours {
		return nil, err
	}
	notes = c.Overdue(i.Record(), t)
	if err = w.Told(i); err == nil {
		err = c.DB.ForgetHooks(context.Background(), i.ID)
	}
	return notes, err
}

// takeOn makes this process the teller of an incident. It returns false when another process tells,
// or has told.
func (w *Watch) takeOn(c run.Caller, i Incident) (ours bool, err error) {
	own, err := c.Self.Owned(context.Background())
	if err != nil {
		return false, err
	}
	err = w.change(func(s *memory, _ time.Time) (changed bool) {
		known := s.incident(i.Task, i.ID)
		ours = known != nil && !known.Told && (known.Teller == 0 || known.Teller == own.ID || !w.DB.Owners().Alive(known.Teller))
		if ours {
			known.Teller = own.ID
		}
		return ours
	})
	return ours && err == nil, err
}

// claim claims an incident, for all servers. Its key is made of the last success, because every
// server knows the same last success.
func claim(storage run.Storage, i Incident) error {
	key, until := i.Task+"@overdue-"+i.Since.UTC().Format("20060102T150405Z"), i.Since.Add(i.Expected+schedule.LookBack)
	if i.Never {
		key, until = i.Task+"@overdue-never", i.Found.Add(schedule.LookBack)
	}
	return storage.Mutexes().Claim(context.Background(), key, until, mutex.Holder{Run: i.ID, PID: os.Getpid(), Host: i.Server, Since: i.Found})
}

// Elsewhere returns a function for Watch.Elsewhere that asks the store.
func Elsewhere(store mutex.Store, self string) func(*schedule.Task, time.Time) (time.Time, error) {
	return func(t *schedule.Task, since time.Time) (newest time.Time, err error) {
		ctx := context.Background()
		succeeded := state.Query{Task: t.Name, Outcomes: []outcome.Outcome{outcome.Succeeded}, Since: since.Add(-schedule.LookBack), Limit: 10}
		found, err := cluster.Recent(ctx, store, self, succeeded, cluster.MaxRuns)
		for _, r := range found {
			if r.Ended.After(since) && r.Ended.After(newest) {
				newest = r.Ended
			}
		}
		return newest, err
	}
}
