package serve

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/schedule/cluster"
	"sched/schedule/load"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
	"sched/testing/controltest"
	"sched/testing/redistest"
)

// Each route answers as the document says, when all is well and with each of the problems that it
// may have.
func TestEveryRouteIsAsItsDocumentSays(t *testing.T) {
	b := newBox(t, shop)
	if err := b.doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	good := b.Ended("hourly", 60, outcome.Succeeded, "hallo\nwelt\n")
	bad := b.Ended("hourly", 120, outcome.Failed, "")
	gone := b.Ended("gone", 180, outcome.Failed, "")
	b.Remember(good, bad, gone)
	hook, badge := b.token(Token{Name: "h", Scope: ScopeHook, Task: "hourly"}),
		b.token(Token{Name: "b", Scope: ScopeBadge, Task: "hourly"})
	calendar := b.token(Token{Name: "c", Scope: ScopeCalendar})
	lost, lostBadge := b.token(Token{Name: "h2", Scope: ScopeHook, Task: "nix"}),
		b.token(Token{Name: "b2", Scope: ScopeBadge, Task: "nix"})
	offHook := b.token(Token{Name: "h3", Scope: ScopeHook, Task: "off"})
	asJSON := map[string]string{"Content-Type": "application/json"}
	text := map[string]string{"Content-Type": "text/plain"}
	yaml := func(more ...string) map[string]string {
		h := map[string]string{"Content-Type": "application/yaml"}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	large := `{"reason":"` + strings.Repeat("x", MostBody) + `"}`
	for _, tt := range []struct {
		name   string
		call   call
		status int
		has    string
	}{
		{"the status", call{scope: ScopeRead, method: "GET", route: "/status"}, 200, `"verdict": "down"`},
		{"all tasks", call{scope: ScopeRead, method: "GET", route: "/tasks"}, 200, `"name": "a/b"`},
		{"a tag that no task has", call{scope: ScopeRead, method: "GET", route: "/tasks", query: "?tag=y"}, 404, `no task has the tag`},
		{"a task", call{scope: ScopeRead, method: "GET", route: "/tasks/{name}", values: []string{"hourly"}}, 200, `"file": "schedule.yaml"`},
		{"a task with a slash", call{scope: ScopeRead, method: "GET", route: "/tasks/{name}", values: []string{"a/b"}},
			200, `"name": "a/b"`},
		{"a task that is none", call{scope: ScopeRead, method: "GET", route: "/tasks/{name}",
			values: []string{"hourli"}}, 404, `did you mean \"hourly\"?`},
		{"why", call{scope: ScopeRead, method: "GET", route: "/tasks/{name}/why", values: []string{"hourly"}}, 200,
			"nothing is recorded yet"},
		{"why at a minute", call{scope: ScopeRead, method: "GET", route: "/tasks/{name}/why",
			values: []string{"a/b"}, query: "?at=2026-03-01T09:30:00Z"}, 200, `"due": false`},
		{"why at a minute, in words", call{scope: ScopeRead, method: "GET", route: "/tasks/{name}/why",
			values: []string{"a/b"}, query: "?at=today%209:30"}, 200, `"minute": "2026-03-01T09:30`},
		{"why of a task that is no longer there", call{scope: ScopeRead, method: "GET", route: "/tasks/{name}/why", values: []string{"gone"}}, 404, "any more"},
		{"what is to come", call{scope: ScopeRead, method: "GET", route: "/upcoming"}, 200, `"slot": "2026-03-01T12:00:00Z"`},
		{"a forecast", call{scope: ScopeRead, method: "GET", route: "/forecast"}, 200, `"to": "2026-03-08T12:00:00Z"`},
		{"a forecast of a day", call{scope: ScopeRead, method: "GET", route: "/forecast",
			query: "?since=2026-03-28T00:00:00Z&for=24h"}, 200, `"starts": 25`},
		{"a forecast until a time", call{scope: ScopeRead, method: "GET", route: "/forecast",
			query: "?since=2026-03-28&until=2026-03-29%2000:00%20UTC"}, 200, `"starts": 25`},
		{"a forecast that ends before it begins",
			call{scope: ScopeRead, method: "GET", route: "/forecast", query: "?since=tomorrow&until=yesterday"}, 400,
			"until is not after since"},
		{"a forecast of a year", call{scope: ScopeRead, method: "GET", route: "/forecast", query: "?for=365d"}, 400,
			"365 d 0 h is too long"},
		{"a forecast of no time", call{scope: ScopeRead, method: "GET", route: "/forecast", query: "?for=week"},
			400, "is not a duration"},
		{"a forecast of a time before it began",
			call{scope: ScopeRead, method: "GET", route: "/forecast", query: "?for=-1h"}, 400, "too short"},
		{"a forecast of the year 5000", call{scope: ScopeRead, method: "GET", route: "/forecast",
			query: "?since=5000-01-01T00:00:00Z"}, 400, "cannot be foreseen"},
		{"runs", call{scope: ScopeRead, method: "GET", route: "/runs", query: "?outcome=failed&outcome=timed-out"}, 200, bad.ID},
		{"runs since a while ago", call{scope: ScopeRead, method: "GET", route: "/runs", query: "?since=3000d"}, 200, bad.ID},
		{"runs since then, in words", call{scope: ScopeRead, method: "GET", route: "/runs",
			query: "?since=3000%20days%20ago&until=in%201h"}, 200, bad.ID},
		{"runs of all servers, of which there is one",
			call{scope: ScopeRead, method: "GET", route: "/runs", query: "?all_servers=true"}, 404, "has no store"},
		{"runs of a task that is no longer there",
			call{scope: ScopeRead, method: "GET", route: "/runs", query: "?task=gone"}, 200, gone.ID},
		{"a summary", call{scope: ScopeRead, method: "GET", route: "/summary"}, 200, `"success_rate": 0.5,
      "duration": 2,
      "duration_95": 2,
      "duration_max": 2,`},
		{"a summary of a task", call{scope: ScopeRead, method: "GET", route: "/summary", query: "?task=gone&since=1d"},
			200, `"task": "gone"`},
		{"a summary of a tag, at a time",
			call{scope: ScopeRead, method: "GET", route: "/summary",
				query: "?tag=x&since=90m&until=2026-03-01T11:30:00Z"}, 200, `"success_rate": 1,`},
		{"a summary of a time in which nothing was",
			call{scope: ScopeRead, method: "GET", route: "/summary", query: "?since=1m"}, 200, `"items": []`},
		{"a summary of no tag", call{scope: ScopeRead, method: "GET", route: "/summary", query: "?tag=y"},
			404, "no task has the tag"},
		{"a summary of no task", call{scope: ScopeRead, method: "GET", route: "/summary", query: "?task=hourli"}, 404,
			`did you mean \"hourly\"?`},
		{"a summary that ends before it begins",
			call{scope: ScopeRead, method: "GET", route: "/summary", query: "?until=2d"}, 400,
			"until is not after since"},
		{"a run", call{scope: ScopeRead, method: "GET", route: "/runs/{id}", values: []string{good.ID}}, 200, `"log_size": 11`},
		{"a run that is none", call{scope: ScopeRead, method: "GET", route: "/runs/{id}",
			values: []string{"ffffffffffff"}}, 404, "there is no task and no run"},
		{"too short an id", call{scope: ScopeRead, method: "GET", route: "/runs/{id}", values: []string{"f"}},
			404, "four characters"},
		{"an id that means several", call{scope: ScopeRead, method: "GET", route: "/runs/{id}",
			values: []string{good.ID[:4]}}, 409, "could be any of"},
		{"a log", call{scope: ScopeRead, method: "GET", route: "/runs/{id}/log",
			values: []string{good.ID}, query: "?offset=6"}, 200, "welt\n"},
		{"the end of a log", call{scope: ScopeRead, method: "GET", route: "/runs/{id}/log",
			values: []string{good.ID}, query: "?tail=3"}, 200, "lt\n"},
		{"the log of a run that printed nothing",
			call{scope: ScopeRead, method: "GET", route: "/runs/{id}/log", values: []string{bad.ID}}, 200, ""},
		{"the log of no run", call{scope: ScopeRead, method: "GET", route: "/runs/{id}/log",
			values: []string{"ffffffff-ffff-7fff-8fff-ffffffffffff"}}, 404, ""},
		{"the log of several runs", call{scope: ScopeRead, method: "GET", route: "/runs/{id}/log",
			values: []string{good.ID[:4]}}, 409, ""},
		{"the log as it comes", call{scope: ScopeRead, method: "GET", route: "/runs/{id}/log/stream",
			values: []string{good.ID}}, 200, "event: end"},
		{"the log as it comes, from a place on",
			call{scope: ScopeRead, method: "GET", route: "/runs/{id}/log/stream",
				values: []string{good.ID}, query: "?offset=6"}, 200, `data: {"offset":6,"text":"welt\n"}`},
		{"the stream of no run", call{scope: ScopeRead, method: "GET", route: "/runs/{id}/log/stream",
			values: []string{"ffffffff-ffff-7fff-8fff-ffffffffffff"}}, 404, ""},
		{"the stream of several runs", call{scope: ScopeRead, method: "GET", route: "/runs/{id}/log/stream",
			values: []string{good.ID[:4]}}, 409, ""},
		{"servers of a machine that stands alone",
			call{scope: ScopeRead, method: "GET", route: "/servers"}, 404, "stands alone"},
		{"health", call{method: "GET", route: "/healthz"}, 200, "ok"},
		{"the document", call{method: "GET", route: "/openapi.json"}, 200, "openapi"},
		{"the schema", call{scope: ScopeRead, method: "GET", route: "/schema"}, 200, "json-schema.org/draft/2020-12"},
		{"metrics", call{scope: ScopeRead, method: "GET", route: "/metrics"}, 200, "sched_tasks"},
		{"a badge", call{method: "GET", route: "/badge/{key}", values: []string{badge + ".svg"}},
			200, ">succeeded</text>"},
		{"the calendar", call{scope: ScopeRead, method: "GET", route: "/calendar.ics"}, 200, "SUMMARY:a/b\r\n"},
		{"the calendar of a task", call{scope: ScopeRead, method: "GET", route: "/calendar.ics", query: "?task=hourly"},
			200, "SUMMARY:hourly\r\n"},
		{"the calendar of a task that is none",
			call{scope: ScopeRead, method: "GET", route: "/calendar.ics", query: "?task=hourli"}, 404, `did you mean`},
		{"the calendar with a key", call{method: "GET", route: "/calendar/{key}", values: []string{calendar + ".ics"}},
			200, "BEGIN:VEVENT\r\n"},
		{"the calendar with the key of a badge",
			call{method: "GET", route: "/calendar/{key}", values: []string{badge + ".ics"}}, 404, "--calendar"},
		{"a badge with the key of the calendar",
			call{method: "GET", route: "/badge/{key}", values: []string{calendar + ".svg"}}, 404, ""},
		{"a badge of no key", call{method: "GET", route: "/badge/{key}", values: []string{"x.svg"}}, 404, ""},
		{"a badge of a task that is gone",
			call{method: "GET", route: "/badge/{key}", values: []string{lostBadge + ".svg"}}, 404, ""},

		{"a trigger", call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
			values: []string{"hourly"}, body: `{"in": 600, "reason": "why not"}`}, 202,
			"trigger by my-operate: why not"},
		{"a trigger with params", call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
			values: []string{"hourly"}, body: `{"in": 600, "params": {"DAY": "2026-11-01"}}`},
			202, `"DAY": "2026-11-01"`},
		{"a trigger with a long value and a long reason",
			call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger", values: []string{"hourly"},
				body: `{"in": 600, "reason": "` + strings.Repeat("x", 500) + `", "params": {"DAY": "` +
					strings.Repeat("x", 1000) + `"}}`}, 202, "xxx"},
		{"a trigger with a value that is not allowed",
			call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
				values: []string{"hourly"}, body: `{"params": {"DAY": "$(reboot)"}}`}, 400, "does not match the pattern"},
		{"a trigger with a variable that is no param",
			call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
				values: []string{"hourly"}, body: `{"params": {"PATH": "/tmp"}}`}, 400, `hourly has no param`},
		{"a trigger with a param that is no text",
			call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
				values: []string{"hourly"}, body: `{"params": {"DAY": 1}}`}, 400, "params"},
		{"a trigger with a token in a param",
			call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger", values: []string{"hourly"},
				body: `{"params": {"DAY": "` + strings.Repeat("x", 600) + " " + b.tokens[ScopeRead] + `"}}`}, 400,
			"a token is in the value of DAY"},
		{"a trigger without a body", call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
			values: []string{"a/b"}}, 202, `"task": "a/b"`},
		{"a trigger of no task", call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
			values: []string{"nix"}}, 404, ""},
		{"a trigger of a task that is off",
			call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger", values: []string{"off"}},
			409, "off is switched off"},
		{"a trigger in two ways", call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
			values: []string{"hourly"}, body: `{"in": 1, "at": "2026-03-01T13:00:00Z"}`}, 400, "exclude"},
		{"a trigger in the past", call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
			values: []string{"hourly"}, body: `{"at": "2026-03-01T11:00:00Z"}`}, 400, "in the past"},
		{"a trigger in a million years", call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
			values: []string{"hourly"}, body: `{"in": 3e13}`}, 400, "not a time to wait"},
		{"a trigger with a key that does not exist",
			call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
				values: []string{"hourly"}, body: `{"when": 1}`}, 400, "when"},
		{"a trigger with a body that is no JSON",
			call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
				values: []string{"hourly"}, body: `{`}, 400, "ends too soon"},
		{"a trigger with a list",
			call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
				values: []string{"hourly"}, body: `[]`}, 400, "cannot be read: it cannot be array"},
		{"a pause for a duration as commands take it",
			call{scope: ScopeOperate, method: "POST", route: "/pauses", body: `{"for": "10m"}`}, 400,
			"for cannot be string: it is a number of seconds"},
		{"a trigger with two bodies", call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
			values: []string{"hourly"}, body: `{}]`}, 400, "something behind it"},
		{"a trigger with a key twice", call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
			values: []string{"hourly"}, body: `{"params": {"a": "1", "b": "2", "a": "3"}}`}, 400, `the key \"a\" is there twice`},
		{"a trigger with a form", call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
			values: []string{"hourly"}, body: `in=1`, headers: text}, 415, "application/json"},
		{"a trigger with a large body", call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
			values: []string{"hourly"}, body: large}, 413, "64 KiB"},

		{"a retry", call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/retry", values: []string{bad.ID}}, 202,
			"retry of " + bad.ID[24:] + " by my-operate"},
		{"a retry with a value that is not allowed",
			call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/retry",
				values: []string{bad.ID}, body: `{"params": {"DAY": ""}}`}, 400, "does not match the pattern"},
		{"a retry that waits", call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/retry",
			values: []string{bad.ID}}, 409, "waits already"},
		{"a retry of a task that is gone",
			call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/retry", values: []string{gone.ID}}, 409,
			"no longer in the schedule"},
		{"a retry of no run", call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/retry",
			values: []string{"ffffffff-ffff-7fff-8fff-ffffffffffff"}}, 404, ""},
		{"a retry with a form", call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/retry",
			values: []string{bad.ID}, body: `in=1`, headers: text}, 415, ""},
		{"a retry with a large body", call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/retry",
			values: []string{bad.ID}, body: large}, 413, ""},

		{"a stop of a run that has ended",
			call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/stop", values: []string{good.ID}}, 409,
			"is not running: it succeeded"},
		{"a stop of a part of an id", call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/stop",
			values: []string{good.ID[:8]}}, 400, "too short for the id of a run to change"},
		{"a pause of no task", call{scope: ScopeOperate, method: "POST", route: "/pauses", body: `{"tasks": []}`}, 400,
			"leave out tasks and tags"},
		{"a stop of no run", call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/stop",
			values: []string{"ffffffff-ffff-7fff-8fff-ffffffffffff"}}, 404, ""},
		{"a stop with a form", call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/stop",
			values: []string{good.ID}, body: `in=1`, headers: text}, 415, ""},
		{"a stop with a large body", call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/stop",
			values: []string{good.ID}, body: large}, 413, ""},

		{"a cancel of no run", call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/cancel",
			values: []string{"ffffffff-ffff-7fff-8fff-ffffffffffff"}}, 404, ""},
		{"a cancel with a form", call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/cancel",
			values: []string{good.ID}, body: `x=1`, headers: text}, 415, ""},
		{"a cancel with a large body", call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/cancel",
			values: []string{good.ID}, body: large}, 413, ""},
		{"a retry of a part of an id", call{scope: ScopeOperate, method: "POST", route: "/runs/{id}/retry",
			values: []string{bad.ID[:11]}}, 400, "too short for the id of a run to change"},
		{"a pause of no tag and no task",
			call{scope: ScopeOperate, method: "POST", route: "/pauses", body: `{"tasks": [], "tags": []}`}, 400,
			"leave out tasks and tags"},
		{"a pause of tasks that a script does not know",
			call{scope: ScopeOperate, method: "POST", route: "/pauses", body: `{"tasks": null}`}, 400,
			"a list is null: leave it out, or write its names"},
		{"a pause of null", call{scope: ScopeOperate, method: "POST", route: "/pauses", body: `null`}, 400,
			"it is null, and no object"},
		{"a pause that is nested deep", call{scope: ScopeOperate, method: "POST", route: "/pauses",
			body: `{"tasks": ` + strings.Repeat("[", 31_000) + strings.Repeat("]", 31_000) + "}"}, 400,
			"it is nested more than 50 levels deep"},

		{"no pauses", call{scope: ScopeRead, method: "GET", route: "/pauses"}, 200, `"items": []`},
		{"a pause", call{scope: ScopeOperate, method: "POST", route: "/pauses", body: `{"tasks": ["a/b"], "tags": ["x"], "for": 60, "reason": "deploy"}`}, 201, `"id": "hourly"`},
		{"a pause of everything", call{scope: ScopeOperate, method: "POST", route: "/pauses"}, 201, `"id": "everything"`},
		{"pauses", call{scope: ScopeRead, method: "GET", route: "/pauses"}, 200, `"until": "2026-03-01T12:01:00Z"`},
		{"a pause of no task", call{scope: ScopeOperate, method: "POST", route: "/pauses", body: `{"tasks": ["nix"]}`}, 404, ""},
		{"a pause with a form", call{scope: ScopeOperate, method: "POST", route: "/pauses", body: `x=1`, headers: text}, 415, ""},
		{"a pause with a large body", call{scope: ScopeOperate, method: "POST", route: "/pauses", body: large}, 413, ""},
		{"a pause with a long reason", call{scope: ScopeOperate, method: "POST", route: "/pauses",
			body: large[:1000] + `"}`}, 400, "longer than 500"},
		{"the end of a pause", call{scope: ScopeOperate, method: "DELETE", route: "/pauses/{id}",
			values: []string{"a/b"}}, 204, ""},
		{"the end of no pause", call{scope: ScopeOperate, method: "DELETE", route: "/pauses/{id}",
			values: []string{"a/b"}}, 404, "a/b is not paused"},

		{"a hook with a query, as others add it",
			call{method: "POST", route: "/hooks/{key}", values: []string{hook}, query: "?source=git",
				body: "whatever", headers: text}, 202, "trigger by h"},
		{"a hook whose run waits still", call{method: "POST", route: "/hooks/{key}", values: []string{hook}}, 429,
			"waits already"},
		{"a hook of no key", call{method: "POST", route: "/hooks/{key}", values: []string{"x"}}, 404, ""},
		{"the key of a badge as that of a hook",
			call{method: "POST", route: "/hooks/{key}", values: []string{badge}}, 404, ""},
		{"a hook of a task that is gone", call{method: "POST", route: "/hooks/{key}", values: []string{lost}}, 404, ""},
		{"a hook of a task that is off", call{method: "POST", route: "/hooks/{key}", values: []string{offHook}}, 409, ""},

		{"a new task", call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}", values: []string{"new/one"},
			body:    "every: day\ncommand: |\n  echo 1\n\n  echo 2\n",
			headers: yaml()}, 201, `"file": "schedule.d/new+one.yaml"`},
		{"it, without having seen it", call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}",
			values: []string{"new/one"}, body: "every: day\n", headers: yaml()}, 428, "If-Match"},
		{"it, as it never was", call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}",
			values: []string{"new/one"}, body: "every: day\n", headers: yaml("If-Match", `"x"`)}, 412, ""},
		{"a task of another file", call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}",
			values: []string{"hourly"}, body: "every: day\n", headers: yaml()}, 409, "defined at schedule.yaml:6"},
		{"a task that is invalid", call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}",
			values: []string{"new"}, body: "every: fortnight\ncomand: x",
			headers: yaml()}, 422, `schedule.d/new.yaml:4:`},
		{"a task of another user", call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}",
			values: []string{"new"}, body: "every: day\ncommand: x\nuser: root", headers: yaml()}, 403, "another user"},
		{"two tasks", call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}",
			values: []string{"new"}, body: "every: day\ncommand: x\n- name: y", headers: yaml()}, 422, ""},
		{"a task in a form", call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}",
			values: []string{"new"}, body: "x=1", headers: text}, 415, "neither YAML nor JSON"},
		{"a large task", call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}",
			values: []string{"new"}, body: large, headers: yaml()}, 413, ""},
		{"a task with a name that is none",
			call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}",
				values: []string{"<script>"}, body: "every: day", headers: yaml()}, 422, "cannot be a name"},
		{"a task in JSON", call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}", values: []string{"json"},
			body: `{"every": "day", "command": ["echo", "\ud83d\ude00\u0007"]}`, headers: asJSON}, 201, "😀"},
		{"a task in two parts", call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}", values: []string{"json2"},
			body: `{"every": "day", "command": "x"}{"user": "root"}`, headers: asJSON}, 400, "something behind it"},
		{"a task with a key twice", call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}", values: []string{"x"},
			body: `{"every": "day", "command": "x", "env": {"A": "1", "A": "2"}}`, headers: asJSON}, 400, `\"A\" is there twice`},
		{"the end of a task, as it never was",
			call{scope: ScopeEdit, method: "DELETE", route: "/tasks/{name}",
				values: []string{"json"}, headers: map[string]string{"If-Match": `"x"`}}, 412, ""},
		{"the end of a task, without having seen it",
			call{scope: ScopeEdit, method: "DELETE", route: "/tasks/{name}", values: []string{"json"}}, 428, ""},
		{"a task, whatever is there", call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}",
			values: []string{"json"}, body: "every: day\ncommand: x\n", headers: yaml("If-Match", "*")}, 200, ""},
		{"the end of a task of another file",
			call{scope: ScopeEdit, method: "DELETE", route: "/tasks/{name}", values: []string{"hourly"}}, 409, ""},
		{"the end of no task", call{scope: ScopeEdit, method: "DELETE", route: "/tasks/{name}",
			values: []string{"nix"}}, 404, ""},
		{"the audit log", call{scope: ScopeRead, method: "GET", route: "/audit"}, 200, `"reason": "why not"`},
	} {
		got := b.call(tt.call)
		b.wants(tt.name, got, tt.status, tt.has)
		if got.status >= 400 {
			if p := got.problem(t); p.Status != tt.status || p.Detail == "" ||
				got.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: %v", tt.name, got)
			}
		}
		if tag := strings.TrimPrefix(got.header.Get("ETag"), "W/"); tt.call.method == "GET" && got.status == 200 &&
			!strings.Contains(tt.call.route, "stream") {
			again := tt.call
			again.headers = map[string]string{"If-None-Match": `"other", W/` + tag}
			if same := b.call(again); tag == "" || same.status != 304 || same.body != "" ||
				same.header.Get("ETag") != tag {
				t.Errorf("%s, which is at hand (%s): %v", tt.name, tag, same)
			}
			again.headers = map[string]string{"If-None-Match": `"other"`}
			if new := b.call(again); new.status != 200 || new.body != got.body {
				t.Errorf("%s, which is not at hand: %v", tt.name, new)
			}
		}
		if strings.Contains(got.body, "hunter2") || strings.Contains(got.body, "s3cr3t") {
			t.Errorf("%s shows a secret: %s", tt.name, got.body)
		}
	}
	b.write("schedule.yaml", strings.Replace(shop, `every: day, command: "false", enabled: false`,
		`command: "false", params: {DAY: {}}`, 1))
	b.wants("a hook of a task that needs a value",
		b.call(call{method: "POST", route: "/hooks/{key}", values: []string{offHook}}), 400, "a hook sets no params")
	b.write("schedule.yaml", shop)
	b.editAgain()
	b.decidesAboutProposals()
	b.endsWhatWaits()
	b.waitsForARun()
	skipped, missed := b.Ended("hourly", 240, outcome.Skipped, ""), b.Ended("a/b", 300, outcome.Missed, "")
	missed.LastSlot, missed.Slots = missed.Slot.Add(time.Hour), 2
	b.Remember(skipped, missed)
	b.wants("a trigger that waits, behind a pause",
		b.call(call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
			values: []string{"hourly"}, body: `{"in": 600}`}), 202)
	for _, run := range []string{good.ID, skipped.ID, missed.ID} {
		b.looksAtEverything(run)
	}
	b.Store = redistest.Dial(t, "redis://"+miniredis.RunT(t).Addr())
	there := b.Ended("a/b", 45, outcome.Failed, "")
	b.Elsewhere(cluster.Server{Name: "web-2", Minute: controltest.Noon}, there)
	b.looksAtEverything(there.ID)
	b.everyRouteRefuses()
	// how long ago a server was seen is another number each time
	b.everyStatusWasSeen("GET /events OK", "GET /servers Not Modified")
}

