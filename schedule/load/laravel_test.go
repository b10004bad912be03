package load

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
)

// fromLaravel pairs a method of Laravel's scheduler with the keys that say the same here, and with
// the cron expression of both. docs/from-laravel.md has the same rows. Laravel's weekdays(),
// mondays() and days() choose days, not times: alone they leave the frequency at every minute.
var fromLaravel = []struct{ method, keys, cron string }{
	{"cron('*/7 8-17 * * 1-5')", `cron: "*/7 8-17 * * 1-5"`, "*/7 8-17 * * 1-5"},

	{"everySecond()", "every: second", "* * * * * *"},
	{"everyTwoSeconds()", "every: 2 seconds", "*/2 * * * * *"},
	{"everyFiveSeconds()", "every: 5 seconds", "*/5 * * * * *"},
	{"everyTenSeconds()", "every: 10 seconds", "*/10 * * * * *"},
	{"everyFifteenSeconds()", "every: 15 seconds", "*/15 * * * * *"},
	{"everyTwentySeconds()", "every: 20 seconds", "*/20 * * * * *"},
	{"everyThirtySeconds()", "every: 30 seconds", "*/30 * * * * *"},

	{"everyMinute()", "every: minute", "* * * * *"},
	{"everyTwoMinutes()", "every: 2 minutes", "*/2 * * * *"},
	{"everyThreeMinutes()", "every: 3 minutes", "*/3 * * * *"},
	{"everyFourMinutes()", "every: 4 minutes", "*/4 * * * *"},
	{"everyFiveMinutes()", "every: 5 minutes", "*/5 * * * *"},
	{"everyTenMinutes()", "every: 10 minutes", "*/10 * * * *"},
	{"everyFifteenMinutes()", "every: 15 minutes", "*/15 * * * *"},
	{"everyThirtyMinutes()", "every: 30 minutes", "*/30 * * * *"},

	{"hourly()", "every: hour", "0 * * * *"},
	{"hourlyAt(17)", "every: hour at :17", "17 * * * *"},
	{"hourlyAt([15, 45])", "every: hour at :15, :45", "15,45 * * * *"},
	{"everyOddHour()", "every: odd hours", "0 1-23/2 * * *"},
	{"everyOddHour(5)", "every: odd hours at :05", "5 1-23/2 * * *"},
	{"everyTwoHours()", "every: 2 hours", "0 */2 * * *"},
	{"everyTwoHours(15)", "every: 2 hours at :15", "15 */2 * * *"},
	{"everyThreeHours()", "every: 3 hours", "0 */3 * * *"},
	{"everyThreeHours([0, 20])", "every: 3 hours at :00, :20", "0,20 */3 * * *"},
	{"everyFourHours()", "every: 4 hours", "0 */4 * * *"},
	{"everyFourHours(45)", "every: 4 hours at :45", "45 */4 * * *"},
	{"everySixHours()", "every: 6 hours", "0 */6 * * *"},
	{"everySixHours(30)", "every: 6 hours at :30", "30 */6 * * *"},

	{"daily()", "every: day", "0 0 * * *"},
	{"at('13:00')", "every: day at 13:00", "0 13 * * *"},
	{"dailyAt('13:00')", "every: day at 13:00", "0 13 * * *"},
	{"twiceDaily(1, 13)", "every: day at 1:00, 13:00", "0 1,13 * * *"},
	{"twiceDailyAt(1, 13, 15)", "every: day at 1:15, 13:15", "15 1,13 * * *"},

	{"weekly()", "every: week", "0 0 * * 0"},
	{"weeklyOn(1, '8:00')", "every: week on monday at 8:00", "0 8 * * 1"},
	{"weeklyOn([1, 3, 5], '8:00')", "every: monday, wednesday, friday at 8:00", "0 8 * * 1,3,5"},
	{"weekly()->mondays()->at('13:00')", "every: monday at 13:00", "0 13 * * 1"},
	{"daily()->weekdays()", "every: weekday", "0 0 * * 1-5"},
	{"daily()->weekends()", "every: weekend", "0 0 * * 6,0"},
	{"dailyAt('9:30')->tuesdays()", "every: tuesday at 9:30", "30 9 * * 2"},
	{"daily()->days([0, 3])", "every: sunday, wednesday", "0 0 * * 0,3"},
	{"hourly()->weekdays()->between('8:00', '17:00')",
		"every: hour\ndays: weekdays\nbetween: [\"8:00\", \"17:00\"]", "0 8-17 * * 1-5"},
	{"hourly()->unlessBetween('23:00', '4:00')", "every: hour\nunless_between: [\"23:00\", \"4:00\"]", "0 5-22 * * *"},

	{"weekdays()", "every: minute\ndays: weekdays", "* * * * 1-5"},
	{"weekends()", "every: minute\ndays: weekends", "* * * * 6,0"},
	{"mondays()", "every: minute\ndays: monday", "* * * * 1"},
	{"tuesdays()", "every: minute\ndays: tuesday", "* * * * 2"},
	{"wednesdays()", "every: minute\ndays: wednesday", "* * * * 3"},
	{"thursdays()", "every: minute\ndays: thursday", "* * * * 4"},
	{"fridays()", "every: minute\ndays: friday", "* * * * 5"},
	{"saturdays()", "every: minute\ndays: saturday", "* * * * 6"},
	{"sundays()", "every: minute\ndays: sunday", "* * * * 0"},
	{"days([0, 3])", "every: minute\ndays: [0, 3]", "* * * * 0,3"},

	{"monthly()", "every: month", "0 0 1 * *"},
	{"monthlyOn(4, '15:00')", "every: month on 4 at 15:00", "0 15 4 * *"},
	{"twiceMonthly(1, 16, '13:00')", "every: month on 1, 16 at 13:00", "0 13 1,16 * *"},
	{"daysOfMonth([1, 10, 20])", "every: month on 1, 10, 20", "0 0 1,10,20 * *"},
	{"lastDayOfMonth('15:00')", "every: month on last day at 15:00", "0 15 L * *"},
	{"quarterly()", "every: quarter", "0 0 1 1-12/3 *"},
	{"quarterlyOn(4, '14:00')", "every: quarter on 4 at 14:00", "0 14 4 1-12/3 *"},
	{"yearly()", "every: year", "0 0 1 1 *"},
	{"yearlyOn(6, 1, '17:00')", "every: year on 1 June at 17:00", "0 17 1 6 *"},

	{"daily()->timezone('America/New_York')", "every: day\ntimezone: America/New_York", "0 0 * * *"},
}

