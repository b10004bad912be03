package kubernetes_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/schedule/kubernetes"
	"sched/schedule/load"
)

var update = flag.Bool("update", false, "write testdata/shop.want.yaml")

var now = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

func export(t *testing.T, file string) (*kubernetes.Manifests, error) {
	t.Helper()
	s, err := load.File(file, load.Options{Origins: true, Getenv: func(string) (string, bool) { return "redis://x", true }})
	if err != nil {
		t.Fatal(err)
	}
	return kubernetes.Export(s, kubernetes.Options{Image: "shop:1", Folder: "/srv", Now: now}, load.Settings)
}

func TestExport(t *testing.T) {
	file, _ := filepath.Abs("testdata/shop.yaml")
	got, err := export(t, file)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/shop.want.yaml", []byte(got.Text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, _ := os.ReadFile("testdata/shop.want.yaml")
	if got.Text != string(want) {
		t.Errorf("go test -update writes\n%s", got.Text)
	}
	var lost []string
	for _, p := range append(got.Omitted, got.Remarks...) {
		lost = append(lost, p.String())
	}
	for _, part := range []string{
		`task "backup": missed: a CronJob starts one late run`,
		`task "weekly:report": on_success: {trigger: backup}: the container ends`,
		`task "often": not exported: a CronJob knows no seconds`,
		`task "boot": not exported: a cluster has no boot`,
		`task "last": no CronJob can say its times: containers start 165 times in four years, and in 117 of them nothing is due`,
		`task "and": no CronJob can say its times`,
	} {
		if !strings.Contains(strings.Join(lost, "\n"), part) {
			t.Errorf("nothing says %s:\n%s", part, strings.Join(lost, "\n"))
		}
	}
	if notes := strings.Join(got.Notes, "\n"); !strings.Contains(notes, "the Secret shop is yours to make; "+
		"its keys are variables of the schedule: STORE_URL, TOKEN") {
		t.Errorf("the notes lack the Secret: %s", notes)
	}
}

func TestAStoreWhosePasswordIsInTheFileIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schedule.yaml")
	text := "name: a\nstore: redis://:secret@host\ntasks: []\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := export(t, file)
	if err != nil || !strings.Contains(strings.Join(got.Notes, "\n"), "the URL of the store stands in the ConfigMap") {
		t.Errorf("%v, %v", got, err)
	}
}

func TestOddNamesAndTimes(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "a\nb: c")
	text := "timezone: UTC\nname: shop\nenv: {A: \"${NO:-x}\"}\ntasks:\n  - {name: two, cron: [\"0 6 * * *\", \"0 */6 * * *\"], command: ./x}\n" +
		"  - {name: hand, every: hand, command: ./x}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Skip(err) // no such names here
	}
	got, err := export(t, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"# Exported from a b: c by", `{name: "NO", valueFrom: {secretKeyRef: {name: shop, key: "NO", optional: true}}}`} {
		if !strings.Contains(got.Text, part) {
			t.Errorf("there is no %s in\n%s", part, got.Text)
		}
	}
	if n := strings.Count(got.Text, "kind: CronJob"); n != 1 {
		t.Errorf("%d CronJobs start the task at 6:00:\n%s", n, got.Text)
	}
	if len(got.Omitted) != 1 || !strings.Contains(got.Omitted[0].String(), "hand\": not exported: only people start it") {
		t.Errorf("%v", got.Omitted)
	}
}

func TestAConfigMapHasALimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schedule.yaml")
	text := "tasks: []\n" + strings.Repeat("# "+strings.Repeat("x", 97)+"\n", 11_000)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := export(t, file); err == nil || !strings.Contains(err.Error(), "a ConfigMap holds at most 1 MiB") {
		t.Error(err)
	}
}
