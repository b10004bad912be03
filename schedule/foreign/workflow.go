package foreign

// readWorkflow reads the schedule of a workflow. Its task asks GitHub to run it.
func readWorkflow(text string) ([]*Job, error) {
	all, err := documents(text)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	workflow := all[0]
	on := workflow.at("on")
	if !workflow.at("jobs").IsMapping() {
		return nil, ErrOther
	}
	name := workflow.text("name")
	var jobs []*Job
	byZone := map[string]*Job{}
	for _, entry := range on.at("schedule").items() {
		zone := entry.text("timezone")
		j := byZone[zone]
		if j == nil {
			j = &Job{Line: entry.Line, Name: name, Zone: zone, Command: "gh workflow run " + quoteWords(name)}
			j.note("the workflow itself runs at GitHub as before: set dir to the repository, sign gh in, and take " +
				"the schedule there away")
			if !on.Has("workflow_dispatch") {
				j.note("it needs workflow_dispatch below on")
			}
			byZone[zone], jobs = j, append(jobs, j)
		}
		j.Expressions = append(j.Expressions, entry.text("cron"))
		j.noteRest("on.schedule.", entry)
	}
	if name == "" {
		for _, j := range jobs {
			j.Name, j.Command = "workflow", ""
			j.refuse("the workflow has no name by which gh finds it: give it one")
		}
	}
	return jobs, nil
}
