package load

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/yamldoc"
)

func at(clock string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", clock)
	if err != nil {
		panic(err)
	}
	return t
}

func parseTest(t *testing.T, yaml string) *schedule.Schedule {
	t.Helper()
	s, err := Text([]byte(yaml), "/srv/shop/schedule.yaml", testOptions())
	if err != nil {
		t.Fatalf("%s\n%v", yaml, err)
	}
	return s
}

// writeFiles writes the files into a new folder and returns it.
func writeFiles(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func names(tasks []*schedule.Task) string {
	var all []string
	for _, task := range tasks {
		all = append(all, task.Name)
	}
	return strings.Join(all, " ")
}

func TestWhatIsNotSaid(t *testing.T) {
	s := parseTest(t, one(""))
	if s.File != "/srv/shop/schedule.yaml" || s.Name != "shop" || s.Environment != "production" || s.Location != here ||
		s.StateDir != "/srv/shop/.sched" ||
		s.History != (schedule.History{Keep: 30 * 24 * time.Hour, RunsPerTask: 1000}) || len(s.Digest) != 64 {
		t.Errorf("the schedule is %+v", s)
	}
	got := *s.Tasks[0]
	got.When.Crons = nil
	want := schedule.Task{
		Name: "t", Mutex: "t", When: cron.When{Every: "minute", Location: here}, Enabled: true,
		Command: schedule.Command{Line: "x", Shell: []string{"/bin/sh", "-c"}}, Folder: "/srv/shop", Dir: "/srv/shop",
		KillAfter: 10 * time.Second, Retry: schedule.Retry{Attempts: 1, Backoff: 1}, SuccessCodes: []int{0},
		MissedWithin: 12 * time.Hour, MaxMissed: 100, Output: schedule.Output{Limit: 64 << 20},
		Place: yamldoc.Place{File: "schedule.yaml", Line: 2, Column: 3},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\ngot  %+v\nwant %+v", got, want)
	}
}

func TestEveryKeyOfATask(t *testing.T) {
	s := parseTest(t, `
name: a/b.c
timezone: ${ZONE}
environment: ${APP_ENV:-staging}
state_dir: var/${EMPTY}state
history: {keep: 1d12h, runs_per_task: 5}
env: {A: 1, B: "${HOME}/x", C: "$${HOME}", D: true}
tasks:
- name: 123
  description: yes
  tags: [x, 5]
  cron: ["0 1 * * *", "@daily"]
  timezone: Europe/Berlin
  spread: 5m
  command: [php, artisan, ""]
  shell: [/bin/bash, -ec]
  dir: sub/../app
  env: {B: own}
  background: true
  without_overlapping: True
  mutex: m
  one_server: true
  store_down: run
  timeout: 1h30m
  kill_after: 0s
  retry: {attempts: 3, delay: 10s, backoff: 1.5, max_delay: 1m, jitter: 0.1}
  success_codes: [0, 0x10]
  start_deadline: 90s
  missed: once
  missed_within: 2d
  between: [[8:00, 12:00], ["14:00", "24:00"]]
  unless_between: ["22:00", "6:00"]
  days: [mon, 7, weekends]
  environments: [staging, "${EMPTY:-other}"]
  enabled: false
  before: a
  after: [b, {run: c}]
  on_success: {run: [d, e]}
  on_failure: []
  on_recovery: r
  on_skip: s
  output: {file: out.log, append: true, limit: 10MB}
metrics: {textfile: "${EMPTY:-metrics}/shop.prom"}
`)
	if s.Name != "a/b.c" || s.Location.String() != "Asia/Tokyo" || s.Environment != "staging" ||
		s.StateDir != "/srv/shop/var/state" || s.History != (schedule.History{Keep: 36 * time.Hour, RunsPerTask: 5}) ||
		s.Textfile != "/srv/shop/metrics/shop.prom" {
		t.Errorf("the schedule is %+v", s)
	}
	bash := []string{"/bin/bash", "-ec"}
	got := *s.Tasks[0]
	if zone := got.When.Location.String(); zone != "Europe/Berlin" || len(got.When.Crons) != 2 {
		t.Errorf("its times are %+v", got.When)
	}
	got.When = cron.When{}
	want := schedule.Task{
		Name: "123", Spread: 5 * time.Minute, Description: "yes", Tags: []string{"x", "5"},
		Command: schedule.Command{List: []string{"php", "artisan", ""}}, Folder: "/srv/shop", Dir: "/srv/shop/app",
		Env:        map[string]string{"A": "1", "B": "own", "C": "${HOME}", "D": "true"},
		Background: true, WithoutOverlapping: true, Mutex: "m", OneServer: true, RunWhenStoreDown: true,
		Sender:  schedule.ScheduleRef{Schedule: "a/b.c", File: "/srv/shop/schedule.yaml", Zone: "Europe/Berlin"},
		Timeout: 90 * time.Minute, Retry: schedule.Retry{Attempts: 3, Delay: 10 * time.Second, Backoff: 1.5,
			MaxDelay: time.Minute, Jitter: 0.1}, SuccessCodes: []int{0, 16},
		Conditions: schedule.Conditions{
			Days:          1<<time.Monday | 1<<time.Sunday | 1<<time.Saturday,
			Between:       []schedule.Window{{From: 480, To: 720}, {From: 840, To: 1440}},
			UnlessBetween: []schedule.Window{{From: 1320, To: 360}},
		},
		StartDeadline: 90 * time.Second, RunMissed: true, MissedWithin: 48 * time.Hour, MaxMissed: 100,
		Environments: []string{"staging", "other"},
		Hooks: schedule.Hooks{
			Before: []schedule.Hook{{Run: schedule.Command{Line: "a", Shell: bash}}},
			After: []schedule.Hook{{Run: schedule.Command{Line: "b", Shell: bash}},
				{Run: schedule.Command{Line: "c", Shell: bash}}},
			OnSuccess:  []schedule.Hook{{Run: schedule.Command{List: []string{"d", "e"}}}},
			OnRecovery: []schedule.Hook{{Run: schedule.Command{Line: "r", Shell: bash}}},
			OnSkip:     []schedule.Hook{{Run: schedule.Command{Line: "s", Shell: bash}}},
		},
		Output: schedule.Output{File: "/srv/shop/out.log", Append: true, Limit: 10 << 20},
		Place:  yamldoc.Place{File: "schedule.yaml", Line: 9, Column: 3},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\ngot  %+v\nwant %+v", got, want)
	}
}

func TestDefaultsGroupsAndTasks(t *testing.T) {
	s := parseTest(t, `
env: {A: file, B: file, C: file, D: file}
defaults:
  timeout: 1h
  start_deadline: 1m
  missed_within: 2h
  env: {B: defaults, C: defaults, D: defaults}
  shell: [/bin/bash, -c]
  on_failure: told
tasks:
- {name: first, every: hour, command: x, timeout: none, start_deadline: none}
- group: g
  env: {C: group, D: group}
  every: hour
  background: true
  between: ["1:00", "2:00"]
  tasks:
  - {name: second, command: x, env: {D: task}, shell: [python3, -c], before: pass}
  - {name: third, command: x, cron: "0 0 * * *", background: false, timezone: Asia/Tokyo}
  - group: inner
    cron: "@daily"
    mutex: one
    tasks:
    - {name: fourth, command: x, missed: once}
- {name: fifth, every: day, command: x}
`)
	if got := names(s.Tasks); got != "first second third fourth fifth" {
		t.Fatalf("the order is %s", got)
	}
	first, second, third, fourth, fifth := s.Tasks[0], s.Tasks[1], s.Tasks[2], s.Tasks[3], s.Tasks[4]
	if first.StartDeadline != 0 || fifth.StartDeadline != time.Minute || !fourth.RunMissed ||
		fourth.MissedWithin != 2*time.Hour {
		t.Errorf("the first is %+v, the fourth %+v", first, fourth)
	}
	if first.Timeout != 0 || fifth.Timeout != time.Hour || first.Env["D"] != "defaults" ||
		len(first.Conditions.Between) != 0 {
		t.Errorf("the first is %+v", first)
	}
	if !reflect.DeepEqual(second.Env, map[string]string{"A": "file", "B": "defaults", "C": "group", "D": "task"}) {
		t.Errorf("the variables of the second are %v", second.Env)
	}
	if second.When.Every != "hour" || !second.Background || second.Mutex != "second" ||
		second.Conditions.Between[0] != (schedule.Window{From: 60, To: 120}) {
		t.Errorf("the second is %+v", second)
	}
	if third.When.Every != "" || len(third.When.Crons) != 1 || third.Background ||
		third.When.Location.String() != "Asia/Tokyo" {
		t.Errorf("the third is %+v", third)
	}
	if fourth.When.Every != "" || len(fourth.When.Crons) != 1 || fourth.Mutex != "one" || fourth.Env["D"] != "group" {
		t.Errorf("the fourth is %+v", fourth)
	}
	// An inherited hook was written for the shell of its own level.
	if got := second.Hooks.OnFailure[0].Run.Shell[0]; got != "/bin/bash" {
		t.Errorf("an inherited hook runs in %s", got)
	}
	if got := second.Hooks.Before[0].Run.Shell[0] + second.Command.Shell[0]; got != "python3python3" {
		t.Errorf("its own hook and command run in %s", got)
	}
}

func TestAnchorsAndMergeKeys(t *testing.T) {
	s := parseTest(t, `
tasks:
- &base
  name: a
  every: hour
  command: x
  env: &env {A: 1}
- <<: *base
  name: b
  timeout: 1m
- <<: [{timeout: 2m}, *base, {dir: /c, timeout: 3m}]
  name: c
  env: {<<: *env, B: 2}
`)
	b, c := s.Tasks[1], s.Tasks[2]
	if names(s.Tasks) != "a b c" || b.Command.Line != "x" || b.Timeout != time.Minute || b.Env["A"] != "1" {
		t.Errorf("b is %+v", b)
	}
	if c.Timeout != 2*time.Minute || c.Dir != "/c" || c.Env["A"] != "1" || c.Env["B"] != "2" {
		t.Errorf("c is %+v", c)
	}
}

func TestStateDir(t *testing.T) {
	for _, row := range []struct{ file, yaml, want string }{
		{"/srv/shop/schedule.yaml", "", "/srv/shop/.sched"},
		{"/srv/shop/schedule.yml", "", "/srv/shop/.sched"},
		{"/srv/shop/nightly.yaml", "", "/srv/shop/.sched/nightly"},
		{"/srv/shop/nightly.yaml", "state_dir: /var/x", "/var/x"},
		{"/srv/shop/nightly.yaml", "state_dir: x", "/srv/shop/x"},
		{"/etc/sched/schedule.yaml", "", "/var/lib/sched/sched"},
		{"/etc/sched/schedule.yaml", "name: shop", "/var/lib/sched/shop"},
		{"/etc/nightly.yaml", "name: shop", "/var/lib/sched/shop"},
		// two unnamed files in one folder of /etc never share their state
		{"/etc/sched/nightly.yaml", "", "/var/lib/sched/sched/nightly"},
		{"/etcetera/schedule.yaml", "", "/etcetera/.sched"},
	} {
		s, err := Text([]byte(row.yaml+"\ntasks: []\n"), row.file, testOptions())
		if err != nil {
			t.Fatal(err)
		}
		if s.StateDir != row.want {
			t.Errorf("%s with %q keeps its state in %s, want %s", row.file, row.yaml, s.StateDir, row.want)
		}
	}
}

func TestNameOfAFolder(t *testing.T) {
	for folder, want := range map[string]string{"shop": "shop", "my shop": "my-shop", ".hidden": "hidden", "/": "sched",
		"店": "sched", "a店b": "a-b"} {
		if got := nameOf(folder); got != want {
			t.Errorf("the folder %q makes the name %q, want %q", folder, got, want)
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := writeFiles(t, map[string]string{"folder/x": ""})
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, yamldoc.MaxFileSize+1); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(dir, "none.yaml")
	for file, want := range map[string]string{
		none:                         "none.yaml: there is no file " + none,
		filepath.Join(dir, "folder"): "folder: " + filepath.Join(dir, "folder") + " is a folder, not a file",
		large:                        "large.yaml: the file is larger than 16 MiB",
		pipe:                         "pipe.yaml: " + pipe + " is not a regular file",
	} {
		if _, err := File(file, testOptions()); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		} else if errors.Is(err, fs.ErrNotExist) != (file == none) {
			t.Errorf("%v: errors.Is(fs.ErrNotExist) is wrong", err)
		}
	}
}

func TestRootTakesNoCommandsFromOthers(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"schedule.yaml": "include: [more.yaml]\ntasks: []\n", "more.yaml": "[]\n",
	})
	main, more := filepath.Join(dir, "schedule.yaml"), filepath.Join(dir, "more.yaml")
	opts := testOptions()
	opts.Root = true
	if os.Geteuid() != 0 {
		_, err := File(main, opts)
		if err == nil || !strings.Contains(err.Error(), "belongs to another user") ||
			!strings.Contains(err.Error(), "for a schedule of root: chown root "+main) {
			t.Errorf("a file of another user: %v", err)
		}
	} else {
		if _, err := File(main, opts); err != nil {
			t.Errorf("its own files: %v", err)
		}
		os.Chown(more, 12345, 0)
		want := "more.yaml: the file belongs to another user (uid 12345), and root would run what that user writes\n  hint: call it as that user, with sudo -u '#12345' in front; for a schedule of root: chown root " + more
		if _, err := File(main, opts); err == nil || err.Error() != want {
			t.Errorf("an include of another user: %v", err)
		}
		os.Chown(more, 0, 0)
	}
	os.Chmod(more, 0o666)
	os.Chmod(main, 0o664)
	want := "schedule.yaml: others than its owner can write the file, and root would run what they write\n  hint: chmod go-w " + main
	if _, err := File(main, opts); err == nil || err.Error() != want {
		t.Errorf("a file that the group can write: %v", err)
	}
	opts.Root = false
	if _, err := File(main, opts); err != nil {
		t.Errorf("somebody else does not mind: %v", err)
	}
}

