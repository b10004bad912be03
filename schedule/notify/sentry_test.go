package notify_test

import (
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/notify"
	"sched/schedule/outcome"
)

// The start and the end of a run are check-ins with one id. Each tells Sentry of the monitor.
func TestSentryGetsTheCheckInsOfARun(t *testing.T) {
	last, server := record(t)
	dsn := strings.Replace(server, "://", "://s3cret@", 1) + "/self/hosted/42"
	target := notify.Target{Sentry: dsn, Monitor: &schedule.Monitor{Cron: "30 2 * * *", Zone: "America/New_York",
		Margin: 5 * time.Minute, Longest: 90 * time.Second}}
	const monitor = `"monitor_config":{"checkin_margin":5,"max_runtime":2,"schedule":{"type":"crontab","value":"30 2 * * *"},"timezone":"America/New_York"},"monitor_slug":"shop-nightly-report",`
	for became, want := range map[outcome.Outcome]struct{ duration, status string }{
		"":          {"", "in_progress"},
		"succeeded": {`"duration":11.5,`, "ok"},
		"timed out": {`"duration":11.5,`, "error"},
	} {
		msg := failure()
		if msg.Outcome = became; became == "" {
			msg.Event, msg.Duration = notify.Start, 0
		}
		if e := send(t, target, msg); e != nil {
			t.Fatal(e)
		}
		if last.Method != "POST" || last.RequestURI != "/self/hosted/api/42/envelope/?sentry_key=s3cret&sentry_version=7" {
			t.Errorf("%s %s", last.Method, last.RequestURI)
		}
		checkIn := `{"check_in_id":"01920ba47a007c119d0e5c2f9a1b3d4e",` + want.duration + monitor + `"status":"` + want.status + `"}`
		if text := "{}\n{\"type\":\"check_in\"}\n" + checkIn + "\n"; last.body != text {
			t.Errorf("%s: it gets\n%snot\n%s", became, last.body, text)
		}
	}
}

// Slugs of Sentry have at most 50 characters, and tasks with long names keep monitors of their own.
func TestEachTaskHasAMonitorOfItsOwn(t *testing.T) {
	slugs := map[string]bool{}
	for _, task := range []string{strings.Repeat("long/Name ", 6) + "1", strings.Repeat("long/Name ", 6) + "2"} {
		last, server := record(t)
		msg := failure()
		msg.Task = task
		if e := send(t, notify.Target{Sentry: strings.Replace(server, "://", "://key@", 1) + "/1"}, msg); e != nil {
			t.Fatal(e)
		}
		_, slug, _ := strings.Cut(last.body, `"monitor_slug":"`)
		slug, _, _ = strings.Cut(slug, `"`)
		if slugs[slug] = true; len(slug) > 50 || strings.ContainsAny(slug, "/ N") ||
			strings.Contains(last.body, "monitor_config") {
			t.Errorf("%s", last.body)
		}
	}
	if len(slugs) != 2 {
		t.Errorf("%v", slugs)
	}
}

func TestADSNIsChecked(t *testing.T) {
	for _, dsn := range []string{"https://o1.ingest.sentry.io/42", "https://key@o1.ingest.sentry.io",
		"https://key@o1.ingest.sentry.io/shop", "key@host/42"} {
		err := notify.Check(notify.Target{Sentry: dsn})
		if err == nil || !strings.Contains(err.Error(), "the DSN is not one of Sentry") {
			t.Errorf("%s: %v", dsn, err)
		}
	}
}
