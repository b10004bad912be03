package cron

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adhocore/gronx"
)

// Compiled fields have the values that gronx takes to be due when it evaluates the whole text of
// the field.
func TestCompiledFieldsAreWhatGronxSays(t *testing.T) {
	texts := []string{"* * * * * *", "*/7 1-5/2 0,12 */10 JAN-mar SAT-SUN", "5/15 * * 1/3 2/3 1/2", "0 0 0 31 * 7/3",
		"0 0 0 1-31/30 * 0-7/2"}
	texts = append(texts, bruteCrons...)
	texts = append(texts, pastExprs...)
	for _, tt := range dueTests {
		texts = append(texts, tt.cron)
	}
	for day := 1; day <= 31; day++ {
		texts = append(texts, fmt.Sprintf("0 0 %d,%dW * *", day, day))
	}
	for weekday := range 8 {
		texts = append(texts, fmt.Sprintf("0 0 * * %d", weekday), fmt.Sprintf("0 0 * * %dL", weekday))
		for nth := 1; nth <= 5; nth++ {
			texts = append(texts, fmt.Sprintf("0 0 * * %d#%d", weekday, nth))
		}
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		texts = append(texts, randomCron(random))
	}
	checked := map[string]bool{}
	for _, text := range texts {
		c, err := Parse(text, "task")
		if err != nil { // it can never be due
			continue
		}
		fields := checkTimes(t, c)
		for pos, table := range map[int]*dayTable{dayField: c.dates.days, weekdayField: c.dates.weekdays} {
			if key := fmt.Sprint(pos, fields[pos]); !checked[key] {
				checked[key] = true
				end := "2002-01-01"
				if strings.ContainsAny(fields[pos], "LW#") {
					end = "2028-01-01" // after 28 years the calendar repeats
				}
				checkDays(t, fields[pos], pos, table, "2000-01-01", end)
			}
		}
	}
	checkDays(t, "L,LW,15W", dayField, &dayTable{fieldText: fieldText{dayField, "L,LW,15W"}},
		"1890-01-01", "1970-01-01")
	checkDays(t, "1#5,5L", weekdayField, &dayTable{fieldText: fieldText{weekdayField, "1#5,5L"}},
		"2080-01-01", "2120-01-01")
}

// A number is not asked about: 100 tasks at as many minutes cost 6,000 questions less.
func TestEveryNumberIsDueAtItselfAsGronxSays(t *testing.T) {
	for _, pos := range []int{secondField, minuteField, hourField, monthField} {
		for v := cronFields[pos].min; v <= cronFields[pos].max; v++ {
			if got, want := evaluateValues(strconv.Itoa(v), pos),
				evaluateValues(fmt.Sprintf("%d-%d", v, v), pos); got != want {
				t.Errorf("%s %d is due at %b, and to gronx at %b", cronFields[pos].name, v, got, want)
			}
		}
	}
}

// checkTimes compares each field but the day fields with gronx, and returns the canonical fields.
func checkTimes(t *testing.T, c Expression) canonicalFields {
	t.Helper()
	fields := canonicalFields{secondField: "0"}
	words := strings.Fields(c.String())
	for i, word := range words {
		pos := len(fields) - len(words) + i
		var err error
		if fields[pos], err = cronFields[pos].canonical(word); err != nil {
			t.Fatalf("%q: %v", c, err)
		}
	}
	for v := range 64 {
		at := time.Date(2026, time.Month(v%12+1), 1, v%24, v%60, v%60, 0, time.UTC)
		for pos, is := range map[int]bool{
			secondField: v < 60 && c.times.seconds.has(at.Second()),
			minuteField: v < 60 && c.times.minutes.has(at.Minute()),
			hourField:   v < 24 && c.times.hours.has(at.Hour()),
			monthField:  v < 12 && c.dates.months.has(int(at.Month())),
		} {
			f := cronFields[pos]
			if want := v < f.max+1-f.min && gronxDue(t, fields[pos], pos, at); is != want {
				t.Fatalf("%q: %s %q at %s is %t, and %t to gronx", c, f.name, fields[pos], at, is, want)
			}
		}
	}
	if times := c.times; times.seconds>>60|times.minutes>>60|times.hours>>24|c.dates.months>>13|c.dates.months&1 != 0 {
		t.Fatalf("%q has values that no clock shows: %+v", c, times)
	}
	return fields
}

