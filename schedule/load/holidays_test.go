package load

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/lint"
)

func TestHolidays(t *testing.T) {
	s := parseTest(t, `
timezone: Asia/Tokyo
holidays: [01-01, 2026-12-25 Christmas, " 12-25 every Christmas", 02-29, 2027-01-01   New   Year ]
tasks:
- {name: t, every: hour, command: x, except: holidays, days: weekdays}
- {name: u, every: hour, command: x, except: [holidays], timezone: Europe/Berlin}
`)
	for _, row := range []struct {
		name, task, at, want string // the times are in UTC
	}{
		{"a day like any other", "t", "2026-12-24 12:00:00", ""},
		{"a holiday begins at midnight in the zone of the task", "t", "2026-12-24 15:00:00",
			"it is a holiday: 2026-12-25 Christmas"},
		{"and not a second before", "t", "2026-12-24 14:59:59", ""},
		{"in another zone it is not one yet", "u", "2026-12-24 15:00:00", ""},
		{"it is over at midnight", "u", "2026-12-25 23:00:00", ""},
		{"one of every year, without a name", "u", "2026-01-01 12:00:00", "it is a holiday: 2026-01-01"},
		{"the date of a year has the better name", "u", "2027-01-01 12:00:00",
			"it is a holiday: 2027-01-01 New   Year"},
		{"a holiday of every year, in another year", "t", "2025-12-25 12:00:00",
			"it is a holiday: 2025-12-25 every Christmas"},
		{"a leap day", "u", "2028-02-29 12:00:00", "it is a holiday: 2028-02-29"},
		{"no leap day", "t", "2027-03-01 12:00:00", ""},
		{"the day of the week comes first", "t", "2023-01-01 12:00:00", "not on Sunday"},
	} {
		for _, task := range s.Tasks {
			if got := task.UnmetCondition(at(row.at)); task.Name == row.task && got != row.want {
				t.Errorf("%s: at %s it is %q, want %q", row.name, row.at, got, row.want)
			}
		}
	}
	sameFromArchive(t, s)
}

