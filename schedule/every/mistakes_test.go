package every

import (
	"errors"
	"testing"
	"time"

	"sched/schedule/cron"
	"sched/schedule/humanize"
)

func TestMistakesInWords(t *testing.T) {
	tests := []struct{ every, text, hint string }{
		// numbers that do not divide what they count in
		{"7 minutes", "7 does not divide 60, so 7 minutes would not be evenly spaced", `write cron: "*/7 * * * *", which restarts at each full hour; or "7 minutes from 2026-01-05 06:00", which counts from then`},
		{"7 seconds", "7 does not divide 60, so 7 seconds would not be evenly spaced", `write cron: "*/7 * * * * *", which restarts at each full minute`},
		{"97 seconds", "97 does not divide 60, so 97 seconds would not be evenly spaced", "the numbers of seconds that do are 1,2,3,4,5,6,10,12,15,20,30,60"},
		{"5 hours", "5 does not divide 24, so 5 hours would not be evenly spaced", `write cron: "0 */5 * * *", which restarts at midnight; or "5 hours from 2026-01-05 06:00", which counts from then`},
		{"90 minutes", "90 does not divide 60, so 90 minutes would not be evenly spaced", `write "90 minutes from 2026-01-05 06:00", which counts from then`},
		{"0 minutes", `"0 minutes" would be never`, `write "enabled: false" to switch the task off`},

		// what has no cron expression at all
		{"3 days", "3 days cannot be told from the calendar alone", `write "3 days from 2026-01-05", with a day on which it is due; or cron: "0 0 */3 * *", which restarts at each month`},
		{"2 days at 4:00", "2 days cannot be told from the calendar alone", `write "2 days from 2026-01-05 at 4:00", with a day on which it is due; or cron: "0 4 */2 * *", which restarts at each month`},
		{"2 days at 4:00, 5:30", "2 days cannot be told from the calendar alone", `write "2 days from 2026-01-05 at 4:00, 5:30", with a day on which it is due`},
		{"2 weeks", "2 weeks cannot be told from the calendar alone", `write "2 weeks from 2026-01-05", with a day on which it is due`},
		{"2 weeks at 8:00, 9:30", "2 weeks cannot be told from the calendar alone", `write "2 weeks from 2026-01-05 at 8:00, 9:30", with a day on which it is due`},
		{"every second week", "2 weeks cannot be told from the calendar alone", `write "2 weeks from 2026-01-05", with a day on which it is due`},
		{"3 months", "3 months cannot be told from the calendar alone", "write quarter"},
		{"2 mondays", "2 mondays cannot be told from the calendar alone", `write "other monday from 2026-01-05", with the date of a monday on which it is due`},
		{"every other friday", "2 fridays cannot be told from the calendar alone", `write "other friday from 2026-01-09", with the date of a friday on which it is due`},
		{"other friday at 17:00", "2 fridays cannot be told from the calendar alone", `write "other friday from 2026-01-09 at 17:00", with the date of a friday on which it is due`},

		// days that are counted from one
		{"0 days from 2026-01-05", `"0 days" would be never`, `write "enabled: false" to switch the task off`},
		{"5 seconds from 2026-01-05", `"5 seconds" is not counted from a date: only minutes, hours, days and weeks are`, `write "2 weeks from 2026-01-05" or "10 days from 2026-01-05"`},
		{"monday from 2026-01-05", `"monday" is not counted from a date: only minutes, hours, days and weeks are`, `write "2 weeks from 2026-01-05" or "10 days from 2026-01-05"`},
		{"2 from 2026-01-05", `"2" is not counted from a date: only minutes, hours, days and weeks are`, `write "2 weeks from 2026-01-05" or "10 days from 2026-01-05"`},
		{"month from 2026-01-05", `"month" is not counted from a date: only minutes, hours, days and weeks are`, `write "month on 5"`},
		{"600 weeks from 2026-01-05", `600 weeks is longer than ten years`, `write cron: "0 0 1 6 *" for a date in each year`},
		{"2 weeks from", `nothing follows "from"`, ""},
		{"2 weeks from 2026-02-30", `"2026-02-30" is not a date: February 2026 has 28 days`, ""},
		{"2 weeks from 2025-02-29 at 8:00", `"2025-02-29" is not a date: February 2025 has 28 days`, ""},
		{"2 weeks from 2026-13-01", `"2026-13-01" is not a date: month 13 is not in 1-12`, ""},
		{"2 weeks from 2026-1-5", `"2026-1-5" is not a date`, "write 2026-01-05"},
		{"2 weeks from monday", `"monday" is not a date`, "write it as 2026-01-05: the year, the month, the day"},
		{"2 weeks from 05.01.2026", `"05.01.2026" is not a date`, "write it as 2026-01-05: the year, the month, the day"},
		{"2 weeks from 05-01-2026", `"05-01-2026" is not a date`, "write it as 2026-01-05: the year, the month, the day"},
		{"2 weeks from 2026-01", `"2026-01" is not a date`, "write it as 2026-01-05: the year, the month, the day"},
		{"2 weeks from 2026-01-05 8:00", `"2026-01-05 8:00" is not a date`, `put "at" before the time`},

		// weekdays of a month
		{"5th monday of month", "not every month has a fifth monday", `write "last monday of month", or cron: "0 0 * * 1#5" for the months that have one`},
		{"fifth weekday of month", "not every month has a fifth weekday", `write "last weekday of month"`},
		{"2nd monday of month", `"2nd monday" is not understood`, `write "second monday of month"`},
		{"next monday of month", `"next" does not say which monday of the month`, "it is one of first, second, third, fourth, last"},
		{"monday of month", `"monday" is not a day of the month`, `write "first monday of month" or "last monday of month"`},
		{"first monday", `"first monday" lacks its month`, `write "first monday of month"`},
		{"last weekday", `"last weekday" lacks its month`, `write "last weekday of month"`},
		{"every second monday", `"second monday" lacks its month`, `write "second monday of month", or "2 weeks from 2026-01-05" for every second week from a day on`},
		{"second weekday of month", `"second weekday" is not understood: only the first and the last weekday of a month have words`, `write cron: "0 0 15W * *" for the one nearest to day 15`},
		{"last weekend of month", `"last weekend" is two days`, `write "last saturday of month" or "last sunday of month"`},
		{"second day of month", `"second day" is not a day of the month`, `write it as "on 1, 16", "on last day" or "on first monday"`},
		{"third minute", `"third minute" is not understood`, `write "3 minutes"`},
		{"first monday of june", `"of" is followed by month or quarter, not by "june"`, `write cron: "0 0 * 6 1#1" for the first Monday of June`},
		{"first monday of", `nothing follows "of"`, `write "first monday of month"`},
		{"of month", `nothing comes before "of"`, `write "first monday of month"`},
		{"first monday of month on 5", `"of" and "on" do not go together`, `write "first monday of month" or "month on first monday"`},
		{"last friday of quarter", `"last friday" does not go with "quarter"`, `write cron: "0 0 * 3,6,9,12 5L" for the last friday of a quarter`},

		// unknown words
		{"daily at 3", `"daily" is not a word for a frequency`, `did you mean "day at 3:00"?`},
		{"daily at 3 and 15.30", `"daily" is not a word for a frequency`, `did you mean "day at 3:00, 15:30"?`},
		{"hourly at 15", `"hourly" is not a word for a frequency`, `did you mean "hour at :15"?`},
		{"noon", `"noon" is not a word for a frequency`, `did you mean "day at 12:00"?`},
		{"daily at noon", `"daily" is not a word for a frequency`, `did you mean "day at 12:00"?`},
		{"1.5 minutes", "1.5 is not a whole number", `write "90 seconds"`},
		{"every 1.5 hours", "1.5 is not a whole number", `write "90 minutes from 2026-01-05 06:00"`},
		{"0.5 h", "0.5 is not a whole number", `write "30 minutes"`},
		{"daily at 8:00", `"daily" is not a word for a frequency`, `did you mean "day at 8:00"?`},
		{"5 minuts", `"minuts" is not a word for a frequency`, `did you mean "5 minutes"?`},
		{"minuet", `"minuet" is not a word for a frequency`, `did you mean "minute"?`},
		{"wensday", `"wensday" is not a word for a frequency`, `did you mean "wednesday"?`},
		{"90m", `"90m" is not a word for a frequency`, `write "90 minutes from 2026-01-05 06:00", which counts from then`},
		{"every 7m", `"7m" is not a word for a frequency`, `write cron: "*/7 * * * *", which restarts at each full hour; or "7 minutes from 2026-01-05 06:00", which counts from then`},
		{"2d at 4:00", `"2d" is not a word for a frequency`, `write "2 days from 2026-01-05 at 4:00", with a day on which it is due; or cron: "0 4 */2 * *", which restarts at each month`},
		{"2h at :15", `"2h" is not a word for a frequency`, `did you mean "2 hours at :15"?`},
		{"quarter on monday", `"monday" is not a day of the month`, `write "first monday of quarter"`},
		{"2 weeks at noon", "2 weeks cannot be told from the calendar alone", `write "2 weeks from 2026-01-05 at 12:00", with a day on which it is due`},
		{"5m", `"5m" is not a word for a frequency`, `did you mean "5 minutes"?`},
		{"5 min", `"min" is not a word for a frequency`, `did you mean "5 minutes"?`},
		{"monday, tusday", `"tusday" is not a word for a frequency`, `did you mean "monday, tuesday"?`},
		{"*/5 * * * *", "this is an expression of cron, and no words", `write it under cron: instead`},
		{"0 3 * * *", "this is an expression of cron, and no words", `write it under cron: instead`},
		{"0 0 * * 0", "this is an expression of cron, and no words", `write it under cron: instead`},
		{"30 3 * * *", "this is an expression of cron, and no words", `write it under cron: instead`},
		{"0 25 * * *", "this is an expression of cron, and no words", `write it under cron: instead`},
		{"0 30 4 1 1 mon", "this is an expression of cron, and no words", `write it under cron: instead`},
		{"@daily", "this is an expression of cron, and no words", `write it under cron: instead`},
		{"@dayly", `"@dayly" is not a word for a frequency`, `write it under cron: instead`},
		{"*-*-* 04:00:00", `"*-*-*" is not a word for a frequency`, `times of systemd are written in words: "day at 4:00", "weekday at 9:00", "15 minutes"`},
		{"reboot", `"reboot" is not a word for a frequency`, `did you mean "boot"?`},
		{"boot at 5:00", `"boot" stands alone`, "write boot: the first tick after each boot"},
		{"90 mintes from 2026-01-05 06:00", `"mintes" is not a word for a frequency`, `did you mean "90 minutes from 2026-01-05 06:00"?`},
		{"fortnight", `"fortnight" is not a word for a frequency`, `did you mean "2 weeks from 2026-01-05"?`},
		{"", "no frequency in it", everyForms},
		{"every", "no frequency in it", everyForms},

		// words of other programs and languages
		{"mon-fri", `"mon-fri" is not a word for a frequency`, `did you mean "weekdays"?`},
		{"mon-fri at 9:00", `"mon-fri" is not a word for a frequency`, `did you mean "weekdays at 9:00"?`},
		{"mon-wed at 9:00", `"mon-wed" is not a word for a frequency`, `did you mean "monday, tuesday, wednesday at 9:00"?`},
		{"everyFiveMinutes", `"everyfiveminutes" is not a word for a frequency`, `did you mean "5 minutes"?`},
		{"everyFiveMinutes()", "this calls a method, and every has words", `write "5 minutes", without brackets`},
		{"->everyFiveMinutes();", "this calls a method, and every has words", `write "5 minutes", without brackets`},
		{"dailyAt('13:00')", "this calls a method, and every has words", `write "day at 13:00", without brackets`},
		{"$schedule->job()->hourlyAt(17)", "this calls a method, and every has words", `write "hour at :17", without brackets`},
		{"weekly()", "this calls a method, and every has words", `write "week", without brackets`},
		{"mondays()", "this calls a method, and every has words", `write "mondays", without brackets`},
		{"weeklyOn(1, '8:00')", "this calls a method, and every has words", `write "week on monday at 8:00", without brackets`},
		{"weeklyOn([1, 5])", "this calls a method, and every has words", `write "week on monday, friday", without brackets`},
		{"monthlyOn(4, '15:00')", "this calls a method, and every has words", `write "month on 4 at 15:00", without brackets`},
		{"twiceDaily(1, 13)", "this calls a method, and every has words", `write "day at 1:00, 13:00", without brackets`},
		{"twiceDaily()", "this calls a method, and every has words", `write "day at 1:00, 13:00", without brackets`},
		{"twiceDailyAt(1, 13, 5)", "this calls a method, and every has words", `write "day at 1:05, 13:05", without brackets`},
		{"twiceMonthly(1, 16, '13:00')", "this calls a method, and every has words", `write "month on 1, 16 at 13:00", without brackets`},
		{"daysOfMonth([1, 10])", "this calls a method, and every has words", `write "month on 1, 10", without brackets`},
		{"lastDayOfMonth('15:00')", "this calls a method, and every has words", `write "month on last day at 15:00", without brackets`},
		{"quarterlyOn(4, '14:00')", "this calls a method, and every has words", `write "quarter on 4 at 14:00", without brackets`},
		{"yearlyOn(6, 1, '17:00')", "this calls a method, and every has words", `write "year on 1 June at 17:00", without brackets`},
		{"everyOddHour()", "this calls a method, and every has words", `write "odd hours", without brackets`},
		{"at('7:30')", "this calls a method, and every has words", `write "day at 7:30", without brackets`},
		{"yearlyOn(13, 1)", "this calls a method, and every has words", `write words without brackets, such as "5 minutes", "day at 13:00" or "week on monday at 8:00"`},
		{"weeklyOn", `"weeklyon" is not a word for a frequency`, `did you mean "week on monday at 8:00"?`},
		{"twiceDaily", `"twicedaily" is not a word for a frequency`, `did you mean "day at 1:00, 13:00"?`},
		{"monthlyOn", `"monthlyon" is not a word for a frequency`, `did you mean "month on 4 at 15:00"?`},
		{"dailyAt 13:00", `"dailyat" is not a word for a frequency`, `did you mean "day at 13:00"?`},
		{"lastDayOfMonth", `"lastdayofmonth" is not a word for a frequency`, `did you mean "month on last day"?`},
		{"half hour", `"half" is not a word for a frequency`, `did you mean "30 minutes"?`},
		{"every half an hour", `"half" is not a word for a frequency`, `did you mean "every 30 minutes"?`},
		{"half day", `"half" is not a word for a frequency`, everyForms},
		{"1h30m", `"1h30m" is not a word for a frequency`, `did you mean "90 minutes from 2026-01-05 06:00"?`},
		{"@every 1h30m", `"@every" is not a word for a frequency`, `did you mean "90 minutes from 2026-01-01 00:00"?`},
		{" @Every 20s", `"@every" is not a word for a frequency`, `did you mean "20 seconds"?`},
		{"@every 7s", `"@every" is not a word for a frequency`, `did you mean "20 seconds" or "5 minutes"?`},
		{"freitag", `"freitag" is not a word for a frequency`, `did you mean "friday"?`},
		{"freitag at 9:00", `"freitag" is not a word for a frequency`, `did you mean "friday at 9:00"?`},

		// words that do not go together
		{"5", `"5" lacks a unit`, `write "5 minutes", for example`},
		{"monday friday", `"friday" cannot follow "monday"`, `put commas between days, and "at" before the time`},
		{"monday 8:00", `"8:00" cannot follow "monday"`, `write "monday at 8:00"`},
		{"tuesday 9am", `"9am" cannot follow "tuesday"`, `write "tuesday at 9:00"`},
		{"tuesday friday", `"friday" cannot follow "tuesday"`, `put commas between days, and "at" before the time`},
		{"day 8:00", `"8:00" cannot follow "day"`, `write "day at 8:00"`},
		{"day 3:00, 7pm", `"3:00" cannot follow "day"`, `write "day at 3:00, 19:00"`},
		{"every week 3:00", `"3:00" cannot follow "week"`, `write "week at 3:00"`},
		{"weekday 9:30", `"9:30" cannot follow "weekday"`, `write "weekday at 9:30"`},
		{"month 3:00", `"3:00" cannot follow "month"`, `write "month at 3:00"`},
		{"hour :15", `":15" cannot follow "hour"`, `write "hour at :15"`},
		{"2 hours :15", `":15" cannot follow "hours"`, `write "2 hours at :15"`},
		{"minute 3:00", `"3:00" cannot follow "minute"`, everyForms},
		{"day monday", `"monday" cannot follow "day"`, everyForms},
		{"minute at 3:00", `"at" does not go with "minute"`, everyForms},
		{"day on monday", `"on" does not go with "day"`, everyForms},
		{"monday on 3", `"on" does not go with "monday"`, everyForms},
		{"quarter on last day", `"last day" does not go with "quarter"`, `write cron: "0 0 L 3,6,9,12 *" for the last day of a quarter`},
		{"day at", `nothing follows "at"`, ""},
		{"day at 8:00 at 9:00", `"at" comes twice`, ""},
		{"monday,,friday", `"monday , , friday" has an empty element`, ""},

		// times and dates
		{"day at midnight", `"midnight" is not a time of day`, "write 0:00"},
		{"day at noon", `"noon" is not a time of day`, "write 12:00"},
		{"day at 8", `"8" is not a time of day`, "write 8:00"},
		{"weekdays at 7:30 Europe/Berlin", `"7:30 europe/berlin" is not a time of day`, "a zone stands alone, in timezone:"},
		{"1h", `"1h" is not a word for a frequency`, `did you mean "hour"?`},
		{"day at 02.30", `"02.30" is not a time of day`, "write 2:30"},
		{"day at 0230", `"0230" is not a time of day`, "write 2:30"},
		{"day at 2h30", `"2h30" is not a time of day`, "write 2:30"},
		{"day at 9999", `"9999" is not a time of day`, "write it as 8:00 or 19:30, with a comma between two"},
		{"day at 230", `"230" is not a time of day`, "write 2:30"},
		{"day at 8:5", `"8:5" is not a time of day`, "write it as 8:00 or 19:30, with a comma between two"},
		{"day at 8pm", `"8pm" is not a time of day`, "write 20:00"},
		{"day at 12:30am", `"12:30am" is not a time of day`, "write 0:30"},
		{"day at 12pm", `"12pm" is not a time of day`, "write 12:00"},
		{"day at 13pm", `"13pm" is not a time of day`, "write it as 8:00 or 19:30, with a comma between two"},
		{"day at 24:00", `"24:00" is not a time of day`, "midnight is 0:00"},
		{"day at 25:00", `"25:00" is not in 0:00-23:59`, "midnight is 0:00, and the last hour is 23"},
		{"hour at 17", `"17" is not a minute of the hour`, "write :17"},
		{"2 hours at 5", `"5" is not a minute of the hour`, "write :05"},
		{"hour at 75", `"75" is not a minute of the hour`, "write it as :17, in :00-:59"},
		{"hour at :60", `":60" is not a minute of the hour`, "write it as :17, in :00-:59"},
		{"month on 32", "day 32 is not in 1-31", "write the number of a day, from 1 to 31"},
		{"month on friday", `"friday" is not a day of the month`, `write "first friday of month" or "last friday of month"`},
		{"year on 1", `"1" is not a day of the year`, `write it as "on 1 June"`},
		{"year on 1 juno", `no month in "1 juno"`, `write it as "on 1 June"`},
	}
	for _, tt := range tests {
		f, err := readFrequency(tt.every)
		var wrong *cron.Error
		if !errors.As(err, &wrong) {
			t.Errorf("%q: got %v, %v, want an error", tt.every, f, err)
			continue
		}
		if wrong.Text != tt.text || wrong.Hint != tt.hint {
			t.Errorf("%q:\n got %s\nhint %s\nwant %s\nhint %s", tt.every, wrong.Text, wrong.Hint, tt.text, tt.hint)
		}
	}
}

