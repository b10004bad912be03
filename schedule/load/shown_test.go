package load_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/load"
)

func TestSettingsHaveEveryKeyOfATask(t *testing.T) {
	s, err := load.Text([]byte("tasks: [{name: t, every: hour, command: x, env: {A: b}, params: {C: d}}]"),
		"/srv/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, setting := range load.Settings(s.Tasks[0]) {
		above, _, _ := strings.Cut(setting.Key, ".")
		shown = append(shown, above)
	}
	for _, key := range load.Keys(load.InTask) {
		if key.Name != "name" && !slices.Contains(shown, key.Name) {
			t.Errorf("Settings has no %s", key.Name)
		}
	}
}

const layered = `timezone: Europe/Berlin
env: {LANG: C, TOKEN: "${TOKEN}"}
defaults:
  timeout: 1h
  retry: {attempts: 5, delay: 1m}
tasks:
  - group: warehouse
    env: {LANG: de_DE, DIR: /srv}
    kill_after: 3s
    tasks:
      - name: load
        every: day at 3:00
        command: ./load
        mutex: table
        retry: {attempts: 2}
        on_failure: {webhook: "https://example.com/${TOKEN}"}
        output: load.log
`

func TestEachSettingSaysWhereItWasSet(t *testing.T) {
	getenv := func(name string) (string, bool) { return "s3cret", name == "TOKEN" }
	s, err := load.Text([]byte(layered), "/srv/schedule.yaml", load.Options{Getenv: getenv, Origins: true})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]schedule.Setting{}
	for _, setting := range load.Settings(s.Tasks[0]) {
		found[setting.Key] = setting
	}
	for _, want := range []struct {
		key     string
		value   any
		line    int
		section string
	}{
		{"timezone", "Europe/Berlin", 1, ""},
		{"env.TOKEN", "${TOKEN}", 2, ""},
		{"env.LANG", "de_DE", 8, `group "warehouse"`},
		{"timeout", time.Hour, 4, "defaults"},
		{"kill_after", 3 * time.Second, 9, `group "warehouse"`},
		{"every", "day at 3:00", 12, ""},
		{"retry.attempts", 2, 15, ""},
		{"retry.delay", time.Minute, 5, "defaults"},
		{"output.file", "/srv/load.log", 17, ""},
		// A mutex is of no use without the key that takes it, and so sets that, too.
		{"without_overlapping", true, 14, ""},
		{"background", false, 0, ""},
	} {
		got := found[want.key]
		if got.Value != want.value || got.From.Place.Line != want.line || got.From.Section != want.section ||
			got.IsSet != (want.line > 0) {
			t.Errorf("%s is %v of %v %s, not %v of line %d %s",
				want.key, got.Value, got.From.Place, got.From.Section, want.value, want.line, want.section)
		}
	}
	hooks := found["on_failure"].Value.([]schedule.Hook)
	if hooks[0].Notify.Webhook != "https://example.com/${TOKEN}" {
		t.Errorf("the target is %s", hooks[0].Notify.Webhook)
	}
}

func TestAVariableOfTheFileStaysSecretBelowAnEnvThatIsFalse(t *testing.T) {
	const text = `env: {TOKEN: "${TOKEN}"}
defaults: {env: {TOKEN: other, LANG: de}}
tasks:
  - {name: load, every: hour, command: x, env: false}
  - {group: night, env: false, tasks: [{name: save, every: hour, command: x, env: {MORE: 1}}]}
`
	getenv := func(name string) (string, bool) { return "s3cret", name == "TOKEN" }
	s, err := load.Text([]byte(text), "/srv/schedule.yaml", load.Options{Getenv: getenv, Origins: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range s.Tasks {
		for _, got := range load.Settings(task) {
			if got.Key == "env.TOKEN" && (got.Value != "${TOKEN}" || got.From.Place.Line != 1 || got.From.Section != "") {
				t.Errorf("%s: TOKEN is %v of line %d", task.Name, got.Value, got.From.Place.Line)
			}
		}
		if task.Env["TOKEN"] != "s3cret" || task.Env["LANG"] != "" {
			t.Errorf("%s has %v", task.Name, task.Env)
		}
	}
}
