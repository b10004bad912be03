package cmd

import (
	"strings"

	"sched/schedule"
	"sched/schedule/runner"
)

// asked says which conditions of a task are commands, that only the tick itself can ask; "" for none.
func commandConditions(t *schedule.Task) string {
	if len(t.ConditionCommands) == 0 {
		return ""
	}
	var keys []string
	for _, guard := range t.ConditionCommands {
		keys = append(keys, guard.Key)
	}
	return strings.Join(keys, " and ") + " will be asked first"
}

// guardTexts are the conditions with their commands.
func conditionTexts(t *schedule.Task) []string {
	texts := []string{}
	for _, guard := range t.ConditionCommands {
		texts = append(texts, guard.Key+": "+commandText(guard.Command))
	}
	return texts
}

// maintenance says in words that there is maintenance at this moment; "" when there is none, or nobody knows.
func (a *app) maintenance(s *schedule.Schedule) string {
	reason, err := runner.Maintenance(s)
	if err != nil {
		a.problem("%v", err)
	}
	return reason
}
