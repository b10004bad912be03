package foreign

import (
	"cmp"

	"sched/schedule/humanize"
)

// readEventBridge reads what `aws events list-rules` and `aws scheduler get-schedule` print, and
// the rules and schedules of a CloudFormation template.
func readEventBridge(text string) (jobs []*Job, err error) {
	all, err := documents(text)
	if err != nil {
		return nil, err
	}
	for _, document := range all {
		entries := append(document.items(), document.at("Rules").items()...)
		entries = append(entries, document.at("Schedules").items()...)
		if document.text("ScheduleExpression") != "" {
			entries = append(entries, document)
		}
		for _, entry := range entries {
			jobs = append(jobs, awsJob(entry, entry.text("Name")))
		}
		resources := document.at("Resources")
		names, _ := resources.pairs()
		for _, name := range names {
			resource := resources.at(name)
			kind := resource.text("Type")
			if kind == "AWS::Events::Rule" || kind == "AWS::Scheduler::Schedule" {
				j := awsJob(resource.at("Properties"), name)
				j.Line = resource.Line
				jobs = append(jobs, j)
			}
		}
	}
	return jobs, nil
}

// lambdaARN has the region and the name of a function.
var lambdaARN = humanize.Pattern(`^arn:aws:lambda:([a-z0-9-]+):[^:]*:function:(.+)$`)

func awsJob(entry node, name string) *Job {
	j := &Job{Line: entry.Line, Name: cmp.Or(entry.text("Name"), name), Zone: entry.text("ScheduleExpressionTimezone"),
		Expressions: []string{entry.text("ScheduleExpression")}}
	if j.Expressions[0] == "" {
		return j.refuse("it has no ScheduleExpression: it waits for events, or the list leaves it out " +
			"(aws scheduler get-schedule has it)")
	}
	target := entry.at("Target")
	if targets := entry.at("Targets").items(); len(targets) > 0 {
		target = targets[0]
		if len(targets) > 1 {
			j.note("not taken: the other %d targets", len(targets)-1)
		}
	}
	arn := target.text("Arn")
	input := target.text("Input")
	if parts := lambdaARN().FindStringSubmatch(arn); parts != nil {
		words := []string{"aws", "lambda", "invoke", "--region", parts[1], "--function-name", parts[2]}
		if input != "" {
			words = append(words, "--cli-binary-format", "raw-in-base64-out", "--payload", input)
		} else {
			j.note("not taken: the event that a target without Input gets: here it gets none")
		}
		j.Command = quoteWords(append(words, "/dev/stdout")...)
		if entry.text("State") == "DISABLED" {
			j.setPlain("enabled", "false")
		}
	} else {
		setLater(j, cmp.Or(arn, "its target"))
	}
	if window := entry.at("FlexibleTimeWindow"); window.text("Mode") == "FLEXIBLE" {
		j.note("not taken: FlexibleTimeWindow: `spread` puts a task off by a time of its own")
	}
	j.noteRest("", entry, "Arn", "EventBusName", "GroupName", "RoleArn", "CreationDate", "LastModificationDate",
		"Description", "State", "CreatedBy")
	j.noteRest("Target.", target, "RoleArn", "Id")
	return j
}
