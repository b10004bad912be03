package notify_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"sched/schedule/notify"
	"sched/schedule/preset"
)

// service is a target that posts to a URL, with its secret in the path, a header and the body.
func service(url string) notify.Target {
	return notify.Target{Preset: &preset.Preset{Name: "own", With: map[string]string{"url": url, "key": "s3cret/é"},
		URL: "{{url}}/{{key}}", Method: "POST", Headers: map[string]string{"X-Key": "{{key}}"},
		JSON: map[string]any{"key": "{{key}}", "details": "{{details:300}}"}, Success: map[string]any{"ok": true}}}
}

// answer is a server that answers each request in the same way.
func answer(t *testing.T, status int, header, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, value, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAPresetNeedsTheAnswerOfItsService(t *testing.T) {
	if e := send(t, service(answer(t, 200, "", `{"ok": true, "more": "`+strings.Repeat("x", 10000)+`"}`)), failure()); e != nil {
		t.Error(e)
	}
	for _, row := range []struct {
		status    int
		body, say string
		permanent bool
	}{
		{200, `{"ok": false, "said": "s3cret/é s3cret%2F%C3%A9"}`, "answers 200 OK without `ok: true`: {\"ok\": false, \"said\": \"*** ***\"}", false},
		{200, "<html>Welcome", "answers 200 OK without `ok: true`", false},
		{401, `{"error": "no s3cret/é"}`, "answers 401 Unauthorized: {\"error\": \"no ***\"}", true},
		{503, "", "answers 503 Service Unavailable", false},
	} {
		target := service(answer(t, row.status, "", row.body))
		e := send(t, target, failure())
		if e == nil || e.Text != target.String()+": "+row.say || e.Permanent != row.permanent {
			t.Errorf("%d %s: %+v", row.status, row.body, e)
		}
	}
}

func TestAPresetGoesToNoOtherHost(t *testing.T) {
	last, server := record(t)
	elsewhere := strings.Replace(server, "127.0.0.1", "localhost", 1)
	e := send(t, service(answer(t, 307, "Location: "+elsewhere+"/s3cret", "")), failure())
	if e == nil || !e.Permanent || !strings.HasSuffix(e.Text, "redirects to another host") || last.Request != nil {
		t.Errorf("%+v, %v", e, last.Request)
	}
	e = send(t, service(answer(t, 302, "Location: "+server+"/s3cret", "")), failure())
	if e == nil || !e.Permanent || last.Request != nil {
		t.Errorf("%+v, %v", e, last.Request)
	}
}

func TestDetailsKeepTheirLimit(t *testing.T) {
	last, server := record(t)
	m := failure()
	m.Output = strings.Repeat("ü ``` <b>\n", 1000) + "the end"
	send(t, service(server), m)
	var body struct{ Key, Details string }
	if err := json.Unmarshal([]byte(last.body), &body); err != nil || body.Key != "s3cret/é" ||
		utf8.RuneCountInString(body.Details) > 300 || !strings.HasSuffix(body.Details, "\nthe end") {
		t.Errorf("%v, %d characters in %q", err, utf8.RuneCountInString(body.Details), body.Details)
	}
	if last.Header.Get("X-Key") != "s3cret/é" || last.RequestURI != "/s3cret%2F%C3%A9" {
		t.Errorf("%s %v", last.RequestURI, last.Header)
	}
}
