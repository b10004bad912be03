package foreign

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// readLaravel reads the JSON of `php artisan schedule:list --json`, or the plain calls of PHP.
func readLaravel(text string, app laravelApp) ([]*Job, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return laravelList(text)
	}
	if !strings.Contains(text, "<?php") {
		return nil, errors.New("it is neither the JSON of `php artisan schedule:list --json` nor PHP")
	}
	jobs, err := laravelCalls(text, app)
	_, source := app.zone()
	noteFirst(jobs, func(j *Job) bool { return j.Zone == "" }, source)
	return jobs, err
}

func laravelList(text string) (jobs []*Job, err error) {
	all, err := documents(text)
	if err != nil {
		return nil, err
	}
	for _, entry := range all[0].items() {
		command := entry.text("command")
		j := &Job{Line: entry.Line, Name: laravelName(command), Command: command,
			Expressions: []string{entry.text("expression")}, Zone: entry.text("timezone")}
		if zone := entry.text("expression_timezone"); zone != "" {
			j.Zone = zone
		}
		if text := entry.text("repeat_seconds"); text != "" {
			n, err := strconv.Atoi(text)
			if j.seconds = n; err != nil || n < 1 || n > 59 || 60%n != 0 {
				j.refuse("it repeats every %s seconds, which does not divide a minute", text)
			}
		}
		isClass := strings.Contains(command, `\`) && !strings.Contains(command, " ")
		if command == "" || command == "Closure" || strings.HasPrefix(command, "Closure at") || isClass {
			j.refuse("it is PHP in the process of the scheduler (%s): make it a command of artisan", command)
		}
		if text := entry.text("description"); text != "" {
			j.set("description", text)
		}
		if names := entry.at("environments").texts(); len(names) > 0 {
			j.setList("environments", names...)
		}
		if len(jobs) == 0 {
			j.note("the list does not say withoutOverlapping, onOneServer, between, when and hooks: " +
				"see docs/from-laravel.md")
		}
		j.noteRest("", entry, "next_due_date", "next_due_date_human", "has_mutex")
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// laravelCalls reads the statements that begin with Schedule::, $schedule-> or Artisan::command.
func laravelCalls(text string, app laravelApp) (jobs []*Job, err error) {
	php, err := newPHPSource(text)
	if err != nil {
		return nil, err
	}
	r := laravelReader{phpSource: php, app: app, groups: findGroups(php)}
	r.blocks = newPHPBlocks(php.code)
	line, last := 1, 0
	for _, start := range chainStarts(php) {
		line, last = line+strings.Count(php.text[last:start.begin], "\n"), start.begin
		if j := r.read(start); j != nil {
			j.Line = line
			jobs = append(jobs, j)
		}
	}
	for _, skipped := range r.skipped {
		noteWholeFile(jobs, "not taken: %s", skipped)
	}
	isOneServer := func(j *Job) bool { return hasKey(j, "one_server") }
	noteFirst(jobs, isOneServer,
		"one_server needs a `store:` that all servers reach, and a `name:`, at the top of the file")
	noteFirst(jobs, sendsMail, "mails go to sendmail of this machine, unless `mail: {url: smtp://…, from: …}` "+
		"at the top of the file names the server of config/mail.php")
	return jobs, nil
}

// noteFirst notes something at the first task of a kind.
func noteFirst(jobs []*Job, is func(*Job) bool, note string) {
	if i := slices.IndexFunc(jobs, func(j *Job) bool { return j.Refused == "" && is(j) }); i >= 0 {
		jobs[i].note("%s", note)
	}
}
