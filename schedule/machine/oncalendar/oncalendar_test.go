package oncalendar_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sched/schedule/machine/oncalendar"
	"sched/testing/machine"
)

var record = flag.Bool("record", false, "ask systemd-analyze for all expressions of testdata anew")

// results are what systemd 252 said, one expression a line: the expression, its normalized form,
// the instant from which on, how many times came, and a digest of them. A form of "-" means that
// systemd refuses the expression.
const results = "testdata/systemd252.txt"

// span is how long the times of an expression are compared, as long as they are not too many.
const (
	span  = 3 * 366 * 24 * time.Hour
	limit = 1200
)

// A result is what one of two said of an expression.
type result struct {
	form  string
	times []int64
}

func (r result) String() string {
	sum := sha256.Sum256(fmt.Append(nil, r.times))
	return fmt.Sprintf("%s\t%d\t%x", r.form, len(r.times), sum[:6])
}

func ours(text string, base time.Time, limit int) (r result) {
	spec, err := oncalendar.Parse(text, time.UTC)
	if err != nil {
		return result{form: "-"}
	}
	r.form = spec.String()
	for at := base; len(r.times) < limit; {
		if at = spec.Next(at); at.IsZero() || at.Sub(base) > span {
			break
		}
		r.times = append(r.times, at.Unix())
	}
	return r
}

var elapse = regexp.MustCompile(`(?m)^\s*(?:Next elapse|Iter\. #\d+): \w{3} (\S+ \S+) UTC$`)

func theirs(t *testing.T, text string, base time.Time, limit int) (r result) {
	command := exec.Command("systemd-analyze", "calendar", "--iterations="+strconv.Itoa(limit),
		"--base-time="+base.Format(time.DateTime), "--", text)
	command.Env = []string{"TZ=UTC", "LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	out, err := command.Output()
	if err != nil {
		return result{form: "-"}
	}
	_, r.form, _ = strings.Cut(string(out), "Normalized form: ")
	r.form, _, _ = strings.Cut(r.form, "\n")
	for _, found := range elapse.FindAllSubmatch(out, -1) {
		at, err := time.Parse(time.DateTime, string(found[1]))
		if err != nil {
			t.Fatal(err)
		}
		if at.Sub(base) <= span {
			r.times = append(r.times, at.Unix())
		}
	}
	return r
}

// TestSystemdSaysTheSame compares with what the systemd-analyze of systemd 252 said. If that is
// installed, it is asked anew: all expressions in the long tests, and every fortieth otherwise.
// Other versions lose other values of a step (findings/systemd-step-midnight.sh).
func TestSystemdSaysTheSame(t *testing.T) {
	t.Parallel()
	if *record {
		recordResults(t)
	}
	version, _ := exec.Command("systemd-analyze", "--version").Output()
	asks := strings.HasPrefix(string(version), "systemd 252 ")
	file, err := os.ReadFile(results)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(file)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		base, err := time.Parse(time.DateTime, fields[1])
		if err != nil {
			t.Fatal(err)
		}
		count++
		got := ours(fields[0], base, limit)
		if got.String() != fields[2] {
			t.Errorf("%s from %s is\n%s, and to systemd\n%s", fields[0], fields[1], got, fields[2])
		}
		if asks && count%machine.Sized(40, 1) == 0 {
			some := machine.Sized(60, limit)
			mine, now := ours(fields[0], base, some), theirs(t, fields[0], base, some)
			if now.String() != mine.String() {
				t.Errorf("%s from %s is %s, and to the systemd of this machine %s", fields[0], fields[1], mine, now)
			}
		}
	}
	if count < 300 {
		t.Errorf("there are %d expressions", count)
	}
}