// laravelFrequencies are all methods that say when: the methods of ManagesFrequencies in Laravel 12
// and 13.
var laravelFrequencies = strings.Fields(`
	cron everySecond everyTwoSeconds everyFiveSeconds everyTenSeconds everyFifteenSeconds everyTwentySeconds
	everyThirtySeconds everyMinute everyTwoMinutes everyThreeMinutes everyFourMinutes everyFiveMinutes everyTenMinutes
	everyFifteenMinutes everyThirtyMinutes hourly hourlyAt everyOddHour everyTwoHours everyThreeHours everyFourHours
	everySixHours daily at dailyAt twiceDaily twiceDailyAt weekdays weekends mondays tuesdays wednesdays thursdays fridays
	saturdays sundays weekly weeklyOn monthly monthlyOn twiceMonthly lastDayOfMonth daysOfMonth quarterly quarterlyOn
	yearly yearlyOn days between unlessBetween timezone`)

// Each row runs at the instants of its expression, in years around which clocks change.
func TestWhatLaravelSays(t *testing.T) {
	for _, tt := range fromLaravel {
		task := laravelTask(t, tt.keys)
		want := cron.When{Crons: []cron.Expression{mustParse(t, tt.cron)}, Location: task.When.Location}
		start := time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC) // the clocks of Berlin change at 1:00
		end := start.AddDate(12, 0, 0)
		ours, n := start, 0
		for at, ok := want.Next(start); ok && at.Before(end) && n < 2500; at, ok = want.Next(at) {
			n++
			ours = nextMet(t, task, ours)
			if !ours.Equal(at) {
				t.Errorf("%s, %q: runs at %v, want %v", tt.method, tt.keys, ours, at)
				break
			}
		}
		if n < 10 {
			t.Errorf("%s: only %d instants", tt.method, n)
		}
	}
}

// nextMet is when the task is due and all its conditions are met.
func nextMet(t *testing.T, task *schedule.Task, after time.Time) time.Time {
	t.Helper()
	for range 30_000 {
		next, ok := task.When.Next(after)
		if !ok || task.UnmetCondition(next) == "" {
			return next
		}
		after = next
	}
	t.Fatalf("%s never runs", task.When)
	return after
}

func laravelTask(t *testing.T, keys string) *schedule.Task {
	t.Helper()
	text := "timezone: Europe/Berlin\ntasks:\n- name: a\n  command: a\n  " +
		strings.ReplaceAll(keys, "\n", "\n  ") + "\n"
	s, err := Text([]byte(text), "/srv/shop/schedule.yaml", testOptions())
	if err != nil {
		t.Fatalf("%s%v", text, err)
	}
	return s.Tasks[0]
}