// looksAtEverything asks each route that only looks. The answers are checked against the document.
func (b *box) looksAtEverything(run string) {
	b.Helper()
	for _, r := range routesOf(b.server.Config) {
		if r.method != http.MethodGet || r.path == "/events" || r.scope.OfKeys() || r.scope == ScopeApprove {
			continue
		}
		value := "hourly"
		if strings.Contains(r.path, "{id}") {
			value = run
		}
		got := b.call(call{scope: ScopeRead, method: "GET", route: r.path, values: []string{value}})
		if got.status >= 400 && r.path != "/servers" && !strings.Contains(r.path, "/log") {
			b.Errorf("%s: %d: %s", r.path, got.status, got.body)
		}
	}
}

// editAgain changes and removes a task with its ETag.
func (b *box) editAgain() {
	b.Helper()
	seen := b.call(call{scope: ScopeRead, method: "GET", route: "/tasks/{name}", values: []string{"new/one"}})
	tag := map[string]string{"If-Match": seen.header.Get("ETag"), "Content-Type": "application/yaml",
		"Sched-Reason": "it was wrong"}
	got := b.call(call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}",
		values: []string{"new/one"}, body: "every: hour\ncommand: x", headers: tag})
	b.wants("the task, having seen it", got, 200, `"0 * * * *"`)
	b.wants("the same again", b.call(call{scope: ScopeEdit, method: "DELETE", route: "/tasks/{name}",
		values: []string{"new/one"}, headers: tag}), 412)
	tag["If-Match"] = got.header.Get("ETag")
	b.wants("its end", b.call(call{scope: ScopeEdit, method: "DELETE", route: "/tasks/{name}",
		values: []string{"new/one"}, headers: tag}), 204)
	if _, err := os.Stat(b.Path("schedule.d/new+one.yaml")); !os.IsNotExist(err) {
		b.Errorf("it is still there: %v", err)
	}
	b.wants("it is gone", b.call(call{scope: ScopeRead, method: "GET", route: "/tasks/{name}",
		values: []string{"new/one"}}), 404)
	b.wants("the audit log", b.call(call{scope: ScopeRead, method: "GET", route: "/audit", query: "?limit=3"}), 200,
		"it was wrong", `"action": "remove"`)
	trigger := call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}",
		values: []string{"before"}, headers: map[string]string{"Content-Type": "application/json"},
		body: `{"every": "day", "command": "x", "on_success": {"trigger": "json"}}`}
	b.wants("a task that triggers another", b.call(trigger), 201)
	end := call{scope: ScopeEdit, method: "DELETE", route: "/tasks/{name}", values: []string{"json"}}
	end.headers = map[string]string{"If-Match": b.call(call{scope: ScopeRead, method: "GET",
		route: end.route, values: end.values}).header.Get("ETag")}
	b.wants("the end of a task that another one triggers", b.call(end), 422, "json")
}

