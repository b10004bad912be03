package cmd_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// services is a server that takes the requests of the presets as the documentation of each service
// says, and answers as the service does. It refuses what the service would refuse.
type services struct {
	mu    sync.Mutex
	down  bool
	asked []string // what was accepted: the name of the service, and what tells the requests apart
}

// A serviceRequest is a request with its body, as JSON or as a form.
type serviceRequest struct {
	*http.Request
	body map[string]any
	form url.Values
}

// text returns a member of the body that must be a text with 1 to most characters.
func (r serviceRequest) text(name string, most int) (string, error) {
	text, ok := r.body[name].(string)
	if n := utf8.RuneCountInString(text); !ok || n == 0 || n > most {
		return "", fmt.Errorf("%s is %#v", name, r.body[name])
	}
	return text, nil
}

func (s *services) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	data, _ := io.ReadAll(hr.Body)
	r := serviceRequest{Request: hr}
	if hr.Header.Get("Content-Type") == "application/json" {
		json.Unmarshal(data, &r.body)
	} else {
		r.form, _ = url.ParseQuery(string(data))
	}
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	status, answer, asked, err := 0, "", "", error(nil)
	switch path := hr.Method + " " + hr.URL.Path; {
	case path == "POST /bot123:S3CRET/sendMessage":
		status, answer = 200, `{"ok": true, "result": {"message_id": 5}}`
		asked, err = telegram(r)
	case path == "POST /1/messages.json":
		status, answer = 200, `{"status": 1, "request": "647d2300-702c-4b38-8b2f-d56326ae460b"}`
		asked, err = pushover(r)
	case path == "POST /v2/enqueue":
		status, answer = 202, `{"status": "success", "message": "Event processed", "dedup_key": "a"}`
		asked, err = pagerDuty(r)
	case strings.HasPrefix(path, "PUT /_matrix/client/v3/rooms/!room:example.org/send/m.room.message/"):
		status, answer = 200, `{"event_id": "$YUwRidLecu:example.com"}`
		asked, err = matrix(r)
	case path == "POST /gotify/message":
		status, answer = 200, `{"id": 25, "appid": 5, "message": "x"}`
		asked, err = gotify(r)
	default:
		err = fmt.Errorf("there is no %s", path)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"ok": false, "status": 0, "error": %q}`, err)
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, asked)
	s.mu.Unlock()
	w.WriteHeader(status)
	fmt.Fprint(w, answer)
}

// telegram: sendMessage needs chat_id and text, 1 to 4,096 characters.
func telegram(r serviceRequest) (string, error) {
	chat, err := r.text("chat_id", 100)
	text, textErr := r.text("text", 4096)
	if err != nil || textErr != nil || chat != "-100123" {
		return "", fmt.Errorf("%v, %v", err, textErr)
	}
	headline, _, _ := strings.Cut(text, "\n")
	return "telegram " + headline, nil
}

// pushover: token, user and message are required; 250 characters of a title, 1,024 of a message,
// a priority from -2 to 2. No device has an empty name.
func pushover(r serviceRequest) (string, error) {
	title, message, priority := r.form.Get("title"), r.form.Get("message"), r.form.Get("priority")
	isLong := utf8.RuneCountInString(title) > 250 || utf8.RuneCountInString(message) > 1024
	if r.form.Get("token") != "S3CRET" || r.form.Get("user") == "" || message == "" || isLong || r.form.Has("device") ||
		!strings.Contains("-2 -1 0 1", priority) || priority == "" {
		return "", fmt.Errorf("a parameter is wrong in %v", r.form)
	}
	return "pushover " + priority + " " + title, nil
}

// pagerDuty: routing_key, event_action, and a payload of summary, source and severity; an alert is
// resolved by its dedup_key.
func pagerDuty(r serviceRequest) (string, error) {
	action, err := r.text("event_action", 20)
	dedup, dedupErr := r.text("dedup_key", 255)
	payload, _ := r.body["payload"].(map[string]any)
	inner := serviceRequest{body: payload}
	_, summaryErr := inner.text("summary", 1024)
	_, sourceErr := inner.text("source", 255)
	severity, severityErr := inner.text("severity", 20)
	for _, err := range []error{err, dedupErr, summaryErr, sourceErr, severityErr} {
		if err != nil {
			return "", err
		}
	}
	if r.body["routing_key"] != "S3CRET" || severity != "critical" || action != "trigger" && action != "resolve" {
		return "", fmt.Errorf("a value is wrong in %v", r.body)
	}
	return "pagerduty " + action + " " + dedup, nil
}

// matrix: a token in the header, and msgtype and body; the path ends with the transaction.
func matrix(r serviceRequest) (string, error) {
	body, err := r.text("body", 60000)
	if err != nil || r.body["msgtype"] != "m.text" || r.Header.Get("Authorization") != "Bearer S3CRET" {
		return "", fmt.Errorf("%v %v", err, r.Header)
	}
	headline, _, _ := strings.Cut(body, "\n")
	return "matrix " + headline, nil
}

// gotify: a token in the header, a message, and a priority that is a number.
func gotify(r serviceRequest) (string, error) {
	_, err := r.text("message", 100000)
	title, titleErr := r.text("title", 1000)
	priority, isNumber := r.body["priority"].(float64)
	if err != nil || titleErr != nil || !isNumber || r.Header.Get("X-Gotify-Key") != "S3CRET" {
		return "", fmt.Errorf("%v, %v, %v", err, titleErr, r.body["priority"])
	}
	return fmt.Sprintf("gotify %v %s", priority, title), nil
}

func TestEveryPresetSaysWhatItsServiceRequires(t *testing.T) {
	t.Parallel()
	all := &services{}
	server := httptest.NewServer(all)
	t.Cleanup(server.Close)
	hooks := strings.ReplaceAll(`[
      {preset: telegram, with: {url: "URL", token: "123:${TOKEN}", chat: "-100123"}},
      {preset: pushover, with: {url: "URL", token: "${TOKEN}", user: u}},
      {preset: pagerduty, with: {url: "URL", key: "${TOKEN}", severity: critical}},
      {preset: matrix, with: {url: "URL", token: "${TOKEN}", room: "!room:example.org"}},
      {preset: gotify, with: {url: "URL/gotify/", token: "${TOKEN}"}}]`, "URL", server.URL)
	b := newBox(t, `name: shop
