package schedule

import (
	"errors"
	"testing"
	"time"
)

// Every frequency helper of Laravel, and the words for it.
func TestEverySaysWhatLaravelSays(t *testing.T) {
	tests := []struct{ helper, every, cron string }{
		{"everySecond()", "second", "* * * * * *"},
		{"everyTwoSeconds()", "2 seconds", "*/2 * * * * *"},
		{"everyFiveSeconds()", "5 seconds", "*/5 * * * * *"},
		{"everyTenSeconds()", "10 seconds", "*/10 * * * * *"},
		{"everyFifteenSeconds()", "15 seconds", "*/15 * * * * *"},
		{"everyTwentySeconds()", "20 seconds", "*/20 * * * * *"},
		{"everyThirtySeconds()", "30 seconds", "*/30 * * * * *"},
		{"everyMinute()", "minute", "* * * * *"},
		{"everyTwoMinutes()", "2 minutes", "*/2 * * * *"},
		{"everyThreeMinutes()", "3 minutes", "*/3 * * * *"},
		{"everyFourMinutes()", "4 minutes", "*/4 * * * *"},
		{"everyFiveMinutes()", "5 minutes", "*/5 * * * *"},
		{"everyTenMinutes()", "10 minutes", "*/10 * * * *"},
		{"everyFifteenMinutes()", "15 minutes", "*/15 * * * *"},
		{"everyThirtyMinutes()", "30 minutes", "*/30 * * * *"},
		{"hourly()", "hour", "0 * * * *"},
		{"hourlyAt(17)", "hour at :17", "17 * * * *"},
		{"hourlyAt([15, 45])", "hour at :15, :45", "15,45 * * * *"},
		{"everyOddHour()", "odd hours", "0 1-23/2 * * *"},
		{"everyOddHour(5)", "odd hours at :05", "5 1-23/2 * * *"},
		{"everyTwoHours()", "2 hours", "0 */2 * * *"},
		{"everyTwoHours(15)", "2 hours at :15", "15 */2 * * *"},
		{"everyThreeHours()", "3 hours", "0 */3 * * *"},
		{"everyFourHours()", "4 hours", "0 */4 * * *"},
		{"everySixHours(30)", "6 hours at :30", "30 */6 * * *"},
		{"daily()", "day", "0 0 * * *"},
		{"dailyAt('13:00')", "day at 13:00", "0 13 * * *"},
		{"dailyAt('2:05')", "day at 2:05", "5 2 * * *"},
		{"twiceDaily(1, 13)", "day at 1:00, 13:00", "0 1,13 * * *"},
		{"twiceDailyAt(1, 13, 15)", "day at 1:15, 13:15", "15 1,13 * * *"},
		{"weekly()", "week", "0 0 * * 0"},
		{"weeklyOn(1, '8:00')", "week on monday at 8:00", "0 8 * * 1"},
		{"weeklyOn([1, 3, 5], '8:00')", "monday, wednesday and friday at 8:00", "0 8 * * 1,3,5"},
		{"weekdays()", "weekdays", "0 0 * * 1-5"},
		{"weekends()", "weekends", "0 0 * * 0,6"},
		{"mondays()", "mondays", "0 0 * * 1"},
		{"tuesdays()", "tuesdays", "0 0 * * 2"},
		{"wednesdays()", "wednesdays", "0 0 * * 3"},
		{"thursdays()", "thursdays", "0 0 * * 4"},
		{"fridays()", "fridays", "0 0 * * 5"},
		{"saturdays()", "saturdays", "0 0 * * 6"},
		{"sundays()", "sundays", "0 0 * * 0"},
		{"days([0, 3])", "sunday, wednesday", "0 0 * * 0,3"},
		{"monthly()", "month", "0 0 1 * *"},
		{"monthlyOn(4, '15:00')", "month on 4 at 15:00", "0 15 4 * *"},
		{"twiceMonthly(1, 16, '13:00')", "month on 1, 16 at 13:00", "0 13 1,16 * *"},
		{"daysOfMonth([1, 10, 20])", "month on 1, 10, 20", "0 0 1,10,20 * *"},
		{"lastDayOfMonth('15:00')", "month on last day at 15:00", "0 15 L * *"},
		{"quarterly()", "quarter", "0 0 1 1-12/3 *"},
		{"quarterlyOn(4, '14:00')", "quarter on 4 at 14:00", "0 14 4 1-12/3 *"},
		{"yearly()", "year", "0 0 1 1 *"},
		{"yearlyOn(6, 1, '17:00')", "year on 1 June at 17:00", "0 17 1 6 *"},
	}
	for _, tt := range tests {
		crons, err := ParseEvery(tt.every)
		if got := (When{Crons: crons}).String(); err != nil || got != tt.cron {
			t.Errorf("%s, %q: got %q, %v, want %q", tt.helper, tt.every, got, err, tt.cron)
		}
	}
}