// everyRouteRefuses sends each route requests that all refuse: with an unknown parameter, a strange
// name of the server, no token, a token that is not enough, or an invalid schedule.
func (b *box) everyRouteRefuses() {
	b.Helper()
	keys := map[Scope]string{ScopeHook: b.token(Token{Name: "a hook", Scope: ScopeHook, Task: "hourly"}),
		ScopeBadge: b.token(Token{Name: "a badge", Scope: ScopeBadge, Task: "hourly"}) + ".svg"}
	keys[ScopeCalendar] = b.token(Token{Name: "a calendar", Scope: ScopeCalendar}) + ".ics"
	b.write("schedule.yaml", "tasks: [")
	for _, r := range routesOf(b.server.Config) {
		c := call{scope: ScopeEdit, method: r.method, route: r.path, values: []string{cmp.Or(keys[r.scope], "x")}}
		if r.scope == ScopeApprove {
			c.scope = ScopeApprove
		}
		if c.query = "?nix=1"; r.scope != ScopeHook {
			b.wants(r.path+" with an unknown parameter", b.call(c), 400, "there is no parameter")
		}
		c.query, c.headers = "", map[string]string{"Host": "evil.example"}
		b.wants(r.path+" by another name", b.call(c), 403, "is not called")
		c.headers = nil
		if r.takesBody() {
			b.server.bodyTimeout = 50 * time.Millisecond
			b.wants(r.path+" with a body that does not end",
				b.call(call{scope: c.scope, method: c.method, route: c.route, values: c.values, body: "{",
					endless: true}), 408, "the body did not come")
			b.server.bodyTimeout = maxBodyTime
		}
		if !r.needsNoSchedule {
			b.wants(r.path+" of an invalid schedule", b.call(c), 503, "the schedule is invalid", "schedule.yaml:1:")
		}
		if !r.scope.OfTokens() {
			continue
		}
		c.scope = ""
		b.wants(r.path+" without a token", b.call(c), 401, "a token is needed")
		if r.scope != ScopeRead {
			c.scope = ScopeRead
			b.wants(r.path+" with too little", b.call(c), 403, "my-read may read, and this needs "+string(r.scope))
		}
	}
	b.write("schedule.yaml", shop)
}

