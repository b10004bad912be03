package notify_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/notify"
)

// aMessage is about a run that failed.
func aMessage() notify.Message {
	slot := time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)
	return notify.Message{
		ID: "1", Event: notify.Failure, Schedule: "shop", Task: "nightly-report",
		Run: "01920ba4-7a00-7c11-9d0e-5c2f9a1b3d4e", Server: "web-1",
		Slot: slot, Started: slot, Ended: slot.Add(11500 * time.Millisecond), Duration: 11500 * time.Millisecond,
		Outcome: "failed", Reason: "exit code 7", Output: "no such table: orders\n",
	}
}

// A webhook for Slack gets one text.
func ExampleSend() {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Printf("%s %s\n%s", r.Method, r.URL.Path, body)
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	target := notify.Target{Webhook: server.URL + "/services/T0/B1", Format: notify.Slack}
	if err := notify.Send(ctx, target, aMessage()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// POST /services/T0/B1
	// {"text":"[shop] nightly-report failed: exit code 7\non web-1, due 2026-11-21 02:30:00 UTC, took 11.5 s, `sched logs 5c2f9a1b3d4e`\n```\nno such table: orders\n```"}
}

// An error says whether to try again, and has no secret of the URL in it.
func ExampleSend_error() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "channel_is_archived", http.StatusGone)
	}))
	defer server.Close()

	target := notify.Target{Webhook: server.URL + "/services/s3cret"}
	err := notify.Send(context.Background(), target, aMessage())
	var e *notify.Error
	if errors.As(err, &e) {
		fmt.Println(strings.ReplaceAll(e.Text, strings.TrimPrefix(server.URL, "http://"), "HOST"))
		fmt.Println("hint:", e.Hint)
		fmt.Println("permanent:", e.Permanent)
	}
	// Output:
	// webhook HOST: answers 410 Gone: channel_is_archived
	// hint: is it the whole URL, and still valid?
	// permanent: true
}

// A ping in the protocol of healthchecks.io says by its path how the run ended.
func ExampleTarget_ping() {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Printf("%s %s\n%s", r.Method, r.URL, body)
	}))
	defer server.Close()

	code := 7
	m := aMessage()
	m.ExitCode = &code
	target := notify.Target{Ping: server.URL + "/uuid", On: []schedule.Moment{}}
	if err := notify.Send(context.Background(), target, m); err != nil {
		fmt.Println(err)
	}
	// Output:
	// POST /uuid/7?rid=01920ba4-7a00-7c11-9d0e-5c2f9a1b3d4e
	// no such table: orders
}

// Check sees what is wrong with a target without connecting to it.
func ExampleCheck() {
	for _, target := range []notify.Target{
		{Ping: "hc-ping.com/uuid"},
		{Mail: []string{"ops"}},
		{Mail: []string{"Ops <ops@example.com>"}, MailURL: "smtp://mail.example.com"},
	} {
		fmt.Println(notify.Check(target))
	}
	// Output:
	// ping: the URL does not begin with https:// or http:// and a host
	// mail to an invalid address: address 1 is not a mail address
	// <nil>
}

// String names a target without its secrets.
func ExampleTarget_String() {
	fmt.Println(notify.Target{Webhook: "https://hooks.slack.com/services/T0/B1/s3cret"})
	fmt.Println(notify.Target{Mail: []string{"Ops <ops@example.com>", "dev@example.com"},
		MailURL: "smtps://user:password@mail.example.com"})
	// Output:
	// webhook hooks.slack.com
	// mail to ops@example.com, dev@example.com
}
