package view

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// samples parses metrics as the node exporter does, and returns each sample as
// `name{task,outcome}`.
func samples(t *testing.T, text []byte) (map[string]float64, map[string]*dto.MetricFamily) {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	all := map[string]float64{}
	for name, family := range families {
		for _, m := range family.Metric {
			var labels []string
			for _, label := range m.Label {
				if label.GetName() == "schedule" && label.GetValue() == "shop" {
					continue
				}
				labels = append(labels, label.GetValue())
			}
			key := fmt.Sprintf("%s{%s}", name, strings.Join(labels, ","))
			if _, twice := all[key]; twice {
				t.Errorf("%s is there twice", key)
			}
			all[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return all, families
}

func TestMetricsAreWhatPrometheusWants(t *testing.T) {
	s := scheduleIn(t, "a", "never")
	gap := missed("a", 8, 3)
	remember(t, s, ranBefore("a", 9, outcome.Succeeded), gap, ranBefore("a", 4, outcome.Skipped),
		ranBefore("a", 3, outcome.TimedOut))
	begun(t, s, "a")
	db, err := state.Open(s.StateDir, state.Patience)
	if err == nil {
		err = errors.Join(db.Values().Cover(t.Context(), noon), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	text := Metrics(HealthOf(s, false, noon))
	got, families := samples(t, text)

	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
	at := func(ago int, more time.Duration) float64 {
		return seconds(noon.Add(more - time.Duration(ago)*time.Minute))
	}
	want := map[string]float64{
		"sched_last_tick_timestamp_seconds{}":          at(0, 0),
		"sched_schedule_valid{}":                       1,
		"sched_tasks{}":                                2,
		"sched_troubles{}":                             1,
		"sched_notifications_waiting{}":                0,
		"sched_task_running_runs{a}":                   1,
		"sched_task_running_runs{never}":               0,
		"sched_task_next_due_timestamp_seconds{a}":     at(-1, 0),
		"sched_task_next_due_timestamp_seconds{never}": at(-1, 0),
		"sched_task_last_run_timestamp_seconds{a}":     at(3, 2*time.Second),
		"sched_task_last_run_outcome{a,timed out}":     1,
		"sched_task_last_run_exit_code{a}":             9,
		"sched_task_last_run_duration_seconds{a}":      1.5,
		"sched_task_last_run_lateness_seconds{a}":      0.5,
		"sched_task_last_success_timestamp_seconds{a}": at(9, 2*time.Second),
		"sched_task_slots_total{a,missed}":             3,
		"sched_task_slots_total{a,skipped}":            1,
		"sched_task_slots_total{a,succeeded}":          1,
		"sched_task_slots_total{a,timed out}":          1,
	}
	for name, value := range want {
		if v, ok := got[name]; !ok || v != value {
			t.Errorf("%s is %v, want %v", name, v, value)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is not expected", name)
		}
	}
	if kind := families["sched_task_slots_total"].GetType(); kind != dto.MetricType_COUNTER {
		t.Errorf("the total is a %s", kind)
	}
}

// A value that nobody knows has no sample: a 0 would be a time in 1970.
// The help is an interface: if two files of a folder differ in it, the node exporter drops series.
// A family with another help is a new family, with a name of its own.
func TestTheHelpOfAFamilyNeverChanges(t *testing.T) {
	s := scheduleIn(t, "a")
	s.Store.Servers = []string{"redis://127.0.0.1:1"}
	s.Pools = []schedule.Pool{{Name: "database", Seats: 2}}
	text := Metrics(HealthOf(s, false, noon))
	var got []string
	for line := range strings.Lines(string(text)) {
		if help, ok := strings.CutPrefix(line, "# HELP "); ok {
			got = append(got, strings.TrimSpace(help))
		}
	}
	want := []string{
		"sched_last_tick_timestamp_seconds The last minute that a tick covered.",
		"sched_schedule_valid 1, or 0 when the file is invalid and something else runs in its place.",
		"sched_tasks The tasks that are active here.",
		"sched_troubles How many troubles sched status tells of tasks.",
		"sched_notifications_waiting Notifications that could not be delivered yet.",
		"sched_store_up 1, or 0 when the last tick found the store to be down, with the reason.",
		"sched_pool_seats How many runs of a pool may go on at once.",
		"sched_pool_seats_taken Seats of a pool that runs of this machine have.",
		"sched_task_running_runs Runs that live.",
		"sched_task_next_due_timestamp_seconds When the task is due next.",
		"sched_task_last_run_timestamp_seconds When the last run ended.",
		"sched_task_last_run_warning 1 when the last run succeeded with a warning, else 0.",
		"sched_task_last_run_exit_code The exit code of the last run.",
		"sched_task_last_run_duration_seconds How long the last run took.",
		"sched_task_last_run_lateness_seconds How long after its slot the last run started.",
		"sched_task_last_success_timestamp_seconds When the last success ended.",
		"sched_task_overdue 1 while less came than expect says, else 0.",
		"sched_task_last_run_outcome 1 for the outcome of the last run.",
		"sched_task_value The values that the last run reported.",
		"sched_task_slots_total Slots by what became of them.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the help is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMetricsOfAScheduleThatNeverTicked(t *testing.T) {
	got, _ := samples(t, Metrics(HealthOf(scheduleIn(t, "a"), true, noon)))
	want := []string{"sched_notifications_waiting{}", "sched_schedule_valid{}",
		"sched_task_next_due_timestamp_seconds{a}", "sched_task_running_runs{a}", "sched_tasks{}", "sched_troubles{}"}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) || got["sched_schedule_valid{}"] != 0 {
		t.Errorf("got %v", got)
	}
}

func TestLabelsAreEscaped(t *testing.T) {
	s := scheduleIn(t, "a")
	s.Name = "a \"quoted\" \\ name\nof two lines"
	_, families := samples(t, Metrics(HealthOf(s, false, noon)))
	if got := families["sched_tasks"].Metric[0].Label[0].GetValue(); got != s.Name {
		t.Errorf("got %q", got)
	}
}

// docs/monitoring.md says what each metric is.
func TestEveryMetricIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`\bsched_[a-z_]+`)
	written := map[string]bool{}
	of := scheduleIn(t, "a")
	of.Store.Servers = []string{"redis://localhost"}
	of.Pools = []schedule.Pool{{Name: "db", Seats: 2}}
	for _, line := range name.FindAllString(string(Metrics(HealthOf(of, false, noon))), -1) {
		written[line] = true
	}
	for _, known := range name.FindAllString(string(text), -1) {
		if !written[known] {
			t.Errorf("docs/monitoring.md knows %s, which is not written", known)
		}
	}
	for metric := range written {
		if !bytes.Contains(text, []byte("`"+metric)) {
			t.Errorf("docs/monitoring.md does not know %s", metric)
		}
	}
}

// A reader sees the old text or the new one, at any time.
func TestATextfileIsReplacedInOneStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.prom")
	texts := [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<17)}
	done := make(chan error)
	for _, text := range texts {
		go func() {
			var err error
			for range 200 {
				if werr := WriteTextfile(path, text); werr != nil {
					err = werr
				}
			}
			done <- err
		}()
	}
	for left := len(texts); left > 0; {
		select {
		case err := <-done:
			if left--; err != nil {
				t.Error(err)
			}
		default:
		}
		got, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(got, texts[0]) && !bytes.Equal(got, texts[1]) {
			t.Fatalf("a reader saw %d bytes", len(got))
		}
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o644 || len(entries) != 1 {
		t.Errorf("%v, %v, %v", info, err, entries)
	}
}

// A writer that was killed leaves its draft, which the next one uses.
func TestATextfileIsWrittenAfterAKill(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".shop.prom.new"), bytes.Repeat([]byte("x"), 999), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteTextfile(filepath.Join(dir, "shop.prom"), []byte("new\n")); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(dir)
	if text, err := os.ReadFile(filepath.Join(dir, "shop.prom")); string(text) != "new\n" || len(entries) != 1 {
		t.Errorf("%q, %v, %v", text, err, entries)
	}
}

// In a folder that others can write, a draft could be a link to a file of ours.
func TestATextfileFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	ours := filepath.Join(dir, "ours")
	os.WriteFile(ours, []byte("precious"), 0o600)
	if err := os.Symlink(ours, filepath.Join(dir, ".shop.prom.new")); err != nil {
		t.Fatal(err)
	}
	if err := WriteTextfile(filepath.Join(dir, "shop.prom"), []byte("new\n")); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "shop.prom")); string(text) != "new\n" {
		t.Errorf("the metrics are %q", text)
	}
	if text, _ := os.ReadFile(ours); string(text) != "precious" {
		t.Errorf("got %q", text)
	}
}