func TestEveryFrequencyOfLaravelHasARow(t *testing.T) {
	said := map[string]bool{}
	for _, tt := range fromLaravel {
		for _, call := range strings.Split(tt.method, "->") {
			method, _, _ := strings.Cut(call, "(")
			said[method] = true
			if !slices.Contains(laravelFrequencies, method) {
				t.Errorf("%s: no method of Laravel", method)
			}
		}
	}
	for _, method := range laravelFrequencies {
		if !said[method] {
			t.Errorf("%s has no row", method)
		}
	}
}

const laravelGuide = "../../docs/from-laravel.md"

func TestTheGuideFromLaravelHasTheSameRows(t *testing.T) {
	text, err := os.ReadFile(laravelGuide)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range fromLaravel {
		keys := strings.ReplaceAll(tt.keys, "\n", "`<br>`")
		if row := fmt.Sprintf("| `%s` | `%s` | `%s` |\n", tt.method, keys,
			tt.cron); !strings.Contains(string(text), row) {
			t.Errorf("%s lacks %s", laravelGuide, row)
		}
	}
	rows := regexp.MustCompile("(?m)^\\|.* \\| `[-0-9*/,#LW]+( [-0-9*/,#LW]+){4,5}` \\|$").FindAllString(string(text), -1)
	if len(rows) != len(fromLaravel) {
		t.Errorf("%s has %d rows with an expression, the tables here %d",
			laravelGuide, len(rows), len(fromLaravel))
	}
}

