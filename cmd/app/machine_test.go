package app_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/schedule/ticknote"
)

// `sched serve` loads several schedules in one process. Their ticks may have come from crontabs
// that say other names of this server.
func TestEachScheduleHasTheServerNameOfItsOwnTicks(t *testing.T) {
	unset(t, "SCHED_SERVER")
	unset(t, "SCHED_LABELS")
	site := app.App{ScheduleFile: app.ScheduleFile{Console: console.Console{Err: t.Output()}}}
	load := func(a *app.App) (name string, environ []string) {
		s, _, err := a.LoadLastValid()
		if err != nil {
			t.Fatal(err)
		}
		return a.ServerName(s.Server), a.Environ()
	}
	blue := site.ForFile(scheduleTickedBy(t, "blue"))
	green := site.ForFile(scheduleTickedBy(t, "green"))
	plain := site.ForFile(scheduleTickedBy(t, ""))

	for _, c := range []struct {
		app  *app.App
		want string
	}{{blue, "blue"}, {green, "green"}, {plain, hostname(t)}, {blue, "blue"}} {
		name, environ := load(c.app)
		if name != c.want {
			t.Errorf("the server of %s is called %q, want %q", c.app.Config, name, c.want)
		}
		has := slices.Contains(environ, "SCHED_SERVER="+c.want)
		if want := c.app != plain; has != want {
			t.Errorf("%s has a variable with the name of its server: %v, want %v", c.app.Config, has, want)
		}
	}
	if value, set := os.LookupEnv("SCHED_SERVER"); set {
		t.Errorf("the process has SCHED_SERVER=%s; another schedule would have it too", value)
	}
}

// scheduleTickedBy writes a schedule, and the note of a tick with this $SCHED_SERVER; for "" it was
// not set.
func scheduleTickedBy(t *testing.T, server string) (file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "schedule.yaml")
	if err := os.WriteFile(file, []byte("tasks:\n  - {name: hello, command: echo, every: day}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	stateDir := filepath.Join(dir, ".sched")
	if err := os.Mkdir(stateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	environ := os.Environ()
	if server != "" {
		environ = append(environ, "SCHED_SERVER="+server)
	}
	ticknote.Keep(stateDir, ticknote.Here(environ, app.LocalZone().String()), time.Now())
	return file
}

func hostname(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// unset takes a variable out of the environment until the test ends.
func unset(t *testing.T, name string) {
	t.Helper()
	t.Setenv(name, "")
	os.Unsetenv(name)
}
