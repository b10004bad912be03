package foreign_test

import (
	"os"
	"strings"
	"testing"
)

// wrapped are files with one job, by their kind. LINE stands for its times.
var wrapped = map[string]string{
	"kubernetes":     strings.ReplaceAll(manifest("LINE", ""), "timeZone: Europe/Berlin", "timeZone: UTC"),
	"github-actions": "name: n\non:\n  schedule: [{cron: 'LINE'}]\njobs: {a: {}}\n",
	"eventbridge": `{"Rules":[{"Name":"r","ScheduleExpression":"LINE","State":"ENABLED",` +
		`"Targets":[{"Arn":"arn:aws:lambda:eu:1:function:f"}]}]}`,
	"quartz": "<x><trigger><cron><name>T</name><time-zone>UTC</time-zone>" +
		"<cron-expression>LINE</cron-expression></cron></trigger></x>",
	"laravel": "<?php\nLINE\n",
	"ofelia":  "[job-local \"a\"]\nschedule = LINE\ncommand = date\n",
}

// The lines are the times of real jobs: of manifests, workflows, rules, console routes and
// configurations of public projects, without the names, commands and files of these. Each has one
// verdict. An ordinary run takes every eighth line.
func TestEachRealLineHasAVerdict(t *testing.T) {
	text, err := os.ReadFile("testdata/lines.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	step := 8
	if os.Getenv("SCHED_TEST_FULL") != "" {
		step = 1
	}
	proven := map[string]int{}
	for i := 0; i < len(lines); i += step {
		kind, times, _ := strings.Cut(lines[i], "\t")
		verdicts, _ := imported(t, kind, strings.ReplaceAll(wrapped[kind], "LINE", times))
		first, _, _ := strings.Cut(verdicts, "\n")
		_, verdict, _ := strings.Cut(first, ": ")
		switch {
		case strings.HasPrefix(verdict, "proven until 2054"):
			proven[kind]++
		case strings.HasPrefix(verdict, "taken, and compared for its next "): // each second of some years
		case strings.HasPrefix(verdict, "not taken, because "), strings.HasPrefix(verdict, "taken, and here it differs: "),
			strings.HasPrefix(verdict, "taken, and not compared: "):
		default:
			t.Errorf("%s %s has the verdict %q", kind, times, verdicts)
		}
	}
	t.Log("proven:", proven)
	if step == 1 && (proven["kubernetes"] < 170 || proven["quartz"] < 190 || proven["laravel"] < 45) {
		t.Error("fewer lines are proven than were before")
	}
}
