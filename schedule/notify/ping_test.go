package notify_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sched/schedule"
	"sched/schedule/notify"
)

// recorder is a server that takes everything and remembers the last request.
type recorder struct {
	*http.Request
	body string
}

func record(t *testing.T) (*recorder, string) {
	last := &recorder{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		last.Request, last.body = r, string(text)
	}))
	t.Cleanup(server.Close)
	return last, server.URL
}

func TestAPingIsTheURLAndNothingElse(t *testing.T) {
	last, server := record(t)
	for _, path := range []string{"/", "/a/b/", "/a%2Fb?x=1&y=%20", "/?"} {
		if e := send(t, notify.Target{Ping: server + path}, failure()); e != nil {
			t.Fatal(e)
		}
		if last.Method != "GET" || last.RequestURI != strings.TrimSuffix(path, "#") || last.body != "" ||
			last.UserAgent() != "sched" {
			t.Errorf("%s: %s %s %q by %s", path, last.Method, last.RequestURI, last.body, last.UserAgent())
		}
	}
	send(t, notify.Target{Ping: strings.Replace(server, "://", "://B0B:hunter2@", 1)}, failure())
	if user, password, _ := last.BasicAuth(); user != "B0B" || password != "hunter2" {
		t.Errorf("user %q, password %q", user, password)
	}
}

// Each row is an event, and the request for it by https://healthchecks.io/docs/http_api/.
func TestTheProtocolOfHealthchecks(t *testing.T) {
	last, server := record(t)
	const rid = "rid=01920ba4-7a00-7c11-9d0e-5c2f9a1b3d4e"
	const output = "no such table: orders\n"
	code := func(n int) *int { return &n }
	for _, row := range []struct {
		what   string
		event  notify.Event
		ended  notify.Message // outcome, reason and exit code
		url    string
		asked  string
		posted string
	}{
		{"a start", notify.Start, notify.Message{}, "/uuid", "GET /uuid/start?" + rid, ""},
		{"a success", notify.Success, notify.Message{Outcome: "succeeded", ExitCode: code(0)}, "/uuid",
			"POST /uuid?" + rid, output},
		{"a success with a code of its own", notify.Success, notify.Message{Outcome: "succeeded", ExitCode: code(3)},
			"/uuid", "POST /uuid?" + rid, output},
		{"a recovery", notify.Recovery, notify.Message{Outcome: "succeeded", ExitCode: code(0)}, "/uuid",
			"POST /uuid?" + rid, output},
		{"a failure", notify.Failure, notify.Message{Outcome: "failed", Reason: "exit code 7", ExitCode: code(7)},
			"/uuid", "POST /uuid/7?" + rid, output},
		{"a failure with the code 0", notify.Failure,
			notify.Message{Outcome: "failed", Reason: "exit code 0", ExitCode: code(0)}, "/uuid",
			"POST /uuid/fail?" + rid, "nightly-report failed: exit code 0\n\n" + output},
		{"a failure without a code", notify.Failure,
			notify.Message{Outcome: "failed", Reason: "cannot start: no such file"}, "/uuid",
			"POST /uuid/fail?" + rid, "nightly-report failed: cannot start: no such file\n\n" + output},
		{"a timeout", notify.Failure, notify.Message{Outcome: "timed out", Reason: "after 20m", ExitCode: code(143)}, "/uuid",
			"POST /uuid/fail?" + rid, "nightly-report timed out after 20m\n\n" + output},
		{"a finish that went well", notify.Finish, notify.Message{Outcome: "succeeded", ExitCode: code(0)}, "/uuid",
			"POST /uuid?" + rid, output},
		{"a finish that did not", notify.Finish,
			notify.Message{Outcome: "failed", Reason: "exit code 1", ExitCode: code(1)}, "/uuid",
			"POST /uuid/1?" + rid, output},

		{"a slug, and a query of its own", notify.Start, notify.Message{}, "/key/nightly-report?create=1",
			"GET /key/nightly-report/start?create=1&" + rid, ""},
		{"a slash at the end", notify.Start, notify.Message{}, "/uuid/", "GET /uuid/start?" + rid, ""},
		{"an id of the user's", notify.Start, notify.Message{}, "/uuid?rid=mine", "GET /uuid/start?rid=mine", ""},
		{"an escaped path", notify.Start, notify.Message{}, "/a%2Fb", "GET /a%2Fb/start?" + rid, ""},
	} {
		t.Run(row.what, func(t *testing.T) {
			msg := failure()
			msg.Event, msg.Outcome, msg.Reason, msg.ExitCode = row.event, row.ended.Outcome,
				row.ended.Reason, row.ended.ExitCode
			if e := send(t, notify.Target{Ping: server + row.url, On: []schedule.Moment{}}, msg); e != nil {
				t.Fatal(e)
			}
			if asked := last.Method + " " + last.RequestURI; asked != row.asked || last.body != row.posted {
				t.Errorf("got  %s %q\nwant %s %q", asked, last.body, row.asked, row.posted)
			}
		})
	}
	t.Run("nothing printed, and no run", func(t *testing.T) {
		msg := failure()
		msg.Run, msg.Output = "", ""
		send(t, notify.Target{Ping: server + "/uuid", On: []schedule.Moment{}}, msg)
		if last.Method != "GET" || last.RequestURI != "/uuid/7" {
			t.Errorf("%s %s", last.Method, last.RequestURI)
		}
	})
	t.Run("the end of a long output", func(t *testing.T) {
		msg := failure()
		msg.Output = strings.Repeat("äöü", 20_000) + "the end\n"
		send(t, notify.Target{Ping: server + "/uuid", On: []schedule.Moment{}}, msg)
		if len(last.body) > 10_000 || !strings.HasPrefix(last.body, "ä") && !strings.HasPrefix(last.body, "ö") &&
			!strings.HasPrefix(last.body, "ü") ||
			!strings.HasSuffix(last.body, "üthe end\n") ||
			last.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%d bytes: %q … %q", len(last.body), last.body[:10], last.body[len(last.body)-20:])
		}
	})
	t.Run("what is no text comes as it was printed", func(t *testing.T) {
		msg := failure()
		msg.Output = "\xff\xfe\x00\x01 gr\xfc\xdfe \xc3\x28\n"
		send(t, notify.Target{Ping: server + "/uuid", On: []schedule.Moment{}}, msg)
		if last.body != msg.Output || last.Header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("%q as %s", last.body, last.Header.Get("Content-Type"))
		}
	})
}