// checkDays compares a day field with gronx on each day of [from, to).
func checkDays(t *testing.T, field string, pos int, table *dayTable, from, to string) {
	t.Helper()
	end := instant(t, to+" 00:00")
	for day := instant(t, from+" 00:00"); day.Before(end); day = day.AddDate(0, 0, 1) {
		m, inMonth := monthOf(dayOf(day.Unix()))
		last := day.AddDate(0, 1, -day.Day()).Day()
		want := gronxDue(t, strings.ReplaceAll(field, "LW", strconv.Itoa(last)+"W"), pos, day)
		if inMonth != day.Day() || table.in(m).has(inMonth) != want {
			t.Fatalf("%s %q on %s: %t, and %t to gronx", cronFields[pos].name, field,
				day.Format(time.DateOnly), !want, want)
		}
	}
}

// gronxDue evaluates a field with gronx, which must not refuse it.
func gronxDue(t *testing.T, field string, pos int, at time.Time) bool {
	t.Helper()
	var checker gronx.SegmentChecker
	checker.SetRef(at)
	due, err := checker.CheckDue(field, pos)
	if err != nil {
		t.Fatalf("gronx refuses %s %q: %v", cronFields[pos].name, field, err)
	}
	return due
}

// Goroutines that parse the same texts at the same time get equal expressions, whichever is first.
func TestCompilingIsSafeForSeveralGoroutines(t *testing.T) {
	forgetCompiled()
	var group sync.WaitGroup
	parsed := make([][]Expression, 8)
	for i := range parsed {
		group.Go(func() {
			for _, text := range bruteCrons {
				c, err := Parse(text, "")
				if err != nil {
					t.Error(err)
				}
				When{Crons: []Expression{c}}.Next(time.Unix(0, 0))
				parsed[i] = append(parsed[i], c)
			}
		})
	}
	group.Wait()
	for _, expressions := range parsed {
		for i, c := range expressions {
			if c != parsed[0][i] {
				t.Errorf("%v was compiled twice", c)
			}
		}
	}
}

// forgetCompiled empties the shared sets, as they are in a new process.
func forgetCompiled() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	clear(shared.values)
	clear(shared.days)
}

func TestTheZeroExpressionIsNeverDue(t *testing.T) {
	w := When{Crons: []Expression{{}}}
	at := instant(t, "2026-03-02 09:07")
	if next, ok := w.Next(at); ok || w.Count(at, at.AddDate(1, 0, 0)) > 0 || len(w.Slots(at)) > 0 {
		t.Errorf("due at %v", next)
	}
}

// BenchmarkFirstNext parses the 10,000 expressions of a schedule and finds the first Next of each,
// in a new process.
func BenchmarkFirstNext(b *testing.B) {
	for _, schedule := range []struct {
		name string
		cron func(i int) string
	}{
		{"few texts", func(i int) string {
			return []string{"*/5 * * * *", "0 2 * * 1-5", "0 0 L * *", "15 8-18 * * MON-FRI"}[i%4]
		}},
		{"all times", func(i int) string { return fmt.Sprintf("%d %d * * *", i%60, i/60%24) }},
		{"all dates", func(i int) string { return fmt.Sprintf("%d %d %d %d *", i%60, i%24, 1+i%28, 1+i%12) }},
		{"all lists", func(i int) string {
			return fmt.Sprintf("%d,%d,%d %d-%d * * %d", i%60, i/60%60, i/3600, i%12, i%12+1+i/12%12, i%7)
		}},
	} {
		b.Run(schedule.name, func(b *testing.B) {
			after := time.Date(2026, 3, 4, 9, 30, 0, 0, time.UTC)
			texts := make([]string, 10_000)
			for i := range texts {
				texts[i] = schedule.cron(i)
			}
			for b.Loop() {
				forgetCompiled()
				for _, text := range texts {
					c, err := Parse(text, "task")
					if err != nil {
						b.Fatal(err)
					}
					When{Crons: []Expression{c}}.Next(after)
				}
			}
		})
	}
}
