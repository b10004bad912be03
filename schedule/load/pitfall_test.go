package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sched/schedule/cron"
)

func TestPitfallsAreNamed(t *testing.T) {
	const sign = "? is a sign of Quartz, Spring and EventBridge, and means * here"
	hint := func(expression string) string {
		if len(strings.Fields(expression)) == 5 {
			return "write * for ?" // Quartz has six fields, and --as quartz would refuse it
		}
		return "write * for ?; `sched explain '" + expression + "' --as quartz` has the line that means the same"
	}
	byNumber := func(expression string) string {
		return hint(expression) + "; or write names: MON for 1, FRIL for 5L, TUE#1 for 2#1"
	}
	quartz := func(weekdays string) string {
		return "weekday " + weekdays + " is counted as in cron, where 1 is Monday; to Quartz, whose sign ? is, 1 is Sunday"
	}
	tests := []struct{ cron, text, hint string }{
		{"* 3 * * *", "it is due 60 times, each minute of hour 3", "for once write 0 3 * * *"},
		{"* 3,15 * * *", "it is due 60 times, each minute of hour 3,15", "for once write 0 3,15 * * *"},
		{"* */5 * * *", "it is due 60 times, each minute of hour */5", "for once write 0 */5 * * *"},
		{"* 8-18/2 * * *", "it is due 60 times, each minute of hour 8-18/2", "for once write 0 8-18/2 * * *"},
		{"* 30 3 * * *", "it is due 60 times, each second of minute 30", "for once write 0 30 3 * * *"},
		{"0 * 3 * * *", "it is due 60 times, each minute of hour 3", "for once write 0 0 3 * * *"},
		{"0 0 */31 * *", "only day 1 fits the step */31", "write 1 for it"},
		{"0 0 1 */12 *", "only month 1 fits the step */12", "write 1 for it"},
		{"0 0 * * */7", "only weekday 0 fits the step */7", "write 0 for it"},
		{"0 0 0 ? * 1", quartz("1"), byNumber("0 0 0 ? * 1")},
		{"0 0 0 ? * 6L", quartz("6L"), byNumber("0 0 0 ? * 6L")},
		{"0 0 0 ? * MON,2#1", quartz("MON,2#1"), byNumber("0 0 0 ? * MON,2#1")},
		{"0 0 ? * 1-5", quartz("1-5"), byNumber("0 0 ? * 1-5")},
		{"0 0 0 ? * MON#1", sign, hint("0 0 0 ? * MON#1")},
		{"0 0 ? * */2", sign, hint("0 0 ? * */2")},
		{"0 0 15 * ?", sign, hint("0 0 15 * ?")},

		// what people mean
		{"* * * * *", "", ""},
		{"* 9-17 * * *", "", ""},
		{"* 22-23,0-5 * * *", "", ""},
		{"*/5 3 * * *", "", ""},
		{"* */1 * * *", "", ""},
		{"* * 3 * *", "", ""},
		{"0 0 */15 * *", "", ""},
		{"0 0 1 */6 *", "", ""},
		{"0 3 * * *", "", ""},
		{"* * * * * *", "", ""},
		{"@daily", "", ""},
	}
	for _, tt := range tests {
		expression, err := cron.Parse(tt.cron, "task")
		if err != nil {
			t.Errorf("%q: %v", tt.cron, err)
			continue
		}
		if text, hint := pitfall(expression); text != tt.text || hint != tt.hint {
			t.Errorf("%q: got %q, hint %q, want %q, hint %q", tt.cron, text, hint, tt.text, tt.hint)
		}
	}
}

// Signs and times of a crontab that were copied into a command are named.
func TestSignsOfACrontabInACommand(t *testing.T) {
	for task, want := range map[string]string{
		`command: 'touch "x-$(date +\%F)"'`:         `task "a": command: \% stands for % in a crontab`,
		`command: [date, '+\%F']`:                   `command: \% stands for % in a crontab`,
		`command: x, on_failure: 'touch "\%F"'`:     `on_failure: \% stands for %`,
		`command: x, when: 'test -e "$(date \%F)"'`: `when: \% stands for %`,
		`command: 'date +%F; echo "\%"'`:            "",
		`command: 'date +%F'`:                       "",

		`command: '* * * * * ls'`:                      `command: it begins with the times of a crontab line`,
		`command: '*/5 0-6 1,15 jan mon-fri /bin/job'`: `write cron: "*/5 0-6 1,15 jan mon-fri"`,
		`command: '@daily job'`:                        `write cron: "@daily"`,
		`command: '* * ls'`:                            "",
		`command: 'ls * * * * * *'`:                    "",
		`command: '@user'`:                             "",
	} {
		s, err := Text([]byte("tasks: [{name: a, every: hour, "+task+"}]"), "/srv/schedule.yaml", Options{})
		if err != nil {
			t.Fatal(task, err)
		}
		var text string
		for _, w := range s.Warnings {
			text += w.String()
		}
		if !strings.Contains(text, want) || want == "" && text != "" {
			t.Errorf("%s: %q", task, text)
		}
	}
	crontab := filepath.Join(t.TempDir(), "crontab")
	line := `* * * * * touch "x-$(date +\\\%F)"` + "\n"
	if err := os.WriteFile(crontab, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := File(crontab, Options{Getenv: func(string) (string, bool) { return "/root", true }})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.Tasks[0].Command.Line, `\%`) || len(s.Warnings) > 0 {
		t.Error("a crontab read as it is:", err, s.Warnings, s.Tasks[0].Command)
	}
}