// everyStatusWasSeen reports answers that are documented and were not seen.
func (b *box) everyStatusWasSeen(but ...string) {
	b.Helper()
	for path, item := range b.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for status := range operation.Responses.Map() {
				var code int
				fmt.Sscan(status, &code)
				what := method + " " + path + " " + http.StatusText(code)
				bare := slices.ContainsFunc(routesOf(b.server.Config), func(r route) bool { return r.path == path && r.needsNoSchedule })
				if !b.called[what] && !slices.Contains(but, what) && !(bare && code == http.StatusServiceUnavailable) {
					b.Errorf("%s is documented, and no test has seen it", what)
				}
			}
		}
	}
}

// Lists come in pages. Together the pages have each item once.
func TestPagesAreTheList(t *testing.T) {
	b := newBox(t, shop)
	var all []state.Row
	for n := range 25 {
		all = append(all, b.Ended("hourly", n/3, outcome.Succeeded, "")) // three of each slot
	}
	b.Remember(all...)
	var whole, paged []string
	for _, r := range decode[page[view.Record]](t,
		b.call(call{scope: ScopeRead, method: "GET", route: "/runs"}).body).Items {
		whole = append(whole, r.Run)
	}
	for query := "?limit=4"; ; {
		p := decode[page[view.Record]](t,
			b.call(call{scope: ScopeRead, method: "GET", route: "/runs", query: query}).body)
		for _, r := range p.Items {
			paged = append(paged, r.Run)
		}
		if p.Next == nil {
			break
		}
		query = "?limit=4&cursor=" + *p.Next
	}
	if len(whole) != len(all) || !slices.Equal(whole, paged) {
		t.Errorf("%d records, %d in the list, %d in pages", len(all), len(whole), len(paged))
	}
	var tasks []string
	for query := "?limit=2"; ; {
		p := decode[page[view.Task]](t, b.call(call{scope: ScopeRead, method: "GET",
			route: "/tasks", query: query}).body)
		for _, task := range p.Items {
			tasks = append(tasks, task.Name)
		}
		if p.Next == nil {
			break
		}
		query = "?limit=2&cursor=" + *p.Next
	}
	if !slices.Equal(tasks, []string{"hourly", "a/b", "off"}) {
		t.Errorf("tasks: %v", tasks)
	}
	var slots []string
	for query := "?until=2026-03-02T12:00:00Z&limit=5"; ; {
		p := decode[page[view.Upcoming]](t,
			b.call(call{scope: ScopeRead, method: "GET", route: "/upcoming", query: query}).body)
		for _, slot := range p.Items {
			slots = append(slots, slot.Slot.String()+" "+slot.Task)
		}
		if p.Next == nil {
			break
		}
		query = "?until=2026-03-02T12:00:00Z&limit=5&cursor=" + *p.Next
	}
	if len(slots) != 25 || !slices.IsSorted(slots[:12]) || slots[12] != "2026-03-02T00:00:00Z hourly" ||
		slots[13] != "2026-03-02T00:00:00Z a/b" {
		t.Errorf("%d slots: %v", len(slots), slots)
	}
	passed := cursor{controltest.Noon.Add(-time.Hour), "hourly"}
	b.wants("what is to come, behind a slot that has passed", b.call(call{scope: ScopeRead, method: "GET",
		route: "/upcoming", query: "?limit=1&cursor=" + passed.String()}), 200, `"slot": "2026-03-01T12:00:00Z"`)
}

