package cmd

import (
	"strings"

	"sched/schedule"
	"sched/schedule/runner"
)

// commandConditions says which conditions of a task are commands, whose answers only its tick will have; "" for none.
func commandConditions(t *schedule.Task) string {
	if len(t.ConditionCommands) == 0 {
		return ""
	}
	var keys []string
	for _, c := range t.ConditionCommands {
		keys = append(keys, c.Key)
	}
	return strings.Join(keys, " and ") + " will be asked first"
}

// conditionTexts are the condition commands of a task, each with its key: "when: test -e ready".
func conditionTexts(t *schedule.Task) []string {
	texts := []string{}
	for _, c := range t.ConditionCommands {
		texts = append(texts, c.Key+": "+commandText(c.Command))
	}
	return texts
}

// maintenance says in words that there is maintenance at this moment; "" when there is none. When that cannot be found
// out it prints why, and returns "".
func (a *app) maintenance(s *schedule.Schedule) string {
	reason, err := runner.Maintenance(s)
	if err != nil {
		a.problem("%v", err)
	}
	return reason
}
