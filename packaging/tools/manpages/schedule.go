package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"sched/schedule/load"
	"sched/schedule/yamldoc"
)

// sections are the mappings of the file with what the page says of each.
var sections = []struct {
	of           load.Mapping
	title, about string
}{
	{load.Top, "KEYS AT THE TOP", "The keys of the file. Those that begin with x- are left alone."},
	{load.InTask, "KEYS OF A TASK", "A task has a name, a command, and cron or every. In defaults and in a group most keys hold for all tasks."},
	{load.InGroup, "KEYS OF A GROUP", "An entry of tasks that has group and tasks. The tasks inside inherit its other keys."},
	{load.InRetry, "KEYS OF retry", ""},
	{load.InExpect, "KEYS OF expect", ""},
	{load.InOutput, "KEYS OF output", "The path alone will do."},
	{load.InHook, "KEYS OF A HOOK", "A hook is a command, or a mapping with exactly one of run, trigger, ping, webhook, mail, sentry and preset; or a list of hooks."},
	{load.InHistory, "KEYS OF history", ""},
	{load.InMetrics, "KEYS OF metrics", ""},
	{load.InMail, "KEYS OF mail", ""},
}

const opening = `.TH "SCHEDULE.YAML" "5" "%s" "sched %s" "sched"
.SH NAME
schedule.yaml \- the tasks of sched, and when they are due
.SH SYNOPSIS
.nf
tasks:
  \- name: nightly\-report
    every: weekday at 02:30
    command: ./report.sh \-\-all
    timeout: 20m
.fi
.SH DESCRIPTION
sched(1) looks for the file of \-\-config, then the file of $SCHED_CONFIG, then ./schedule.yaml, ~/.config/sched/schedule.yaml
and /etc/sched/schedule.yaml. An unknown key, a wrong type and a name that is given twice are errors;
.B sched check
tells of all at once. Paths are relative to the folder of the file. A duration is written as 90s, 20m, 1h30m or 30d.
.PP
${VAR} and ${VAR:\-default} stand for a variable, ${file:PATH} for the text of a file, and ${credential:NAME}
for a credential of systemd; not in commands, where the shell expands. A tick that finds the file invalid says so, and runs the last valid one, or the tasks without a problem.
`

const closing = `.SH SEE ALSO
sched(1), sched\-run(1), sched\-check(1), sched\-schema(1), crontab(5)
`

// schedulePage is schedule.yaml(5), of the rows by which the loader reads.
func schedulePage(version string, date time.Time) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, opening, date.Format(time.DateOnly), roff(version))
	for _, s := range sections {
		fmt.Fprintf(&b, ".SH %q\n", s.title)
		if s.about != "" {
			fmt.Fprintln(&b, roff(s.about))
		}
		for _, key := range load.Keys(s.of) {
			if s.of == load.InGroup && key.Name != "group" && key.Name != "tasks" {
				continue
			}
			b.WriteString(row(key))
		}
	}
	b.WriteString(closing)
	return b.Bytes()
}

// row is a key with what it means, what it may be, what holds without it and an example.
func row(key yamldoc.Entry) string {
	t := key.Type
	says := []string{strings.ToUpper(key.Doc[:1]) + strings.ReplaceAll(key.Doc[1:], "`", "") + "."}
	if len(t.Words) > 0 {
		says = append(says, "One of "+strings.Join(t.Words, ", ")+".")
	}
	switch {
	case t.Default != "":
		says = append(says, "Default: "+t.Default+".")
	case t.Without != "":
		says = append(says, "Without it: "+t.Without+".")
	}
	return ".TP\n.B " + roff(key.Name) + "\n" + roff(strings.Join(says, " ")) + "\n.br\nAs in: " +
		roff(key.Name+": "+t.Example) + "\n"
}

// roff writes a text so that troff shows it as it is.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