func TestFilesOfHolidays(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"schedule.yaml": "holidays: [d/state.txt, 12-24, ./2026.txt]\ninclude: more.yaml\ndefaults: {except: holidays}\n" + mainTask,
		"more.yaml":     "- {name: open, every: hour, command: x, except: []}\n- {name: shut, every: hour, command: x}\n",
		"d/state.txt":   "\ufeff# of the state\r\n2026-04-03 Good \"Friday\" ${HOME} \\ #1\r\n\r\n#2026-04-04\n  2026-04-05\u00a0Easter#x # moves\n",
		"2026.txt":      "2026-04-03 another name\n01-06",
	})
	s, err := File(filepath.Join(dir, "schedule.yaml"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	want := schedule.Holidays{
		{Month: time.December, Day: 24}: "", {Month: time.January, Day: 6}: "",
		{Year: 2026, Month: time.April, Day: 3}: `Good "Friday" ${HOME} \`, {Year: 2026, Month: time.April, Day: 5}: "Easter#x",
	}
	if got := dump(s); !strings.Contains(got, "12-24") || len(s.Holidays) != len(want) {
		t.Errorf("got %v", s.Holidays)
	}
	for date, name := range want {
		if got, ok := s.Holidays[date]; !ok || got != name {
			t.Errorf("%s is %q, want %q", date, got, name)
		}
	}
	if s.Tasks[1].Conditions.Holidays != nil || s.Tasks[2].Conditions.Holidays == nil {
		t.Error("the group of the include is not as it says")
	}
	sameFromArchive(t, s)

	digest := s.Digest
	os.WriteFile(filepath.Join(dir, "2026.txt"), []byte("01-07"), 0o600)
	if s, err := File(filepath.Join(dir, "schedule.yaml"), testOptions()); err != nil || s.Digest == digest {
		t.Errorf("an edit of the file leaves the digest as it was: %v", err)
	}
}

func TestProblemsOfFilesOfHolidays(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       []string
	}{
		{"what is no date", "# soon\n\tChristmas\n2026-12-25\n25.12.2026 x\n2026-02-30\n", []string{
			"days:2:2: holidays: \"Christmas\" is not a date\n  hint: a date is written as 2026-12-25, or as 12-25 for every year",
			"days:4:1: holidays: \"25.12.2026\" is not a date\n  hint: a date is written as 2026-12-25, or as 12-25 for every year",
			"days:5:1: holidays: there is no 2026-02-30"}},
		{"Latin-1", "2026-04-03 Fr\xfchling\n", []string{
			"days:1:14: the byte 0xfc is not UTF-8: the file is not text in UTF-8"}},
	} {
		dir := writeFiles(t, map[string]string{"schedule.yaml": "holidays: days\n" + mainTask, "days": row.text})
		_, err := File(filepath.Join(dir, "schedule.yaml"), testOptions())
		if err == nil || err.Error() != strings.Join(row.want, "\n") {
			t.Errorf("%s: said\n%v\nwant\n%s", row.name, err, strings.Join(row.want, "\n"))
		}
	}
}

// Anyone who can write the dates decides when root's tasks do not run.
func TestRootTakesNoHolidaysFromOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the schedule itself would belong to another user than root")
	}
	dir := writeFiles(t, map[string]string{"schedule.yaml": "holidays: days\n" + mainTask, "days": "12-25\n"})
	days := filepath.Join(dir, "days")
	os.Chmod(days, 0o666)
	opts := testOptions()
	opts.Root = true
	_, err := File(filepath.Join(dir, "schedule.yaml"), opts)
	if err == nil || !strings.Contains(err.Error(), "hint: chmod go-w "+days) {
		t.Errorf("got %v", err)
	}
}

func TestHolidaysOver(t *testing.T) {
	load := func(holidays string) *schedule.Schedule {
		return parseTest(t, "timezone: Asia/Tokyo\nholidays: ["+holidays+"]\ntasks: [{name: t, every: hour, command: x, except: holidays}]\n")
	}
	for _, row := range []struct {
		name, holidays, now, want string
	}{
		{"one is still to come", "2026-12-25, 2026-12-26", "2026-12-26 14:59:59", ""},
		{"in the zone of the schedule the last one has passed",
			"2026-12-25, 2026-12-26, 2025-12-26, 12-31", "2026-12-26 15:00:00",
			"schedule.yaml:2:24: the newest of the holidays, 2026-12-26, has passed\n  hint: add the days to come, or write a day of every year as 12-25"},
		{"those of every year never end", "12-25", "2099-12-26 15:00:00", ""},
		{"none at all", "", "2099-12-26 15:00:00", ""},
	} {
		got := ""
		for _, p := range lint.HolidaysOver(load(row.holidays), at(row.now)) {
			got += p.String()
		}
		if got != row.want {
			t.Errorf("%s: said %q, want %q", row.name, got, row.want)
		}
	}
	unused := parseTest(t, "holidays: [2001-01-01]\n"+mainTask)
	if got := lint.HolidaysOver(unused, at("2026-01-01 00:00:00")); len(got) > 0 {
		t.Errorf("nobody asks for them, and it says %v", got)
	}
}

func TestDates(t *testing.T) {
	for text, want := range map[string]string{
		"2026-12-25": "2026-12-25", "12-25": "12-25", "02-29": "02-29", "2028-02-29": "2028-02-29",
		"0999-01-01": "0999-01-01",
		"2026-02-29": "none", "02-30": "none", "13-01": "none", "2026-00-10": "none",
		"2026-04-31": "none", "00-00": "none",
		"": "", "2026": "", "2026-12": "", "26-12-25": "", "2026-1-1": "", "1-1": "", "2026/12/25": "",
		"25.12.": "", "0000-01-01": "",
		"2026-12-25T": "", "2026--1-01": "", "+1-01": "", "12-2x": "", "2026-12-25-01": "",
	} {
		got := ""
		if date, err := parseDate(text); err == nil {
			got = date.String()
		} else if !errors.Is(err, errNoDate) {
			got = "none"
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
