package proof_test // load imports crontab

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
	. "sched/schedule/crontab"
	. "sched/schedule/crontab/proof"
	"sched/schedule/crontab/vixie"
	"sched/schedule/load"
	"sched/testing/machine"
)

// years is how far a proof goes.
const years = 28

// zones have clocks that change by an hour, by half of one, by two, at midnight, twice in a month,
// and never.
var zones = []string{
	"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll", "America/Santiago", "Asia/Beirut",
	"Africa/Casablanca", "Pacific/Chatham", "America/Havana", "Asia/Kolkata", "UTC",
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

func when(t testing.TB, in *time.Location, texts ...string) cron.When {
	t.Helper()
	w := cron.When{Location: in}
	for _, text := range texts {
		e, err := cron.Parse(text, "task")
		if err != nil {
			t.Fatal(err)
		}
		w.Crons = append(w.Crons, e)
	}
	return w
}

func times(t testing.TB, text string) vixie.Times {
	t.Helper()
	parsed, err := vixie.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

var start = time.Date(2026, 11, 22, 9, 7, 0, 0, time.UTC)

// randomField returns a field as people write them.
func randomField(random *rand.Rand, low, high int) string {
	value := func() int { return low + random.IntN(high-low+1) }
	var parts []string
	for range 1 + random.IntN(3) {
		a, b := value(), value()
		a, b = min(a, b), max(a, b)
		switch random.IntN(8) {
		case 0:
			parts = append(parts, "*")
		case 1:
			parts = append(parts, fmt.Sprintf("*/%d", 1+random.IntN(high-low)))
		case 2:
			parts = append(parts, fmt.Sprintf("%d-%d", a, b))
		case 3:
			parts = append(parts, fmt.Sprintf("%d-%d/%d", a, b, 1+random.IntN(high-low)))
		default:
			parts = append(parts, fmt.Sprint(a))
		}
		if random.IntN(2) == 0 {
			break
		}
	}
	return strings.Join(parts, ",")
}

// randomTimes returns five fields. Half of the day fields are *, and most hours are hours in which
// clocks change.
func randomTimes(random *rand.Rand) string {
	fields := []string{
		randomField(random, 0, 59), randomField(random, 0, 23), randomField(random, 1, 31), randomField(random, 1, 12),
		randomField(random, 0, 7),
	}
	if random.IntN(2) == 0 {
		fields[1] = randomField(random, 0, 4)
	}
	for _, i := range []int{2, 3, 4} {
		if random.IntN(2) == 0 {
			fields[i] = "*"
		}
	}
	return strings.Join(fields, " ")
}

// A random crontab, imported, is due at the same minutes by the scheduler and by the independent
// evaluator, over years and zones. Years in the past have changes that no rule of today has. No
// change is longer than three hours: after a longer one cron starts anew, but a schedule makes up
// for the skipped times.
func TestRandomCrontabsAreDueWhenCronStartsThem(t *testing.T) {
	for seed, name := range zones {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(7, uint64(seed)))
			from := time.Date(1996+random.IntN(40), time.Month(1+random.IntN(12)), 1+random.IntN(28), random.IntN(24),
				random.IntN(60), 0, 0, time.UTC)
			var text strings.Builder
			for i := range 10 {
				fmt.Fprintf(&text, "%s\t/bin/job-%d\n", randomTimes(random), i)
			}
			_, proof := imported(t, text.String(), from, zone(t, name))
			if proof.Tasks < 8 || len(proof.Differences) > 0 {
				t.Errorf("%d tasks compared from %s: %s", proof.Tasks, from, differences(proof))
			}
		})
	}
}

// A line that Debian's cron refuses, or reads otherwise than the schedule, is not compared with it.
func TestLinesThatDebianReadsOtherwiseAreNotProven(t *testing.T) {
	for _, line := range []string{"@every_minute /bin/a", "~ 4 * * * /bin/a", "5/20 * * * * /bin/a",
		"5~20 4 * * * /bin/a", "5 4 * * 2#1 /bin/a", "5 4 * * * " + strings.Repeat("a", 999)} {
		if _, proof := imported(t, line+"\n", start, time.UTC); proof.Tasks != 0 || len(proof.Uncompared) != 1 {
			t.Errorf("%.20s: %+v", line, proof)
		}
	}
	for _, line := range []string{"1-5-9 *-5 * * *", "*/2. 3; * * *"} { // to Debian's cron 1-5 * and */2 3
		s, proof := imported(t, line+" /bin/a\n", start, zone(t, "Europe/Berlin"))
		if s.OmitsLines() || proof.Tasks != 1 || len(proof.Differences) > 0 {
			t.Errorf("%s: %+v", line, proof)
		}
	}
}

