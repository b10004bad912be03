package load

import (
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
