package schedule

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
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
	mail := func(n Notification) *Notification {
		n.MailURL, n.MailFrom = "smtp://${HOME}:25", "sched@example.com"
		return &n
	}
	shell := []string{"/bin/sh", "-c"}
	want := Hooks{
		Before: []Hook{{Notify: &Notification{Webhook: "https://x/${HOME}", Format: "slack"}}, {Run: Command{Line: "echo", Shell: shell}}},
		After: []Hook{
			{Notify: &Notification{Ping: "https://x/$${y", On: []Moment{OnStart, OnFailure}}},
			{Notify: mail(Notification{Mail: []string{"dev@example.com"}, When: Printed})},
		},
		OnFailure: []Hook{{Notify: mail(Notification{Mail: []string{"ops@example.com"}, AtMost: Limit{2, 24 * time.Hour}})}},
		OnSkip:    []Hook{{Notify: &Notification{Ping: "a"}}},
	}
	if got := s.Tasks[0].Hooks; !reflect.DeepEqual(got, want) {
		t.Errorf("\ngot  %s\nwant %s", inJSON(t, got), inJSON(t, want))
	}
	if got, want := s.Tasks[0].Sender, (Sender{"shop", "/srv/shop/schedule.yaml", "Asia/Tokyo"}); got != want {
		t.Errorf("the sender is %+v", got)
	}
	if got := s.Tasks[1]; got.Hooks.NameSchedule() || got.Sender != (Sender{}) {
		t.Errorf("a task without notifications has %s", inJSON(t, got))
	}
}

// The snapshot of a run has what the file has. Who sends it puts the values in.
func TestASnapshotHasNoSecrets(t *testing.T) {
	dir := writeFiles(t, map[string]string{"secrets/smtp": " hunter2\n", "schedule.yaml": `
mail: {url: "smtp://me:${file:secrets/smtp}@localhost", from: "${FROM}"}
` + one("after: [{mail: ['${TO}', '${NOBODY:-}']}, {ping: 'https://x/${file:secrets/none:-none}/${TO}'}]")})
	opts := testOptions()
	opts.Getenv = func(name string) (string, bool) {
		value, ok := map[string]string{"TO": "to@example.com", "FROM": "from@example.com"}[name]
		return value, ok
	}
	s, err := Load(filepath.Join(dir, "schedule.yaml"), opts)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := inJSON(t, s.Tasks[0])
	for _, secret := range []string{"hunter2", "to@example.com", "from@example.com"} {
		if strings.Contains(snapshot, secret) {
			t.Errorf("%s is in the snapshot: %s", secret, snapshot)
		}
	}
	var again Task
	if err := json.Unmarshal([]byte(snapshot), &again); err != nil {
		t.Fatal(err)
	}
	x := Expansion{Getenv: opts.Getenv, Folder: again.Folder}
	mail, err := again.Hooks.After[0].Notify.Expanded(x)
	if want := (Notification{Mail: []string{"to@example.com"}, MailURL: "smtp://me:hunter2@localhost", MailFrom: "from@example.com"}); err != nil || !reflect.DeepEqual(mail, want) {
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

// Where nobody checks notifications, their secrets may be missing: the last valid schedule runs without them.
func TestTheTasksDoNotDependOnTheSecretsOfNotifications(t *testing.T) {
	opts := testOptions()
	opts.CheckNotification = nil
	s, err := Parse([]byte("mail: {url: '${MISSING}'}\n"+one("after: [{ping: '${file:missing}'}, {mail: refused}]")), "/srv/schedule.yaml", opts)
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
