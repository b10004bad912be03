package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestACheckThatHangsIsGivenUp(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	hangs := check{"disk", func(context.Context, *Subject) findings { <-release; return nil }}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // as when its time is over
	if found := hangs.within(ctx, nil); len(found) != 1 || found[0].Level != Warning ||
		!strings.Contains(found[0].Text, "no answer") {
		t.Errorf("%v", found)
	}
}

func TestTheCallerOfATick(t *testing.T) {
	for want, by := range map[string][]string{
		"cron":         {"sh", "cron", "cron"},
		"systemd":      {"systemd"},
		"bash of tmux": {"bash", "bash", "tmux"},
	} {
		if got := callerOf(by); got != want {
			t.Errorf("%v: %q", by, got)
		}
	}
}

func TestAFolderThatEverybodyCanWriteIsNamed(t *testing.T) {
	s := subjectIn(t, "tasks: []")
	if found := checkSchedule(context.Background(), s); found[0].Level != OK {
		t.Errorf("%v", found)
	}
	folder := filepath.Dir(s.Schedule.File)
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if found := checkSchedule(context.Background(), s); found[0].Level != Warning ||
		!strings.Contains(found[0].Text, folder) {
		t.Errorf("%v", found)
	}
}

func TestClockChangesNameWhoIsDueAroundThem(t *testing.T) {
	s := subjectIn(t, `timezone: Europe/Berlin
tasks:
  - {name: night, every: day at 2:30, command: x}
  - {name: noon, every: day at 12:00, command: x}
  - {name: often, every: hour, command: x}
`)
	s.Now = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	found := checkClockChanges(context.Background(), s)
	if len(found) != 1 || !strings.HasSuffix(found[0].Text, "from +01:00 to +02:00; around it are due night") {
		t.Errorf("%v", found)
	}
	s.Now = time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)
	if found := checkClockChanges(context.Background(), s); found[0].Text != "none in the next 30 days" {
		t.Errorf("%v", found)
	}
}

// docs/json.md names the checks in their order.
func TestTheChecksAreInTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range checks {
		names = append(names, "`"+c.name+"`")
	}
	if list := "its name: " + strings.Join(names, ", "); !strings.Contains(string(page), list) {
		t.Errorf("docs/json.md does not say %q", list)
	}
}
