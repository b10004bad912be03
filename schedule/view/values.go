package view

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/judge"
	"sched/schedule/judge/evidence"
	"sched/schedule/state"
)

// A ReportedValue is a value that a run reported, with what its task asks of the value now. Of a
// value that the task does not name the rule has the name alone.
type ReportedValue struct {
	Rule   judge.Value
	Number float64
}

// Text returns the number with its unit.
func (v ReportedValue) Text() string { return v.Rule.Text(v.Number) }

// ReportedBy returns the values of a run: in the order of its task, which may be nil, and then by
// name.
func ReportedBy(task *schedule.Task, values map[string]float64) (all []ReportedValue) {
	rest := maps.Clone(values)
	if task != nil {
		for _, rule := range task.Judge.Values {
			if number, reported := rest[rule.Name]; reported {
				all = append(all, ReportedValue{rule, number})
				delete(rest, rule.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		all = append(all, ReportedValue{judge.Value{Name: name}, rest[name]})
	}
	return all
}

// ValuesText writes the values of a run in one line: "rows 18204, usd 0.31 usd". It returns "" for
// a run without values. The task may be nil.
func ValuesText(task *schedule.Task, values map[string]float64) string {
	var parts []string
	for _, v := range ReportedBy(task, values) {
		parts = append(parts, v.Rule.Name+" "+v.Text())
	}
	return strings.Join(parts, ", ")
}

// A Budget is what is known of the budgets of a task at one moment. The zero value is of a task
// without budgets.
type Budget struct {
	rules judge.Rules
	spent map[string][]judge.Spending
	zone  *time.Location
}

// BudgetOf looks at what was spent of the budgets of a task, here and on the other servers of the
// store, and changes nothing. If the store does not answer, it reports that.
func BudgetOf(ctx context.Context, s Source, db *state.DB, t *schedule.Task) Budget {
	if len(t.Judge.Budgets()) == 0 || db == nil {
		return Budget{}
	}
	spent, err := (evidence.Known{DB: db, Store: s.Controls.Store}).LookSpent(ctx, t)
	if err != nil {
		s.LeftOut(err)
	}
	return Budget{t.Judge, spent, cmp.Or(s.Zone, s.Schedule.Location)}
}

// RefusalAt says that a run that is to begin at a time does not, because a budget is spent until
// after it, as far as it is known now: "the budget of usd is spent until …". It is empty if a run
// may begin then.
func (b Budget) RefusalAt(at time.Time) string { return judge.Refusal(b.rules, b.spent, at, b.zone) }

// A SpentBudget is a task whose runs do not begin now, because a budget of the task is spent.
type SpentBudget struct {
	Task string `json:"task"`
	Text string `json:"text"` // the budget of usd is spent until …
}

// spentBudgets returns the budgets of active tasks that are spent at the moment of a health. It
// does not ask a store that is known to be down.
func spentBudgets(s Source, h *Health) (all []SpentBudget) {
	if !slices.ContainsFunc(h.Tasks, func(t TaskHealth) bool { return len(t.Judge.Budgets()) > 0 }) {
		return nil
	}
	if h.Outage != nil {
		s.Controls.Store = nil
	}
	records, _ := OpenRecords(context.Background(), h.Schedule.StateDir) // a trouble says why they cannot be read
	defer records.Close()
	for _, t := range h.Tasks {
		if text := BudgetOf(context.Background(), s, records.DB, t.Task).RefusalAt(h.At); text != "" {
			all = append(all, SpentBudget{t.Name, text})
		}
	}
	return all
}