// A user may write a method of Laravel as a key of a task. The hint is then the line that the
// method's row has.
func TestAMethodOfLaravelAsAKeyGetsTheLineThatSaysIt(t *testing.T) {
	guide, err := os.ReadFile(laravelGuide)
	if err != nil {
		t.Fatal(err)
	}
	rows, method, line := regexp.MustCompile("(?m)^\\| (`.*?) \\| (`.*)$"),
		regexp.MustCompile("`([a-z]\\w*)\\([^>`]*\\)`"), regexp.MustCompile("`([a-z_]+): ")
	tried := 0
	for _, row := range rows.FindAllStringSubmatch(string(guide), -1) {
		for _, m := range method.FindAllStringSubmatch(row[1], -1) {
			var keys []string
			for _, k := range line.FindAllStringSubmatch(row[2], -1) {
				keys = append(keys, k[1])
			}
			if taskKeys.Has(m[1], taskScope) ||
				!slices.ContainsFunc(keys, func(k string) bool { return taskKeys.Has(k, taskScope) }) {
				continue
			}
			tried++
			_, err := Text([]byte("tasks: [{name: a, command: a, every: day, "+m[1]+": x}]\n"),
				"/srv/shop/schedule.yaml", testOptions())
			if err == nil || !slices.ContainsFunc(keys, func(k string) bool {
				return strings.Contains(err.Error(), "write `"+k+": ") ||
					strings.Contains(err.Error(), "did you mean \""+k+"\"?")
			}) {
				t.Errorf("%s should be said by %q: %v", m[1], keys, err)
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d methods", tried)
	}
}

// A hint for a word of Laravel says a key with the values that were written, and who follows it has
// a schedule without a problem.
func TestHintsForLaravelCanBeFollowed(t *testing.T) {
	proposed := regexp.MustCompile("write `([^`]+)`|(?:did you mean|write) \"([^\"]+)\"|hint: write (\\w+)$")
	for _, tt := range []struct{ wrong, right string }{
		{"everyTwoHours: 15", "every: 2 hours at :15"},
		{"every_four_hours: 5", "every: 4 hours at :05"},
		{"everySixHours: [0, 20]", "every: 6 hours at :00, :20"},
		{"everyThreeHours: true", "every: 3 hours"},
		{"everyTwoHours: 75", "every: 2 hours"},
		{"everyOddHour: 5", "every: odd hours at :05"},
		{"weeklyOn: [[1, 3], '8:00']", "every: week on monday, wednesday at 8:00"},
		{"weeklyOn: ['1-5', '8:00']", "every: week on weekdays at 8:00"},
		{"every: everyTwoHours(15)", "every: 2 hours at :15"},
		{"every: week on 1 at 8:00", "every: week on monday at 8:00"},
		{"every: week on 0, 7", "every: week on sunday, sunday"},
		{"every: 12 weeks on 1 from 2026-12-01", "every: 12 weeks on monday from 2026-12-01"},
		{"every: monday, 3 at 8", "every: monday, wednesday at 8:00"},
		{"every: week on 1-5", "every: week on weekdays"},
		{"pingBeforeIf: 1", `before: {ping: "${PING_URL:-}"}`}, {"thenPingIf: 1", `after: {ping: "${PING_URL:-}"}`},
		{"pingOnSuccessIf: 1", `on_success: {ping: "${PING_URL:-}"}`},
		{"pingOnFailureIf: 1", `on_failure: {ping: "${PING_URL:-}"}`},
		{"job: Send", "command: php artisan report:send"}, {"call: send", "command: php artisan report:send"},
		{"preventOverlapsUsing: X", "without_overlapping: true"},
		{"missed: yes", "missed: once"}, {"missed: true", "missed: once"}, {"missed: no", "missed: skip"},
		{"store_down: on", "store_down: run"}, {"on_lost_lease: yes", "on_lost_lease: stop"},
		{"enabled: nope", "enabled: false"}, {"background: always", "background: true"},
	} {
		task := func(line string) string {
			more := ""
			for _, other := range []string{"every: day", "command: a"} {
				key, _, _ := strings.Cut(other, ": ")
				if !strings.HasPrefix(line, key) && (key != "every" || !strings.Contains(line, "every: ")) {
					more += "    " + other + "\n"
				}
			}
			return "tasks:\n  - name: a\n" + more + "    " + line + "\n"
		}
		_, err := Text([]byte(task(tt.wrong)), "/srv/shop/schedule.yaml", testOptions())
		if err == nil {
			t.Errorf("%s is no problem", tt.wrong)
			continue
		}
		found := proposed.FindStringSubmatch(strings.TrimSpace(err.Error()))
		if found == nil {
			t.Errorf("%s proposes nothing: %v", tt.wrong, err)
			continue
		}
		got := found[1]
		if key, _, _ := strings.Cut(tt.wrong, ": "); got == "" {
			got = key + ": " + found[2] + found[3]
		}
		if got != tt.right {
			t.Errorf("%s proposes %s, want %s", tt.wrong, got, tt.right)
		}
		if _, err := Text([]byte(task(got)), "/srv/shop/schedule.yaml", testOptions()); err != nil {
			t.Errorf("%s proposes %s, and that is refused: %v", tt.wrong, got, err)
		}
	}
}

// Other words of Laravel have a hint of their own, too, and so have wrong values.
func TestWordsOfLaravelHaveHints(t *testing.T) {
	for line, hint := range map[string]string{
		"useCache: redis": "write `store: redis://HOST:6379/2` at the top", "storeOutput: true": "outputs are kept",
		"withoutInterruptionPolling: true": "leave it out", "releaseOnTerminationSignals: true": "leave it out",
		"purpose: x":       "did you mean \"description\"?",
		"enabled: perhaps": "write true or false", "every: day at 25:00": "midnight is 0:00, and the last hour is 23",
		"every: day at 8:61": "the last minute of an hour is 8:59", "every: week on 8": "days have names",
		"every: month on 32": "from 1 to 31",
	} {
		_, err := Text([]byte("tasks: [{name: a, command: a, "+line+"}]\n"), "/srv/shop/schedule.yaml", testOptions())
		if err == nil || !strings.Contains(err.Error(), "hint: ") || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s lacks the hint %q: %v", line, hint, err)
		}
	}
}

// beyondLaravel is what users of Laravel write by hand, with closures in when().
var beyondLaravel = []struct{ words, cron string }{
	{"first monday of month", "0 0 * * 1#1"},
	{"first, third tuesday of month at 8:00", "0 8 * * 2#1,2#3"},
	{"last friday of month at 17:00", "0 17 * * 5L"},
	{"first weekday of month", "0 0 1W * *"},
	{"last weekday of month at 18:00", "0 18 LW * *"},
	{"first monday of quarter", "0 0 * 1-12/3 1#1"},
}

func TestBeyondLaravel(t *testing.T) {
	for _, tt := range beyondLaravel {
		if got := laravelTask(t, "every: "+tt.words).When.String(); got != tt.cron {
			t.Errorf("%s is %s, want %s", tt.words, got, tt.cron)
		}
	}
}

// mustParse parses an expression of a test.
func mustParse(t *testing.T, text string) cron.Expression {
	t.Helper()
	c, err := cron.Parse(text, "task")
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return c
}