// A long answer is compressed for a client that asks for it; a stream never is.
func TestLongAnswersAreCompressed(t *testing.T) {
	b := newBox(t, shop)
	long, short := b.Ended("hourly", 60, outcome.Succeeded, strings.Repeat("hallo\n", 1000)),
		b.Ended("hourly", 120, outcome.Succeeded, "hallo\n")
	b.Remember(long, short)
	for _, tt := range []struct {
		about, path, accepts string
		compressed           bool
	}{
		{"a log", "/runs/" + long.ID + "/log", "gzip", true},
		{"a log, for a browser", "/runs/" + long.ID + "/log", "br;q=1.0, gzip;q=0.8, *;q=0.1", true},
		{"a list", "/runs", "GZIP", true},
		{"a log of a line", "/runs/" + short.ID + "/log", "gzip", false},
		{"a stream", "/runs/" + long.ID + "/log/stream", "gzip", false},
		{"nothing asked", "/runs", "", false},
		{"anything but gzip", "/runs", "identity, gzip;q=0", false},
		{"a problem", "/runs?nix=1", "gzip", false},
	} {
		get := func(accepts string, headers map[string]string) (*http.Response, []byte) {
			r, _ := http.NewRequest("GET", b.web.URL+prefix+tt.path, nil)
			r.Header.Set("Authorization", "Bearer "+b.tokens[ScopeRead])
			r.Header.Set("Accept-Encoding", accepts)
			for name, value := range headers {
				r.Header.Set(name, value)
			}
			response, err := (&http.Transport{DisableCompression: true}).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			return response, body
		}
		_, plain := get("", nil)
		response, body := get(tt.accepts, nil)
		if compressed := response.Header.Get("Content-Encoding") == "gzip"; compressed != tt.compressed {
			t.Errorf("%s: compressed: %t, %v", tt.about, compressed, response.Header)
		} else if compressed {
			if response.ContentLength != int64(len(body)) || len(body) >= len(plain) ||
				response.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s: %d bytes, said to be %d, of %d", tt.about, len(body), response.ContentLength, len(plain))
			}
			unpacked, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(unpacked); err != nil {
				t.Error(err)
			}
			if same, _ := get(tt.accepts,
				map[string]string{"If-None-Match": response.Header.Get("ETag")}); same.StatusCode != 304 {
				t.Errorf("%s, which is at hand: %s", tt.about, same.Status)
			}
		}
		if !bytes.Equal(body, plain) {
			t.Errorf("%s: %q, not %q", tt.about, body, plain)
		}
	}
}

