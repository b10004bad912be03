package web

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"sched/schedule/outcome"
	"sched/schedule/serve"
	"sched/schedule/state"
)

// The runs can be restricted to days, a task, an outcome and words, all in the URL.
func TestTheRunsAreFiltered(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	today, before := b.Ended("hourly", 60, outcome.Failed, ""), b.Ended("hourly", 24*60, outcome.Failed, "")
	today.Reason, before.Notes = "exit code 7", []string{"the hook `mail` failed: no route"}
	other := b.Ended("a/b", 120, outcome.Succeeded, "")
	other.Kind = outcome.Warning
	b.Remember(today, before, other)
	for query, want := range map[string][]string{
		"":                                   {today.ID, before.ID, other.ID},
		"?since=2026-03-01":                  {today.ID, other.ID, "not " + before.ID},
		"?until=2026-02-28":                  {before.ID, "not " + today.ID},
		"?since=2026-02-28&until=2026-02-28": {before.ID, "not " + other.ID},
		"?task=hourly&since=2026-03-01":      {today.ID, "not " + other.ID, `value="hourly"`},
		"?q=Exit+7":                          {today.ID, "not " + before.ID},
		"?q=no+route":                        {before.ID, "not " + today.ID},
		"?q=exit&outcome=succeeded":          {"Nothing is recorded here"},
		"?outcome=warning":                   {other.ID, "not " + today.ID, `aria-current="true">warning`},
		"?q=%3Cb%3E":                         {"Nothing is recorded here", "&lt;b&gt;"},
		"?outcome=failed&q=hourly&since=2000-01-01": {today.ID, before.ID, "not " + other.ID},
	} {
		b.has(query, b.get("/runs"+query, 200), want...)
	}
	b.has("no day", b.get("/runs?until=x", 400), "until &#34;x&#34; is not a day")
}

// A search that finds little goes on for some thousand records, and then says how far it looked.
func TestASearchOfRunsIsBounded(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	var all []state.Row
	for i := range maxReads*1000 + 10 {
		all = append(all, b.Ended("hourly", i+1, outcome.Succeeded, ""))
	}
	all[len(all)-1].Origin = "trigger by ada"
	b.Remember(all...)
	page := b.get("/runs?q=ada", 200)
	b.has("the first page", page, "Nothing down to", "not trigger by ada")
	next := regexp.MustCompile(`href="(\?[^"]*)" rel="next"`).FindStringSubmatch(page)
	if next == nil {
		t.Fatal("it does not go on")
	}
	b.has("the next page", b.get("/runs"+strings.ReplaceAll(next[1], "&amp;", "&"), 200), "trigger by ada")
}

// A search leads to older runs only if one of them has the words.
func TestASearchOfRunsEndsWithTheLastRunThatHasTheWords(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	all := []state.Row{b.Ended("hourly", 9999, outcome.Succeeded, "")}
	for i := range runsOfAPage {
		all = append(all, b.Ended("hourly", i+1, outcome.Failed, ""))
		all[i+1].Origin = "trigger by ada"
	}
	b.Remember(all...)
	b.has("all runs that have the words", b.get("/runs?q=ada", 200), "trigger by ada", "not older →")
	one := b.Ended("hourly", 9998, outcome.Failed, "")
	one.Origin = "retry by ada"
	b.Remember(one)
	b.has("one more run than a page has", b.get("/runs?q=ada", 200), "not retry by ada", "older →")
}

// Skips that follow each other are one line, which leads to each of them.
func TestAStretchOfSkipsIsOneLine(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	all := []state.Row{b.Ended("hourly", 1, outcome.Succeeded, ""), b.Ended("hourly", 100, outcome.Succeeded, "")}
	for i := range 5 {
		r := b.Ended("hourly", 10+i, outcome.Skipped, "")
		r.Reason = fmt.Sprint("still running, for ", i)
		all = append(all, r)
	}
	b.Remember(append(all, b.Ended("hourly", 200, outcome.Skipped, ""))...)
	page := b.get("/runs", 200)
	b.has("/runs", page, "5 slots", "still running, for 0 <small>and 4 other reasons</small>",
		"2026-03-01 11:46:00 UTC", "2026-03-01 11:50:00 UTC", "not "+all[2].ID)
	if n := strings.Count(page, `class="folded"`); n != 1 {
		t.Errorf("%d lines are folded, want 1", n)
	}
	link := regexp.MustCompile(`<a href="(\?[^"]*)">show each</a>`).FindStringSubmatch(page)
	each := b.get("/runs"+strings.ReplaceAll(link[1], "&amp;", "&"), 200)
	b.has("each", each, all[2].ID, all[6].ID, "not "+all[0].ID, "not folded")
}

// A run that a person or a pause stopped is no failure, and not red. A signal is a failure.
func TestARunThatSomebodyStoppedIsNotRed(t *testing.T) {
	b := newBox(t, "timezone: UTC\ntasks: [{name: report, every: hour, command: 'true'}]\n", serve.ScopeRead)
	paused, byHand := b.Ended("report", 60, outcome.Stopped, ""), b.Ended("report", 30, outcome.Stopped, "")
	paused.Kind, byHand.Kind = outcome.Paused, outcome.ByHand
	b.Remember(paused, byHand)
	b.has("/runs", b.get("/runs", 200), `<span class="badge hold"><span aria-hidden="true">■</span> stopped`, "not badge bad")
	b.Remember(b.Ended("report", 120, outcome.Stopped, ""))
	b.has("/runs", b.get("/runs", 200), `<span class="badge bad"><span aria-hidden="true">■</span> stopped`)
}
