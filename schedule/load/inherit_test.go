package load

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/yamldoc"
)

// lines are the commands of hooks, with the targets of notifications.
func lines(hooks []schedule.Hook) string {
	var all []string
	for _, h := range hooks {
		if h.Notify != nil {
			all = append(all, h.Notify.Ping)
		} else {
			all = append(all, h.Run.Line)
		}
	}
	return strings.Join(all, " ")
}

func TestHooksAddUp(t *testing.T) {
	s := parseTest(t, `
defaults: {on_failure: page, after: {ping: "https://p"}}
tasks:
- group: g
  every: hour
  on_failure: [group, mail]
  tasks:
  - {name: adds, command: x, on_failure: own}
  - {name: sets-nothing, command: x}
  - {name: none, command: x, on_failure: false, after: []}
  - {name: own-alone, command: x, on_failure: [false, own]}
  - {name: adds-too, command: x, on_failure: other}
`)
	for i, want := range []string{"page group mail own", "page group mail", "", "own", "page group mail other"} {
		if got := lines(s.Tasks[i].Hooks.OnFailure); got != want {
			t.Errorf("%s has the hooks %q, want %q", s.Tasks[i].Name, got, want)
		}
	}
	if got := lines(s.Tasks[0].Hooks.After) + lines(s.Tasks[2].Hooks.After); got != "https://p" {
		t.Errorf("after is %q", got)
	}
}

func TestMapsMerge(t *testing.T) {
	s := parseTest(t, `
defaults: {retry: {delay: 10s, backoff: 2, jitter: 0.5}, output: {append: true, limit: 5MB}}
tasks:
- {name: no-retry, every: hour, command: x}
- group: g
  every: hour
  retry: {attempts: 3}
  tasks:
  - {name: merged, command: x, retry: {max_delay: 30s}, output: out.log}
  - {name: parts-taken-away, command: x, retry: {delay: false, backoff: 3}, output: {file: o, append: false, limit: false}}
  - {name: all-taken-away, command: x, retry: false, output: false}
`)
	for i, want := range []schedule.Retry{
		{Attempts: 1, Delay: 10 * time.Second, Backoff: 2, Jitter: 0.5},
		{Attempts: 3, Delay: 10 * time.Second, Backoff: 2, MaxDelay: 30 * time.Second, Jitter: 0.5},
		{Attempts: 3, Backoff: 3, Jitter: 0.5},
		{Attempts: 1, Backoff: 1},
	} {
		if got := s.Tasks[i].Retry; got != want {
			t.Errorf("%s has %+v, want %+v", s.Tasks[i].Name, got, want)
		}
	}
	for i, want := range []schedule.Output{
		{Limit: 5 << 20, Append: true},
		{Limit: 5 << 20, File: "/srv/shop/out.log", Append: true},
		{Limit: 64 << 20, File: "/srv/shop/o"},
		{Limit: 64 << 20},
	} {
		if got := s.Tasks[i].Output; got != want {
			t.Errorf("%s has %+v, want %+v", s.Tasks[i].Name, got, want)
		}
	}
}

// A task that takes every key away equals a task that says nothing, however much the defaults and a
// group say.
func TestFalseTakesAwayWhatIsInherited(t *testing.T) {
	const settings = `
  shell: [/bin/bash, -c]
  dir: app
  env: {A: b}
  env_file: .env
  user: nobody
  umask: 027
  nice: 5
  mutex: m
  store_down: run
  on_lost_lease: stop
  timeout: 1h
  kill_after: 1s
  retry: {attempts: 3}
  success_codes: [0, 1]
  between: ["1:00", "2:00"]
  unless_between: ["3:00", "4:00"]
  days: weekdays
  skip: busy
  environments: [here]
  start_deadline: 1m
  missed: once
  missed_within: 1h
  before: a
  after: b
  on_success: c
  on_failure: d
  on_recovery: e
  on_skip: f
  tags: x
  timezone: Asia/Tokyo
  spread: 1h
  output: {file: out, append: true, limit: 1MB}
`
	var taken []string
	for line := range strings.Lines(settings) {
		if key, _, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			taken = append(taken, key+": false")
		}
	}
	s := parseTest(t, "env: {X: y}\ndefaults:"+settings+"tasks:\n- {name: t, every: hour, command: x, group: false, "+strings.Join(taken, ", ")+"}\n")
	plain := parseTest(t, "env: {X: y}\ntasks:\n- {name: t, every: hour, command: x}\n")
	got, want := *s.Tasks[0], *plain.Tasks[0]
	got.Place, want.Place = yamldoc.Place{}, yamldoc.Place{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\ngot  %+v\nwant %+v", got, want)
	}
}

func TestALevelWinsOverWhatItInherits(t *testing.T) {
	s := parseTest(t, `
env: {FILE: 1}
defaults: {env: {DEFAULT: 1}, env_file: defaults.env}
tasks:
- {name: inherits, every: hour, command: x, env: {OWN: 1}}
- {name: has-files, every: hour, command: x, env: {OWN: 1}, env_file: own.env}
- {name: no-files, every: hour, command: x, env: {OWN: 1}, env_file: false}
`)
	for i, want := range [][]string{{"DEFAULT", "OWN"}, {"OWN"}, nil} {
		got := slices.Sorted(slices.Values(s.Tasks[i].EnvOverrides))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v win over its files, want %v", s.Tasks[i].Name, got, want)
		}
	}
}