func TestEveryForgives(t *testing.T) {
	tests := []struct{ every, cron string }{
		// case, plural, spaces, and a word too many
		{"5 Minute", "*/5 * * * *"},
		{"1 minutes", "* * * * *"},
		{"  EVERY 10   SECONDS ", "*/10 * * * * *"},
		{"weekday at 02:30", "30 2 * * 1-5"},
		{"Weekends at 2:30", "30 2 * * 0,6"},
		{"1 day at 8:00", "0 8 * * *"},
		{"1 weekday", "0 0 * * 1-5"},
		{"Mon,Wed AND Fri at 8:00", "0 8 * * 1,3,5"},
		{"monday, wednesday, and friday", "0 0 * * 1,3,5"},

		// a whole of something is one of the next
		{"60 seconds", "* * * * *"},
		{"60 minutes", "0 * * * *"},
		{"24 hours", "0 0 * * *"},
		{"24 hours at :15, :45", "15,45 0 * * *"},

		// times with the same minute share an expression, others have their own
		{"day at 13:00, 19:30", "0 13 * * *; 30 19 * * *"},
		{"day at 19:30 and 13:00", "0 13 * * *; 30 19 * * *"},
		{"day at 8:00, 8:30, 9:30", "0 8 * * *; 30 8,9 * * *"},
		{"monday at 8:00, 8:00", "0 8 * * 1"},

		// days in any order, each once
		{"saturday, sunday", "0 0 * * 0,6"},
		{"weekdays and saturday at 9:00", "0 9 * * 1,2,3,4,5,6"},
		{"week on monday and friday", "0 0 * * 1,5"},
		{"month on 16th, 1st", "0 0 1,16 * *"},
		{"month on 15 and last day", "0 0 15,L * *"},
		{"month on the last day", "0 0 L * *"},
		{"month at 13:00 on 4", "0 13 4 * *"},
		{"year on June 1 at 17:00", "0 17 1 6 *"},
		{"year on 29 feb", "0 0 29 2 *"},
	}
	for _, tt := range tests {
		crons, err := ParseEvery(tt.every)
		if got := (When{Crons: crons}).String(); err != nil || got != tt.cron {
			t.Errorf("%q: got %q, %v, want %q", tt.every, got, err, tt.cron)
		}
	}
}