func TestMistakesInIntervals(t *testing.T) {
	for words, want := range map[string]string{
		"0 minutes from 2026-01-05":                    `"0 minutes" would be never`,
		"90 minutes from 2026-02-30":                   `"2026-02-30" is not a date: February 2026 has 28 days`,
		"90 minutes from 2026-01-05 25:00":             `"25:00" is not a time of the day`,
		"90 minutes from 2026-01-05 06:00 at 7:00":     `"2026-01-05 06:00 7:00" is not one date and one time`,
		"90 seconds from 2026-01-05":                   `"90 seconds" is not counted from a date: only minutes, hours, days and weeks are`,
		"5260321 minutes from 2026-01-05":              `5260321 minutes is longer than ten years`,
		"99999999999999999999 minutes from 2026-01-05": `99999999999999999999 minutes is longer than ten years`,
		"99999999 hours from 2026-01-05":               `99999999 hours is longer than ten years`,
		"90 minutes from 2026-01-05 on monday":         `"on" does not go with "90 minutes"`,
	} {
		if _, err := Parse(words); err == nil || err.Error() != want {
			t.Errorf("%s: %v", words, err)
		}
	}
}

func TestEachSpanOfAnEveryHasWordsThatAreRead(t *testing.T) {
	for minutes := 1; minutes <= 3000; minutes++ {
		words, ok := humanize.Every(time.Duration(minutes) * time.Minute)
		if all, err := Parse(words); !ok || err != nil || len(all) != 1 {
			t.Fatalf("%d minutes are %q: %v", minutes, words, err)
		}
	}
}
