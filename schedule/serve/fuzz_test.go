package serve

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"sched/schedule/outcome"
)

func cursorOf(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "\x00")))
}

// The answer to any cursor is a list, or says what is wrong with the cursor.
func FuzzCursors(f *testing.F) {
	b := newBox(f, shop)
	b.Remember(b.Ended("hourly", 60, outcome.Succeeded, ""))
	for _, parts := range [][]string{{"hourly"}, {"", "hourly"}, {"0", "x"}, {"1772366400000000", "hourly"},
		{"9404640000000000000", "x"}, {"-1", ""}, {"", ""}, {"a", "b", "c"}} {
		f.Add(cursorOf(parts...))
	}
	f.Add("AAAA")
	f.Add(strings.Repeat("A", 2000))
	f.Fuzz(func(t *testing.T, cursor string) {
		for _, path := range []string{"/tasks", "/runs", "/upcoming", "/audit"} {
			b.answers(t, "GET", path+"?cursor="+url.QueryEscape(cursor), "", http.StatusOK, http.StatusBadRequest)
		}
	})
}

// A change with any body is done, or refused with a reason.
func FuzzBodies(f *testing.F) {
	b := newBox(f, shop)
	for _, body := range []string{
		``, `{}`, `null`, `[]`, `{"in": 600, "reason": "why not"}`, `{"at": "2026-03-01T13:00:00Z"}`, `{"in": 1e309}`, `{"in": -1}`, `{"tasks": ["hourly"], "for": 60}`,
		`{"tags": ["x"], "until": "300000-01-01T00:00:00Z"}`, `{"reason": "` + strings.Repeat("x", 600) + `"}`, `{"a": {"a": {"a": []}}}`, `{"in":1}{"in":2}`, `{}]`, "\xff\x00",
		`{"every": "day", "command": ["echo", "\ud83d\ude00"]}`, `{"name": "new", "cron": "* * * * *"}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if len(body) > MostBody {
			return
		}
		const refused, invalid = http.StatusBadRequest, http.StatusUnprocessableEntity
		// runs of the others would pile up
		b.answers(t, "POST", "/tasks/off/trigger", body, http.StatusConflict, refused)
		b.answers(t, "POST", "/pauses", body, http.StatusCreated, refused, http.StatusNotFound)
		b.answers(t, "POST", "/runs/ffffffff-ffff-7fff-8fff-ffffffffffff/stop", body, http.StatusNotFound, refused)
		b.answers(t, "PUT", "/tasks/hourly", body, http.StatusConflict, refused, invalid)
		if _, err := yamlOf([]byte(body), "new"); err == nil && !json.Valid([]byte(body)) {
			t.Errorf("%q is no JSON, and was taken for an object", body)
		}
	})
}

// answers sends a request past the network, and checks that the answer is JSON with one of the
// statuses.
func (b *box) answers(t *testing.T, method, path, body string, statuses ...int) {
	t.Helper()
	r := httptest.NewRequest(method, "http://localhost"+prefix+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+b.tokens[ScopeEdit])
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	b.web.Config.Handler.ServeHTTP(w, r)
	for _, status := range statuses {
		if w.Code == status {
			var p Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil ||
				status >= 400 && (p.Detail == "" || p.Status != status) {
				t.Fatalf("%s %s with %q: %d, %v: %s", method, path, body, w.Code, err, w.Body)
			}
			return
		}
	}
	t.Fatalf("%s %s with %q: %d: %s", method, path, body, w.Code, w.Body)
}
