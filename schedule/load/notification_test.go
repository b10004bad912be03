package load

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"sched/schedule"
)

func TestNotifications(t *testing.T) {
	s := parseTest(t, `
name: shop
mail: {url: "smtp://${HOME}:25", from: sched@example.com}
defaults:
  on_failure: {mail: [ops@example.com, "${EMPTY:-}"], at_most: 2 per 1d}
tasks:
- name: a
  every: hour
  timezone: Asia/Tokyo
  command: x
  before: [{webhook: "https://x/${HOME}", format: slack}, echo]
  after:
  - {ping: "https://x/$${y", on: [start, failure]}
  - {mail: dev@example.com, when: output}
  on_success: {ping: "${EMPTY:-}"}
  on_skip: [{ping: "${EMPTY}"}, {ping: a}]
- {name: b, every: hour, command: x, on_failure: []}
`)
	mail := func(n schedule.Notification) *schedule.Notification {
		n.MailURL, n.MailFrom = "smtp://${HOME}:25", "sched@example.com"
		return &n
	}
	shell := []string{"/bin/sh", "-c"}
	want := schedule.Hooks{
		Before: []schedule.Hook{{Notify: &schedule.Notification{Webhook: "https://x/${HOME}", Format: "slack"}},
			{Run: schedule.Command{Line: "echo", Shell: shell}}},
		After: []schedule.Hook{
			{Notify: &schedule.Notification{Ping: "https://x/$${y",
				On: []schedule.Moment{schedule.OnStart, schedule.OnFailure}}},
			{Notify: mail(schedule.Notification{Mail: []string{"dev@example.com"}, When: schedule.Printed})},
		},
		OnFailure: []schedule.Hook{{Notify: mail(schedule.Notification{Mail: []string{"ops@example.com"},
			AtMost: schedule.Limit{N: 2, Per: 24 * time.Hour}})}},
		OnSkip: []schedule.Hook{{Notify: &schedule.Notification{Ping: "a"}}},
	}
	if got := s.Tasks[0].Hooks; !reflect.DeepEqual(got, want) {
		t.Errorf("\ngot  %s\nwant %s", inJSON(t, got), inJSON(t, want))
	}
	if got, want := s.Tasks[0].Sender, (schedule.ScheduleRef{Schedule: "shop", File: "/srv/shop/schedule.yaml",
		Zone: "Asia/Tokyo"}); got != want {
		t.Errorf("the sender is %+v", got)
	}
	if got := s.Tasks[1]; got.Hooks.NeedSchedule() || got.Sender != (schedule.ScheduleRef{}) {
		t.Errorf("a task without notifications has %s", inJSON(t, got))
	}
}

// The snapshot of a run has the text of the file. The process that sends the notification puts the
// values in.
func TestASnapshotHasNoSecrets(t *testing.T) {
	dir := writeFiles(t, map[string]string{"secrets/smtp": " hunter2\n", "schedule.yaml": `
mail: {url: "smtp://me:${file:secrets/smtp}@localhost", from: "${FROM}"}
` + one("after: [{mail: ['${TO}', '${NOBODY:-}']}, {ping: 'https://x/${file:secrets/none:-none}/${TO}'}]")})
	opts := testOptions()
	opts.Getenv = func(name string) (string, bool) {
		value, ok := map[string]string{"TO": "to@example.com", "FROM": "from@example.com"}[name]
		return value, ok
	}
	s, err := File(filepath.Join(dir, "schedule.yaml"), opts)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := inJSON(t, s.Tasks[0])
	for _, secret := range []string{"hunter2", "to@example.com", "from@example.com"} {
		if strings.Contains(snapshot, secret) {
			t.Errorf("%s is in the snapshot: %s", secret, snapshot)
		}
	}
	var again schedule.Task
	if err := json.Unmarshal([]byte(snapshot), &again); err != nil {
		t.Fatal(err)
	}
	x := schedule.Expansion{Getenv: opts.Getenv, Folder: again.Folder}
	mail, err := again.Hooks.After[0].Notify.Expanded(x)
	if want := (schedule.Notification{Mail: []string{"to@example.com"}, MailURL: "smtp://me:hunter2@localhost",
		MailFrom: "from@example.com"}); err != nil || !reflect.DeepEqual(mail, want) {
		t.Errorf("%+v, %v", mail, err)
	}
	ping, err := again.Hooks.After[1].Notify.Expanded(x)
	if err != nil || ping.Ping != "https://x/none/to@example.com" {
		t.Errorf("%+v, %v", ping, err)
	}
	x.Folder = "/nowhere"
	if _, err := again.Hooks.After[0].Notify.Expanded(x); err == nil || err.Error() != "there is no file secrets/smtp" {
		t.Errorf("without the file: %v", err)
	}
}

// If nobody checks notifications, their secrets may be missing: the last valid schedule runs
// without them.
func TestTheTasksDoNotDependOnTheSecretsOfNotifications(t *testing.T) {
	opts := testOptions()
	opts.CheckNotification = nil
	s, err := Text([]byte("mail: {url: '${MISSING}'}\n"+one("after: [{ping: '${file:missing}'}, {mail: refused}]")),
		"/srv/schedule.yaml", opts)
	if err != nil || len(s.Tasks[0].Hooks.After) != 2 {
		t.Errorf("%v", err)
	}
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
