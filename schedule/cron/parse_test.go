package cron

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParseRefuses(t *testing.T) {
	const need = "needs 5 (minute hour day month weekday), or 6 with leading seconds"
	const quartzHint = "`sched explain --as quartz` writes the line without the year: to Quartz weekday 1 is SUN"
	const handHint = "if only people start the task, write `every: hand`"
	const monthEndHint = "the last day of a month is L, its last working day LW; " + handHint
	tests := []struct{ cron, text, hint string }{
		// wrong field counts
		{"", "is empty, " + need, ""},
		{"daily", "1 field, " + need, ""},
		{"* * * * * * *", "7 fields, as Quartz has them, " + need, quartzHint},
		{"0 0 12 ? * MON-FRI 2026", "7 fields, as Quartz has them, " + need, quartzHint},

		// what other files have around the fields
		{`"0 3 * * *"`, "the times stand in quotes", "write 0 3 * * *"},
		{"'0 3 * * *'", "the times stand in quotes", "write 0 3 * * *"},
		{"“0 3 * * *”", "the times stand in quotes", "write 0 3 * * *"},
		{"0 3 * * * # nightly", "a comment stands behind the times", "write 0 3 * * *, and the comment outside the quotes"},
		{"cron(0 10 * * ? *)", "cron(…) is for AWS EventBridge, whose last field is the year",
			"write its first five fields alone, * for ?, and names for weekdays: its weekday 1 is SUN"},
		{"0 10 * * ? *", "6 fields, as AWS EventBridge has them, whose last one is the year",
			"write the first five alone, * for ?, and names for weekdays: its weekday 1 is SUN"},
		{"0 0 12 ? *", "the first field is the second, as Quartz and Spring have it",
			"`sched explain --as quartz` or --as spring writes the five fields: to Quartz weekday 1 is SUN"},
		{"0 9 * * 1–5", "a sign only looks like one of the keyboard, as word processors write it", "write 0 9 * * 1-5"},
		{"∗/5 * * * *", "a sign only looks like one of the keyboard, as word processors write it", "write */5 * * * *"},
		{"- cron: '0 9 * * *'", "a key stands before the times", "write 0 9 * * *"},
		{"schedule: 0 9 * * *", "a key stands before the times", "write 0 9 * * *"},
		{"every 5 minutes", "these are words and no fields", "write `every: 5 minutes` in place of cron"},
		{"0 9 * * * Europe/Berlin", `"Europe/Berlin" is no field`, "the time zone has its own key, timezone:"},
		{"0~30 * * * *", `minute "0~30" is not a number in 0-59`,
			"a number that is always the same, but not the same for all tasks, is H, and H(0-29) in a range"},
		{"rate(5 minutes)", "rate(…) is for AWS EventBridge", "write `every: 5 minutes` in place of cron"},
		{"0 3 * *", "a field is missing: 4 fields, " + need, ""},
		{"*/5 * * * * php artisan queue:work", `"php artisan queue:work" is no field`,
			"the command of a crontab line has its own key, command:, and the user before it user:"},
		{"0 0 1 1 * 2030", "weekday 2030 is not in 0-7",
			"the first of 6 fields is the second, and there is no field for the year"},
		{"CRON_TZ=UTC 0 0 * * *", `"CRON_TZ=UTC" is no field`, "the time zone has its own key, timezone:"},

		// numbers out of range
		{"61 * * * *", "minute 61 is not in 0-59", ""},
		{"60 * * * *", "minute 60 is not in 0-59", "the full hour is minute 0"},
		{"0 24 * * *", "hour 24 is not in 0-23", "midnight is hour 0"},
		{"0 0 0 * *", "day 0 is not in 1-31", ""},
		{"0 0 0/15 * *", "day 0 is not in 1-31", ""},
		{"0 0 32 * *", "day 32 is not in 1-31", ""},
		{"0 0 1 13 *", "month 13 is not in 1-12", ""},
		{"0 0 * * 8", "weekday 8 is not in 0-7", ""},
		{"60 * * * * *", "second 60 is not in 0-59", ""},
		{"1,2,99999999999999999999 * * * *", "minute 99999999999999999999 is not in 0-59", ""},
		{"10-70 * * * *", "minute 70 is not in 0-59", ""},
		{"0 0 32W * *", "day 32 is not in 1-31", ""},
		{"0 0 * * 8L", "weekday 8 is not in 0-7", ""},
		{"0 0 * * MON#6", `week "6" in "MON#6" is not in 1-5`, ""},
		{"0 0 * * 1#", `week "" in "1#" is not in 1-5`, ""},

		// what is no number
		{"a * * * *", `minute "a" is not a number in 0-59`, ""},
		{"+5 * * * *", `minute "+5" is not a number in 0-59`, ""},
		{"-5 * * * *", `minute "-5" lacks a number`, ""},
		{"5- * * * *", `minute "5-" lacks a number`, ""},
		{"*-5 * * * *", `minute "*-5": * takes a step and nothing else`, ""},
		{"1-2-3 * * * *", `minute "2-3" is not a number in 0-59`, ""},
		{"0 0 1 MON *", `month "MON" is not a number in 1-12 or a name in JAN-DEC`, ""},
		{"0 0 * * monday", `weekday "monday" is not a number in 0-7 or a name in MON-SUN`, "write MON"},
		{"0 0 1 sept *", `month "sept" is not a number in 1-12 or a name in JAN-DEC`, "write SEP"},
		{"? * * * *", `minute "?" is not a number in 0-59`, "? is for the day fields only; write *"},
		{"0 0 ?,2 * *", "day ? must stand alone", ""},
		{"0 0 ?/2 * *", "day ? must stand alone", ""},

		// empty elements
		{"1,,2 * * * *", `minute "1,,2" has an empty element`, "a list has one comma between two elements, and no spaces"},
		{"0 8, 20 * * *", `minute "8," has an empty element`, "a list has one comma between two elements, and no spaces"},
		{", * * * *", `minute "," has an empty element`, "a list has one comma between two elements, and no spaces"},

		// every element is checked, also after one that is always due
		{"*,61 * * * *", "minute 61 is not in 0-59", ""},
		{"* * * * *,MON#9", `week "9" in "MON#9" is not in 1-5`, ""},

		// steps
		{"*/0 * * * *", "minute step 0 is not in 1-59", ""},
		{"*/90 * * * *", "minute step 90 is not in 1-59", "*/90 would be 0 alone; write that, or a step that fits"},
		{"0 */24 * * *", "hour step 24 is not in 1-23", "*/24 would be 0 alone; write that, or a step that fits"},
		{"0 0 1-9/40 * *", "day step 40 is not in 1-31", ""},
		{"*/ * * * *", `minute step "" in "*/" is not a number`, ""},
		{"*/5/2 * * * *", `minute step "5/2" in "*/5/2" is not a number`, ""},
		{"*/-5 * * * *", `minute step "-5" in "*/-5" is not a number`, ""},
		{"/5 * * * *", `minute "/5" lacks a number`, ""},

		// reversed ranges
		{"0 0 * * FRI-MON", "weekday range FRI-MON runs backwards", "write FRI-SUN,MON"},
		{"0 0 * * sat-tue", "weekday range sat-tue runs backwards", "write sat-SUN,MON-tue"},
		{"0 0 * * 5-2", "weekday range 5-2 runs backwards", "write 5-7,1-2"},
		{"50-10 * * * *", "minute range 50-10 runs backwards", "write 50-59,0-10"},
		{"0 23-0 * * *", "hour range 23-0 runs backwards", "write 23,0"},
		{"0 0 1 NOV-FEB *", "month range NOV-FEB runs backwards", "write NOV-DEC,JAN-FEB"},
		{"0 22-4/2 * * *", "hour range 22-4 runs backwards", ""},

		// L and W in places in which they mean nothing
		{"0 0 * * L", `weekday "L" needs a day`, "5L or FRIL is the last Friday of the month; L in the day field is its last day"},
		{"0 0 L3 * *", `day "L3" is not known: L stands alone and W follows one number`, "L is the last day, LW the last working day, 15W the working day nearest to the 15th"},
		{"0 0 W * *", `day "W" is not known: L stands alone and W follows one number`, "L is the last day, LW the last working day, 15W the working day nearest to the 15th"},
		{"0 0 WL * *", `day "WL" is not known`, "write LW"},
		{"L * * * *", `minute "L" is not a number in 0-59`, ""},
		{"0 3 * * MO", `weekday "MO" is not a number in 0-7 or a name in MON-SUN`, "write MON"},
		{"0 3 * * mo-fr", `weekday "mo" is not a number in 0-7 or a name in MON-SUN`, "write MON"},
		{"5 4 * * * df", `weekday "df" is not a number in 0-7 or a name in MON-SUN`, "if that is the command, it goes into `command`"},
		{"0 0 * * 15W", `weekday "15W" is not a number in 0-7 or a name in MON-SUN`, ""},

		// what can never be due
		{"0 0 31 2 *", "can never be due: day 31 never comes in month 2",
			monthEndHint},
		{"0 0 30 2 *", "can never be due: day 30 never comes in month 2",
			monthEndHint},
		{"0 0 31W FEB *", "can never be due: day 31W never comes in month FEB",
			monthEndHint},
		{"0 0 31 2,4,6,9,11 *", "can never be due: day 31 never comes in month 2,4,6,9,11",
			monthEndHint},
		{"0 0 LW * */6", "can never be due: day LW of month * is never on weekday */6", handHint},
		{"0 0 31 4 */2", "can never be due: day 31 of month 4 is never on weekday */2", handHint},

		// macros
		{"@reboot", "@reboot is no time", "in a schedule write `every: boot`"},
		{"@every 5m", `macro "@every 5m" is not known`, `write it in words instead: "every: 5 minutes"; or ask sched explain --as robfig`},
		{"@every 1h30m", `macro "@every 1h30m" is not known`, `write it in words instead: "every: 90 minutes from 2026-01-01 00:00"; or ask sched explain --as robfig`},
		{"@every 2h0m0s", `macro "@every 2h0m0s" is not known`, `write it in words instead: "every: 2 hours"; or ask sched explain --as robfig`},
		{"@every 7.5s", `macro "@every 7.5s" is not known`, `write it in words instead: "every: 5 minutes"; or ask sched explain --as robfig`},
		{"@dayly", `macro "@dayly" is not known`, "did you mean @daily?"},
		{"@Midnigth", `macro "@Midnigth" is not known`, "did you mean @midnight?"},
		{"@rebot", `macro "@rebot" is not known`, "did you mean @reboot?"},
		{"@fullmoon", `macro "@fullmoon" is not known`, "the macros are @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly and @reboot"},

		// H
		{"H(5) * * * *", `minute "H(5)" is not understood`, "write H(0-29) or H(0-29)/10"},
		{"H(0-29 * * * *", `minute "H(0-29" is not understood`, "write H(0-29) or H(0-29)/10"},
		{"H(0-99) * * * *", "minute 99 is not in 0-59", ""},
		{"H(9-1) * * * *", "minute range 9-1 runs backwards", ""},
		{"H/0 * * * *", "minute step 0 is not in 1-59", ""},
		{"H-5 * * * *", `minute "H-5": H takes no range after it`, "write H(0-29) for a number in a range"},
	}
	for _, tt := range tests {
		c, err := Parse(tt.cron, "task")
		var wrong *Error
		if !errors.As(err, &wrong) {
			t.Errorf("%q: got %q, %v, want an error", tt.cron, c, err)
			continue
		}
		if wrong.Text != tt.text || wrong.Hint != tt.hint {
			t.Errorf("%q:\n got %s\nhint %s\nwant %s\nhint %s", tt.cron, wrong.Text, wrong.Hint, tt.text, tt.hint)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"* * * * *", "*/5 1-3,7 L,15W * FRIL,1#2", "H(0-29)/10 H H * ?", "@daily",
		"0 0 31 2 *", "5/15 * * JAN-mar SAT-SUN", "1 2 3 4 5 6", "0 0 LW * */6", "0 0 29 2 7/7"} {
		f.Add(seed, "task")
	}
	f.Fuzz(func(t *testing.T, text, seed string) {
		c, err := Parse(text, seed)
		if err != nil {
			checkError(t, text, err)
			return
		}
		if again, err := Parse(c.String(), "other"); err != nil || again != c {
			t.Fatalf("%q reads as %q, and that as %q (%v)", text, c, again, err)
		}
		fields := checkTimes(t, c)
		checkDays(t, fields[dayField], dayField, c.dates.days, "2024-02-01", "2024-04-01")
		checkDays(t, fields[weekdayField], weekdayField, c.dates.weekdays, "2024-02-01", "2024-04-01")
		checkNext(t, When{Crons: []Expression{c}}, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	})
}

// checkError checks that the error about text is one for people: an *Error with a text and without
// a full stop.
func checkError(t *testing.T, text string, err error) {
	t.Helper()
	var wrong *Error
	if !errors.As(err, &wrong) || wrong.Text == "" {
		t.Fatalf("%T %v is not an error for people", err, err)
	}
	if strings.HasSuffix(wrong.Text, ".") ||
		!strings.Contains(text, "%") && strings.Contains(wrong.Text+wrong.Hint, "%!") {
		t.Fatalf("error %q, hint %q", wrong.Text, wrong.Hint)
	}
}