// The data of each event is one line, and JSON: a client in a shell reads line by line.
func TestEachEventIsOneLineOfJSON(t *testing.T) {
	b := newBox(t, shop)
	run := b.Ended("hourly", 60, outcome.Succeeded, "hallo\n\nwelt\n")
	b.Remember(run)
	got := b.call(call{scope: ScopeRead, method: "GET", route: "/runs/{id}/log/stream", values: []string{run.ID}})
	events := 0
	for event := range strings.SplitSeq(strings.TrimSuffix(got.body, "\n\n"), "\n\n") {
		lines := strings.Split(event, "\n")
		if lines[0] == "retry: 2000" {
			continue
		}
		if events++; len(lines) != 3 || !strings.HasPrefix(lines[0], "id: ") ||
			!strings.HasPrefix(lines[1], "event: ") || !json.Valid([]byte(strings.TrimPrefix(lines[2], "data: "))) {
			t.Errorf("%q", event)
		}
	}
	if events != 2 {
		t.Errorf("%d events: %s", events, got.body)
	}
}

// A read-only server has no routes that change anything.
func TestReadOnlyHasNoSuchRoutes(t *testing.T) {
	b := newBox(t, shop, func(c *Config) { c.ReadOnly = true })
	for _, r := range routes() {
		if r.method != http.MethodGet && b.doc.Paths.Value(r.path) != nil &&
			b.doc.Paths.Value(r.path).GetOperation(r.method) != nil {
			t.Errorf("%s %s is documented", r.method, r.path)
		}
	}
	response, err := http.Post(b.web.URL+prefix+"/pauses", "application/json", nil)
	if err != nil || response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%v, %v", response.Status, err)
	}
	if _, err := load.File(b.Path("schedule.yaml"), load.Options{}); err != nil {
		t.Error(err)
	}
}

