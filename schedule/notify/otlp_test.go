package notify_test

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"sched/schedule/notify"
)

// spanOf is the span that a collector gets, and the request.
func spanOf(t *testing.T, path string, msg notify.Message) (span map[string]any) {
	t.Helper()
	last, server := record(t)
	if e := send(t, notify.Target{OTLP: server + path}, msg); e != nil {
		t.Fatal(e)
	}
	if last.Method != "POST" || last.RequestURI != "/v1/traces" ||
		last.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s %v", last.Method, last.RequestURI, last.Header)
	}
	var body struct {
		ResourceSpans []struct {
			Resource   map[string]any
			ScopeSpans []struct{ Spans []map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(last.body), &body); err != nil {
		t.Fatal(err)
	}
	if got := attributesOf(body.ResourceSpans[0].Resource); got["service.name"] != "shop" ||
		got["host.name"] != "web-1" {
		t.Errorf("the resource is %v", got)
	}
	return body.ResourceSpans[0].ScopeSpans[0].Spans[0]
}

func attributesOf(of map[string]any) map[string]any {
	all := map[string]any{}
	for _, one := range of["attributes"].([]any) {
		for _, value := range one.(map[string]any)["value"].(map[string]any) {
			all[one.(map[string]any)["key"].(string)] = value
		}
	}
	return all
}

// The span of an attempt is below the span of its run, and above the spans of its command.
func TestTheSpansOfARunAreATrace(t *testing.T) {
	msg := failure()
	msg.Event, msg.Cause = notify.Finish, "01920ba4-7000-7c11-9d0e-000000000001"
	run := spanOf(t, "", msg)
	msg.Event, msg.PID, msg.Program, msg.Started = notify.AttemptEnd, 311, "sh", msg.Started.Add(8*time.Second)
	attempt := spanOf(t, "/v1/traces", msg)

	const trace = "01920ba47a007c119d0e5c2f9a1b3d4e"
	if run["traceId"] != trace || attempt["traceId"] != trace || attempt["parentSpanId"] != run["spanId"] ||
		run["parentSpanId"] != nil {
		t.Errorf("the ids of\n%v\n%v", run, attempt)
	}
	if got, want := notify.TraceParent(msg.Run, 3), "00-"+trace+"-"+attempt["spanId"].(string)+"-01"; got != want {
		t.Errorf("TRACEPARENT is %s, not %s", got, want)
	}
	if !regexp.MustCompile("^[0-9a-f]{16}$").MatchString(run["spanId"].(string)) || run["spanId"] == attempt["spanId"] {
		t.Errorf("%v, %v", run["spanId"], attempt["spanId"])
	}
	if run["name"] != "nightly-report" || attempt["name"] != "sh" || run["kind"] != 1.0 || attempt["kind"] != 3.0 {
		t.Errorf("%v\n%v", run, attempt)
	}
	if run["startTimeUnixNano"] != "1795246201000000000" || attempt["startTimeUnixNano"] != "1795246209000000000" ||
		run["endTimeUnixNano"] != "1795246212500000000" {
		t.Errorf("%v\n%v", run, attempt)
	}
	if link := run["links"].([]any)[0].(map[string]any); link["traceId"] != "01920ba470007c119d0e000000000001" {
		t.Errorf("it links to %v", link)
	}
	got := attributesOf(attempt)
	for key, want := range map[string]string{
		"sched.attempt": "3", "process.executable.name": "sh", "process.pid": "311",
		"process.exit.code": "7", "error.type": "failed",
		"sched.task": "nightly-report", "sched.slot": "2026-11-21T07:30:00Z",
	} {
		if got[key] != want {
			t.Errorf("%s is %v, not %s", key, got[key], want)
		}
	}
	if status := attempt["status"].(map[string]any); status["code"] != 2.0 || status["message"] != "exit code 7" {
		t.Errorf("the status is %v", status)
	}
}

func TestTheSpanOfASuccessHasNoError(t *testing.T) {
	msg := failure()
	msg.Event, msg.Outcome, msg.Reason, msg.ExitCode = notify.Finish, "succeeded", "", new(int)
	span := spanOf(t, "/", msg)
	got := attributesOf(span)
	if _, is := got["error.type"]; is || got["process.exit.code"] != "0" || len(span["status"].(map[string]any)) > 0 ||
		span["links"] != nil {
		t.Errorf("%v", span)
	}
}