// Lines with the same five fields are proven once, unless comments make their tasks due at other
// times.
func TestALineWhoseCommentMovesItIsNotProvenByItsTwin(t *testing.T) {
	for _, keys := range []string{"one_server spread=24h", "from=2030-01-01", "until=2030-01-01"} {
		text := "0 3 * * * /bin/a\n# sched: " + keys + "\n0 3 * * * /bin/b\n"
		if _, proof := imported(t, text, start, time.UTC); len(proof.Differences) != 1 ||
			proof.Differences[0].Task.Command != "/bin/b" {
			t.Errorf("%s: %d tasks, and these differ:\n%s", keys, proof.Tasks, differences(proof))
		}
	}
}

// A proof compares all that a line says: each row changes one word of the schedule.
func TestATaskWithOtherSurroundingsIsNotProven(t *testing.T) {
	const text = "MAILTO=alice@example.com\nHOME=/srv\nA=1\n1 * * * * -n /bin/a\n2 * * * * /bin/b\n3 * * * * /bin/c\n" +
		"MAILTO=bob@example.com\n4 * * * * /bin/d\n# sched: after.ping=https://example.com dir=/tmp\n5 * * * * /bin/e\n"
	for _, row := range []struct{ was, is, what string }{
		{"", "", ""}, {"/bin/d", "/bin/d x", "command"},
		{"- name: d", "- name: d\n    on_failure: {mail: carol@example.com}", "mail"},
		{"bob@", "carol@", "mail"}, {"on_failure: {mail: alice", "on_failure: {mail: bob", "mail"},
		{"A: ", "B: ", "environment"}, {"PATH: /usr/bin", "PATH: /bin", "environment"}, {"dir: /srv", "dir: /srv/a", "folder"},
		{"- name: d", "- name: d\n    shell: [/bin/bash, -c]", "shell"}, {"- name: d", "- name: d\n    user: daemon", "user"},
		{"- name: d", "- name: d\n    enabled: false", "enabled"},
	} {
		s := Convert([]*Table{Parse(Source{Name: "crontab", Text: text})}, Options{})
		was := string(s.YAML(nil))
		loaded, err := load.Text([]byte(strings.Replace(was, row.was, row.is, 1)), "/srv/schedule.yaml", load.Options{
			Local: time.UTC, Getenv: func(name string) (string, bool) { return "/home/maria", name == "HOME" }})
		if err != nil || !strings.Contains(was, row.was) {
			t.Fatalf("%s: %v\n%s", row.is, err, was)
		}
		p := Prove(s.Tasks, loaded, start, time.UTC)
		if (row.what == "") != (len(p.Differences) == 0) || row.what != "" && p.Differences[0].What != row.what {
			t.Errorf("%s: %+v\n%s", row.is, p.Differences, was)
		}
	}
}

// imported converts a crontab, loads its YAML and proves it.
func imported(t *testing.T, text string, from time.Time, in *time.Location) (*Schedule, *Proof) {
	t.Helper()
	s := Convert([]*Table{Parse(Source{Name: "crontab", Text: text})}, Options{})
	loaded := loadYAML(t, s, in)
	return s, Prove(s.Tasks, loaded, from, in)
}

// loadYAML loads the YAML of a schedule.
func loadYAML(t *testing.T, s *Schedule, in *time.Location) *schedule.Schedule {
	t.Helper()
	yaml := s.YAML([]string{"A test."})
	loaded, err := load.Text(yaml, "/srv/schedule.yaml", load.Options{
		Local: in, Getenv: func(name string) (string, bool) { return "/home/maria", name == "HOME" },
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, yaml)
	}
	return loaded
}

func differences(p *Proof) string {
	var all []string
	for _, d := range p.Differences {
		all = append(all, fmt.Sprintf("%q %q at %s, by cron: %t", d.Task.Entry.When, d.Task.Cron, d.At, d.Cron))
	}
	return strings.Join(all, "\n")
}

// A scheduler that is wrong in one minute a year is found, whichever field it reads wrong.
func TestAnErrorOfOneMinuteAYearIsFound(t *testing.T) {
	for _, row := range []struct{ line, what, wrong string }{
		{"30 4 * * *", "a minute more", "31 4 7 6 *"},
		{"30 4 * * *", "an hour more", "30 5 7 6 *"},
		{"30 4 7 * *", "a day of the month more", "30 4 8 6 *"},
		{"30 4 7 5 *", "a month more", "30 4 7 6 *"},
		{"30 4 * * 1", "a day of the week more", "30 4 7 6 *"},
		{"*/5 * * * *", "a step that is off once", "7 11 7 6 *"},
		{"*/20 * 1-30 * *", "the end of a range", "40 23 31 12 *"},
	} {
		for _, in := range []string{"Europe/Berlin", "UTC"}[:machine.Sized(1, 2)] {
			calendar := vixie.NewCalendar(zone(t, in), start, start.AddDate(years, 0, 0))
			right, wrong := when(t, zone(t, in), row.line), when(t, zone(t, in), row.wrong)
			check := func(what string, due func(from, to time.Time) iter.Seq[time.Time], found bool) {
				if d := Compare(times(t, row.line), calendar, due, start,
					start.AddDate(years, 0, 0)); (d != nil) != found {
					t.Errorf("%s, %s (%s), %s: %+v", row.line, row.what, in, what, d)
				}
			}
			check("none", right.Forward, false)
			check("planted", when(t, zone(t, in), row.line, row.wrong).Forward, true)
			check("taken away", without(right, func(at time.Time) bool {
				return at.Year() == 2040 && at.Month() == time.January &&
					right.Count(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC), at) == 3
			}), !neverInJanuary(right))
			check("moved", moved(right, wrong), true)
		}
	}
}