// A route that the server would have if it was started otherwise says how to start it.
func TestAWithheldRouteSaysHowTheServerOffersIt(t *testing.T) {
	withoutEdit := func(c *Config) { c.Edit = "" }
	readOnly := func(c *Config) { c.ReadOnly = true }
	for _, tt := range []struct {
		change       func(*Config)
		method, path string
		status       int
		want         string
	}{
		{withoutEdit, "PUT", "/tasks/a%2Fb", 405, "with --edit and a folder"},
		{withoutEdit, "DELETE", "/tasks/hourly", 405, "with --edit and a folder"},
		{withoutEdit, "PUT", "/pauses", 405, "it takes GET, POST"},
		{readOnly, "PUT", "/tasks/hourly", 405, "without --read-only"},
		{readOnly, "POST", "/tasks/hourly/trigger", 404, "without --read-only"},
	} {
		b := newBox(t, shop, tt.change)
		r, err := http.NewRequest(tt.method, b.web.URL+prefix+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var p Problem
		err = json.NewDecoder(response.Body).Decode(&p)
		response.Body.Close()
		if err != nil || response.StatusCode != tt.status || !strings.Contains(p.Hint, tt.want) {
			t.Errorf("%s %s: %d %+v, %v", tt.method, tt.path, response.StatusCode, p, err)
		}
	}
}

// A field that may be left out is not required.
func TestAFieldThatMayBeLeftOutIsNotRequired(t *testing.T) {
	type value struct {
		Always string    `json:"always"`
		Empty  string    `json:"empty,omitempty"`
		Zero   time.Time `json:"zero,omitzero"`
	}
	got := documenter{schemas: map[string]any{}}.object(reflect.TypeFor[value]())
	if required := fmt.Sprint(got["required"]); required != "[always]" {
		t.Error(required)
	}
}

// Scrapers look for /metrics. It is the route of the API, with its token.
func TestMetricsAreWhereScrapersLook(t *testing.T) {
	b := newBox(t, "tasks: [{name: a, every: hour, command: \"true\"}]\n")
	get := func(token string) (status int, kind, text string) {
		t.Helper()
		r, err := http.NewRequest("GET", b.web.URL+b.server.BasePath+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, response.Header.Get("Content-Type"), string(body)
	}
	inAPI := b.call(call{scope: ScopeRead, method: "GET", route: "/metrics"})
	status, kind, text := get(b.tokens[ScopeRead])
	if status != 200 || kind != inAPI.header.Get("Content-Type") || text != inAPI.body {
		t.Errorf("%d, %s:\n%s\nand in the API\n%s", status, kind, text, inAPI.body)
	}
	for _, token := range []string{"", "sched_wrong"} {
		if status, _, text := get(token); status != 401 || strings.Contains(text, "sched_tasks") {
			t.Errorf("with the token %q: %d, %s", token, status, text)
		}
	}
}