env: {LONG: "`+strings.Repeat("ü<&> ", 40)+`"}
tasks:
  - name: t
    cron: "0 0 * * *"
    command: 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do echo "$LONG"; done; test -e good'
    on_failure: &hooks `+hooks+`
    on_recovery: *hooks
`)
	isDown := func(down bool) {
		all.mu.Lock()
		defer all.mu.Unlock()
		all.down = down
	}
	tick := func(at string) {
		t.Helper()
		c := b.Command("run", "--at", at)
		c.Env = append(c.Env, "TOKEN=S3CRET")
		if out, _ := c.CombinedOutput(); strings.Contains(string(out), "S3CRET") || strings.Contains(string(out), "sched: t: ") && !strings.Contains(string(out), "502") {
			t.Errorf("the tick says\n%s", out)
		}
	}
	tick("2026-01-01 00:00")
	b.Write("good", "")
	tick("2026-01-02 00:00")
	os.Remove(b.Path("good"))
	isDown(true)
	tick("2026-01-03 00:00")
	b.Write("good", "")
	isDown(false)
	tick("2026-01-04 00:00") // the failure of the day before arrives late, and opens no alert
	all.mu.Lock()
	defer all.mu.Unlock()
	got := map[string]int{}
	for _, asked := range all.asked {
		got[asked]++
	}
	for want, times := range map[string]int{
		"telegram [shop] t failed: exit code 1": 1, "telegram [shop] t recovered": 2,
		"pushover 1 [shop] t failed: exit code 1": 1, "pushover 0 [shop] t recovered": 2,
		"pagerduty trigger shop/t": 1, "pagerduty resolve shop/t": 3,
		"matrix [shop] t failed: exit code 1": 1, "matrix [shop] t recovered": 2,
		"gotify 8 [shop] t failed: exit code 1": 1, "gotify 4 [shop] t recovered": 2,
	} {
		if got[want] != times {
			t.Errorf("%q came %d times, in %q", want, got[want], all.asked)
		}
	}
}