func neverInJanuary(w cron.When) bool {
	return w.Count(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2040, 2, 1, 0, 0, 0, 0, time.UTC)) < 4
}

// without leaves out instants.
func without(w cron.When, not func(time.Time) bool) func(from, to time.Time) iter.Seq[time.Time] {
	return func(from, to time.Time) iter.Seq[time.Time] {
		return slices.Values(slices.DeleteFunc(slices.Collect(w.Forward(from, to)), not))
	}
}

// moved puts an instant of the other in place of the one before it, so that no count would find it.
func moved(w, other cron.When) func(from, to time.Time) iter.Seq[time.Time] {
	return func(from, to time.Time) iter.Seq[time.Time] {
		all := slices.Collect(w.Forward(from, to))
		for at := range other.Forward(from, to) {
			i, _ := slices.BinarySearchFunc(all, at, time.Time.Compare)
			if i > 0 {
				all[i-1] = at
			}
		}
		return slices.Values(all)
	}
}

// Every change of the clocks is looked at: one slot too many, or too few, at any of them is found.
func TestAnErrorAtAnyChangeOfTheClocksIsFound(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "Australia/Lord_Howe"} {
		in := zone(t, name)
		calendar := vixie.NewCalendar(in, start, start.AddDate(years, 0, 0))
		changes := calendar.ChangeTimes()
		if len(changes) < 2*years-1 {
			t.Errorf("%s changes its clocks %d times in %d years", name, len(changes), years)
		}
		every := when(t, in, "*/30 * * * *")
		for _, change := range changes {
			gone := without(every, func(at time.Time) bool { return at.Equal(change) })
			d := Compare(times(t, "*/30 * * * *"), calendar, gone, change.AddDate(0, 0, -2), change.AddDate(0, 0, 2))
			if d == nil || !d.At.Equal(change) || !d.Cron || d.Minutes != 1 {
				t.Fatalf("%s, without the slot at %s: %+v", name, change, d)
			}
		}
	}
}

// Rules for the change of clocks that are only nearly ours are told apart.
func TestOtherRulesForClockChangesAreFound(t *testing.T) {
	in := zone(t, "Europe/Berlin")
	calendar := vixie.NewCalendar(in, start, start.AddDate(years, 0, 0))
	for _, row := range []struct{ line, other, what string }{
		{"30 2 * * *", "*/30 2 * * *", "a job with a fixed time that follows the wall clock"},
		{"*/30 2 * * *", "0,30 2 * * *", "a job that follows the wall clock with a fixed time"},
		{"0 * * * *", "0 0-23 * * *", "an hour that is written out"},
	} {
		d := Compare(times(t, row.line), calendar, when(t, in, row.other).Forward, start, start.AddDate(years, 0, 0))
		if d == nil {
			t.Errorf("%s was not found", row.what)
		}
	}
}

// 300 odd lines are proven in seconds.
func BenchmarkProve(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	var text strings.Builder
	for i := range 300 {
		minute, hour := fmt.Sprint(random.IntN(60)), fmt.Sprint(random.IntN(24))
		switch random.IntN(10) {
		case 0:
			minute, hour = fmt.Sprintf("%d-59/%d", random.IntN(5), 5+random.IntN(10)), "*"
		case 1, 2:
			hour = "*"
		case 3:
			hour = fmt.Sprintf("%d-%d", random.IntN(8), 8+random.IntN(12))
		}
		fmt.Fprintf(&text, "%s %s * * * /bin/job-%d\n", minute, hour, i)
	}
	s := Convert([]*Table{Parse(Source{Name: "crontab", Text: text.String()})}, Options{})
	loaded, err := load.Text(s.YAML(nil), "/srv/schedule.yaml",
		load.Options{Local: zone(b, "Europe/Berlin"), Getenv: func(string) (string, bool) { return "/root", true }})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if p := Prove(s.Tasks, loaded, start, zone(b, "Europe/Berlin")); len(p.Differences) > 0 {
			b.Fatal(p.Differences)
		}
	}
}