func TestEveryRefuses(t *testing.T) {
	tests := []struct{ every, text, hint string }{
		// numbers that do not divide what they count in
		{"7 minutes", "7 does not divide 60, so 7 minutes would not be evenly spaced", `write cron: "*/7 * * * *", which restarts at each full hour`},
		{"45 seconds", "45 does not divide 60, so 45 seconds would not be evenly spaced", `write cron: "*/45 * * * * *", which restarts at each full minute`},
		{"5 hours", "5 does not divide 24, so 5 hours would not be evenly spaced", `write cron: "0 */5 * * *", which restarts at midnight`},
		{"90 minutes", "90 does not divide 60, so 90 minutes would not be evenly spaced", "the numbers of minutes that do are 1,2,3,4,5,6,10,12,15,20,30,60"},
		{"0 minutes", `"0 minutes" would be never`, ""},

		// what has no cron expression at all
		{"3 days", "3 days cannot be told from the calendar alone", `write cron: "0 0 */3 * *", which restarts at each month`},
		{"2 weeks", "2 weeks cannot be told from the calendar alone", "write week, and a when: that is true in the weeks you mean"},
		{"3 months", "3 months cannot be told from the calendar alone", "write quarter"},
		{"2 mondays", "2 mondays cannot be told from the calendar alone", everyForms},

		// unknown words
		{"daily at 8:00", `"daily" is not a word for a frequency`, `did you mean "day"?`},
		{"minuet", `"minuet" is not a word for a frequency`, `did you mean "minute"?`},
		{"wensday", `"wensday" is not a word for a frequency`, `did you mean "wednesday"?`},
		{"5m", `"5m" is not a word for a frequency`, `did you mean "5 minutes"?`},
		{"5 min", `"min" is not a word for a frequency`, `did you mean "minutes"?`},
		{"monday, tusday", `"tusday" is not a word for a frequency`, `did you mean "tuesday"?`},
		{"*/5 * * * *", `"*/5" is not a word for a frequency`, `write it under cron: instead`},
		{"fortnight", `"fortnight" is not a word for a frequency`, everyForms},
		{"", "no frequency in it", everyForms},
		{"every", "no frequency in it", everyForms},

		// words that do not go together
		{"5", `"5" lacks a unit`, `write "5 minutes", for example`},
		{"monday friday", `"friday" cannot follow "monday"`, `put commas between days, and "at" before the time`},
		{"monday 8:00", `"8:00" cannot follow "monday"`, `put commas between days, and "at" before the time`},
		{"day 8:00", `"8:00" cannot follow "day"`, everyForms},
		{"minute at 3:00", `"at" does not go with "minute"`, everyForms},
		{"day on monday", `"on" does not go with "day"`, everyForms},
		{"monday on 3", `"on" does not go with "monday"`, everyForms},
		{"quarter on last day", `"last day" does not go with "quarter"`, `write cron: "0 0 L 3,6,9,12 *" for the last day of a quarter`},
		{"day at", `nothing follows "at"`, ""},
		{"day at 8:00 at 9:00", `"at" comes twice`, ""},
		{"monday,,friday", `"monday , , friday" has an empty element`, ""},

		// times and dates
		{"day at 8", `"8" is not a time of day`, "write it as 8:00 or 19:30, with a comma between two"},
		{"day at 8:5", `"8:5" is not a time of day`, "write it as 8:00 or 19:30, with a comma between two"},
		{"day at 8pm", `"8pm" is not a time of day`, "write it as 8:00 or 19:30, with a comma between two"},
		{"day at 24:00", `"24:00" is not a time of day`, "midnight is 0:00"},
		{"day at 25:00", `"25:00" is not in 0:00-23:59`, ""},
		{"hour at 17", `"17" is not a minute of the hour`, "write it as :17, in :00-:59"},
		{"hour at :60", `":60" is not a minute of the hour`, "write it as :17, in :00-:59"},
		{"month on 32", "day 32 is not in 1-31", ""},
		{"month on friday", `"friday" is not a day of the month`, `write it as "on 1, 16" or "on last day"`},
		{"year on 1", `"1" is not a day of the year`, `write it as "on 1 June"`},
		{"year on 1 juno", `no month in "1 juno"`, `write it as "on 1 June"`},
		{"year on 30 february", "can never be due: day 30 never comes in month 2", "the last day of a month is L, its last working day LW"},
	}
	for _, tt := range tests {
		crons, err := ParseEvery(tt.every)
		var wrong *WhenError
		if !errors.As(err, &wrong) {
			t.Errorf("%q: got %v, %v, want an error", tt.every, crons, err)
			continue
		}
		if wrong.Text != tt.text || wrong.Hint != tt.hint {
			t.Errorf("%q:\n got %s\nhint %s\nwant %s\nhint %s", tt.every, wrong.Text, wrong.Hint, tt.text, tt.hint)
		}
	}
}

func FuzzParseEvery(f *testing.F) {
	for _, seed := range []string{"5 minutes", "odd hours at :05", "monday, wednesday and friday at 8:00, 9:30",
		"month on 1, last day at 13:00", "quarter on 4", "year on 1 June at 17:00", "7 minutes", "2 weeks", "week on sun"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		crons, err := ParseEvery(text)
		if err != nil {
			checkWhenError(t, text, err)
			return
		}
		for _, c := range crons {
			if again, err := ParseCron(c.String(), ""); err != nil || again != c {
				t.Fatalf("%q reads as %q, and that as %q (%v)", text, c, again, err)
			}
		}
		checkNext(t, When{Crons: crons}, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	})
}
