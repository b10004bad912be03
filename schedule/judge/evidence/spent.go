package evidence

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/judge"
	"sched/schedule/state"
)

// Known is where it is known what runs have reported before.
type Known struct {
	DB    *state.DB
	Store mutex.Store // nil for a machine that stands alone
}

// Spent returns what was spent of the budgets of a task, by the names of their values: on this
// machine, and on the other servers of its store. It tells the store what this machine has spent
// and the store does not know yet. With an error of the store the result has what this machine
// alone has spent.
func (k Known) Spent(ctx context.Context, task *schedule.Task) (map[string][]judge.Spending, error) {
	return k.spent(ctx, task, true)
}

// LookSpent is Spent, and tells the store nothing.
func (k Known) LookSpent(ctx context.Context, task *schedule.Task) (map[string][]judge.Spending, error) {
	return k.spent(ctx, task, false)
}

func (k Known) spent(ctx context.Context, task *schedule.Task, tells bool) (map[string][]judge.Spending, error) {
	all := map[string][]judge.Spending{}
	var failed error
	for _, v := range task.Judge.Budgets() {
		since := clock.Now().Add(-v.Budget.Per)
		here, err := k.DB.Runs().Spent(ctx, task.Name, v.Name, since)
		if err != nil {
			failed = err
		}
		all[v.Name] = here
		if k.Store == nil {
			continue
		}
		table := tableSpent + task.Name + " " + v.Name
		if all[v.Name], err = shareSpent(ctx, k.Store, table, here, v.Budget.Per, tells); err != nil {
			failed = err
		}
	}
	return all, failed
}

// tableSpent begins the names of the tables of the store that say what was spent.
const tableSpent = "spent "

// shareSpent returns what was spent on all servers. If tells is true, it first writes what was
// spent here into the table of the store. After an error it returns what it knows.
func shareSpent(
	ctx context.Context, store mutex.Store, table string, here []judge.Spending, per time.Duration, tells bool,
) (all []judge.Spending, err error) {
	known, err := store.All(ctx, table)
	for _, s := range here {
		key := fmt.Sprintf("%s %d", s.Run, s.Attempt)
		if _, told := known[key]; told || !tells || err != nil {
			continue
		}
		value, _ := json.Marshal(s) // texts and finite numbers
		err = store.Put(ctx, table, key, value, max(time.Second, s.At.Add(per).Sub(clock.Now())))
	}
	all = here
	for key, value := range known {
		var s judge.Spending
		isForeign := json.Unmarshal(value, &s) != nil || key != fmt.Sprintf("%s %d", s.Run, s.Attempt)
		isOurs := func(own judge.Spending) bool { return own.Run == s.Run && own.Attempt == s.Attempt }
		if !isForeign && !slices.ContainsFunc(here, isOurs) {
			all = append(all, s)
		}
	}
	return all, err
}