// recordResults writes the file of results: the expressions of testdata/expressions.txt, and
// others made at random.
func recordResults(t *testing.T) {
	t.Helper()
	written, err := os.ReadFile("testdata/expressions.txt")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(58, 1))
	expressions := strings.Split(strings.TrimSuffix(string(written), "\n"), "\n")
	for len(expressions) < 420 {
		expressions = append(expressions, randomExpression(random))
	}
	bases := []string{"2026-01-01 00:00:00", "2026-03-07 12:00:00", "2026-03-28 12:00:00", "2026-10-03 06:00:00",
		"2026-10-24 12:00:00", "2026-10-31 20:00:00", "2027-12-31 12:34:56"}
	var text bytes.Buffer
	out := bufio.NewWriter(&text)
	for i, expression := range expressions {
		base, _ := time.Parse(time.DateTime, bases[i%len(bases)])
		fmt.Fprintf(out, "%s\t%s\t%s\n", expression, base.Format(time.DateTime), theirs(t, expression, base, limit))
	}
	out.Flush()
	if err := os.WriteFile(results, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// randomExpression makes an expression of all that the grammar has. Some are refused.
func randomExpression(r *rand.Rand) string {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	field := func(low, high int) string {
		one := func() string {
			value := low + r.IntN(high-low+1)
			switch r.IntN(6) {
			case 0:
				return fmt.Sprintf("%d..%d", value, value+r.IntN(high-value+1))
			case 1:
				return fmt.Sprintf("%d/%d", value, 1+r.IntN(high-low))
			case 2:
				return fmt.Sprintf("%d..%d/%d", value, value+r.IntN(high-value+1), 1+r.IntN(5))
			}
			return strconv.Itoa(value)
		}
		switch r.IntN(4) {
		case 0:
			return "*"
		case 1:
			return one() + "," + one()
		}
		return one()
	}
	text := pick("", "", "", "Mon ", "Sat,Sun ", "Mon..Fri ", "tue,Thu..fri ")
	switch r.IntN(5) {
	case 0:
		text += field(1, 12) + "-" + field(1, 31) + " "
	case 1:
		text += pick("*", "2026..2028", "2027", "2026/2") + "-" + field(1, 12) + "-" + field(1, 31) + " "
	case 2:
		text += "*-" + field(1, 12) + "~" + field(1, 28) + " "
	}
	text += field(0, 23) + ":" + field(0, 59) + pick("", "", ":"+field(0, 59), ":0")
	return text + pick("", "", " UTC", " Europe/Berlin", " America/New_York", " America/Havana", " Australia/Lord_Howe",
		" Asia/Kolkata", " Africa/Casablanca", " America/Sao_Paulo")
}

func TestAMistakeIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                    "it is empty",
		"Mon,Fun":             `"Fun" is no weekday`,
		"Fri..Mon":            "its weekdays are no range",
		"25:00":               "25 is out of range",
		"*:0/60":              "0/60 is out of range",
		"*:*/5":               `"*" is no number`,
		"*-*-1/0":             "a step of 0 leads nowhere",
		"2026-11-29T12:00":    `"2026-11-29T12" is no number`,
		"5":                   `"5" is no date`,
		"12:00 Europe/Berlim": "there is no time zone Europe/Berlim",
		"*:10..5":             "10..5 is no range",
		"1:2:3:4":             `"1:2:3:4" is no time`,
		"*:*:1.":              `"1." is no number`,
	} {
		if _, err := oncalendar.Parse(text, time.UTC); err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// An impossible date ends, and does not search for ever.
func TestADateThatNeverComes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"*-02-30", "2020-01-01", "Mon 2026-11-29", "@1000"} {
		spec, err := oncalendar.Parse(text, time.UTC)
		if at := spec.Next(time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)); err != nil || !at.IsZero() {
			t.Errorf("%s: %s, %v", text, at, err)
		}
	}
}

func TestSpansOfTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"15min": 15 * time.Minute, "1h 30min": 90 * time.Minute, "90": 90 * time.Second, "1.5h": 90 * time.Minute,
		"1d2h": 26 * time.Hour, "1 week": 168 * time.Hour, "2 days 5": 48*time.Hour + 5*time.Second, "500ms": time.Second / 2,
	} {
		if got, ok := oncalendar.ParseSpan(text); got != want || !ok {
			t.Errorf("%q: %s, %t", text, got, ok)
		}
	}
	for _, text := range []string{"", "h", "5 lightyears", "1..5h", "-5"} {
		if got, ok := oncalendar.ParseSpan(text); ok {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	file, err := os.ReadFile("testdata/expressions.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		f.Add(strings.TrimSuffix(line, "\n"))
	}
	now := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := oncalendar.Parse(text, time.UTC)
		if err != nil {
			return
		}
		again, err := oncalendar.Parse(spec.String(), time.UTC)
		if err != nil || again.String() != spec.String() || !again.Next(now).Equal(spec.Next(now)) {
			t.Errorf("%q is %s, and read again %s: %v", text, spec, again, err)
		}
		if next := spec.Next(now); !next.IsZero() && !next.After(now) {
			t.Errorf("%q from %s: %s", text, now, next)
		}
	})
}