// A task that names a mutex must not run together with the others that name it.
func TestAMutexImpliesWithoutOverlapping(t *testing.T) {
	s := parseTest(t, `
tasks:
  - {name: a, every: hour, command: x, mutex: m}
  - {name: b, every: hour, command: x, mutex: m, without_overlapping: false}
`)
	if a, b := s.Tasks[0], s.Tasks[1]; !a.WithoutOverlapping || b.WithoutOverlapping {
		t.Errorf("a: %v, b: %v", a.WithoutOverlapping, b.WithoutOverlapping)
	}
}

// The last valid schedule is found even when the file is no YAML any more.
func TestTheStateFolderOfAnInvalidSchedule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schedule.yaml")
	beside := filepath.Join(filepath.Dir(file), ".sched")
	for _, row := range []struct{ text, want string }{
		{"tasks: [", beside},
		{"state_dir: /var/state\ntasks: [", "/var/state"},
		{"tasks: 5\nstate_dir: ${STATE}/x\n", "/env/x"},
		{"tasks:\n  - state_dir: no\n   broken", beside},
	} {
		if err := os.WriteFile(file, []byte(row.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := File(file, Options{Getenv: func(string) (string, bool) { return "/env", true }})
		var invalid *InvalidError
		if !errors.As(err, &invalid) || invalid.StateDir != row.want {
			t.Errorf("%q: the state folder is %q, want %q", row.text, invalid.StateDir, row.want)
		}
	}
}

// Keys at the top that begin with x- hold the anchors for other keys, as in Compose files. Anywhere
// else they are unknown.
func TestKeysThatBeginWithXAreForAnchors(t *testing.T) {
	s, err := Text([]byte("x-slow: &slow {timeout: 2h}\ntasks:\n- {name: t, every: minute, command: x, <<: *slow}\n"),
		"/srv/shop/schedule.yaml", testOptions())
	if err != nil || s.Tasks[0].Timeout != 2*time.Hour {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Text([]byte(one("x-slow: 1")), "/srv/shop/schedule.yaml", testOptions()); err == nil {
		t.Error("a task may have it, too")
	}
}

// Without a store nobody asks the other servers: each of them would run the task.
func TestOneServerWithoutAStoreIsWarnedOf(t *testing.T) {
	for text, want := range map[string]int{
		"tasks:\n- {name: t, every: minute, command: x, one_server: true}\n":                                                  1,
		"tasks:\n- {name: t, every: minute, command: x, one_server: false}\n":                                                 0,
		"defaults: {one_server: true}\ntasks:\n- {name: t, every: minute, command: x}\n- {name: u, every: day, command: x}\n": 1,
		"store: ${STORE_URL:-}\ntasks:\n- {name: t, every: minute, command: x, one_server: true}\n":                           0,
	} {
		s, err := Text([]byte(text), "/srv/shop/schedule.yaml", testOptions())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if len(s.Warnings) != want {
			t.Errorf("%s: %v", text, s.Warnings)
		}
	}
}
