package schedule

// TriggerKeys are the keys whose hooks may trigger: the hooks after a run.
var TriggerKeys = []string{"after", "on_success", "on_failure", "on_recovery"}

// Triggers returns the hooks of the task that start other tasks, in the order of TriggerKeys.
func (t *Task) Triggers() (all []Trigger) {
	for i, hooks := range [][]Hook{t.Hooks.After, t.Hooks.OnSuccess, t.Hooks.OnFailure, t.Hooks.OnRecovery} {
		for _, hook := range hooks {
			if hook.Trigger != "" {
				all = append(all, Trigger{t.Name, TriggerKeys[i], hook.Trigger, hook.Place})
			}
		}
	}
	return all
}

// A Trigger is a hook that starts another task.
type Trigger struct {
	From  string // the task whose hook it is
	Key   string // of the hook, such as on_success
	Task  string // that it starts
	Place Place
}

// Triggers returns the triggers of all tasks by the task that they start, in file order.
func (s *Schedule) Triggers() map[string][]Trigger {
	by := map[string][]Trigger{}
	for _, t := range s.Tasks {
		for _, trigger := range t.Triggers() {
			by[trigger.Task] = append(by[trigger.Task], trigger)
		}
	}
	return by
}
