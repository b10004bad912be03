package judge_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/judge"
	"sched/schedule/outcome"
)

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func number(n float64) *float64 { return &n }

func ExampleJudge() {
	rules := judge.Rules{Values: []judge.Value{{Name: "rows", AtLeast: number(1)}}}
	v := judge.Judge(rules, judge.Facts{Values: map[string]float64{"rows": 0}, Now: now})
	fmt.Println(v.Outcome, v.Kind)
	fmt.Println(v.Reason)
	// Output:
	// failed reported
	// rows is 0, at least 1 was asked for
}

// Another judge, who knows only the words of docs/schedule-yaml.md, comes to the same outcome for
// 10,000 made-up rules, values, outputs, files and histories.
func TestAnotherJudgeAgrees(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	for n := range 10_000 {
		rules, facts := makeUp(random)
		got := judge.Judge(rules, facts)
		fails, warns := anotherJudge(rules, facts)
		want := judge.Verdict{Outcome: outcome.Succeeded}
		switch {
		case fails:
			want.Outcome = outcome.Failed
		case warns:
			want.Kind = outcome.Warning
		}
		isWarned := got.Kind == outcome.Warning
		if got.Outcome != want.Outcome || isWarned != (want.Kind == outcome.Warning) {
			t.Fatalf("case %d: %+v\n%+v\nis %+v, not %s, warned: %t", n, rules, facts, got, want.Outcome, warns)
		}
		if (got.Reason == "") != (!fails && !warns) {
			t.Fatalf("case %d: the reason of %+v", n, got)
		}
		seen[string(got.Outcome)+string(got.Kind)]++
	}
	for _, kind := range []string{"succeeded", "succeededwarning", "failed", "failedreported", "failedprinted",
		"failedrequired", "failedbudget"} {
		if seen[kind] < 20 {
			t.Errorf("%s came %d times: the cases prove little", kind, seen[kind])
		}
	}
}

// makeUp makes up rules with one or two values, and facts that come near to them.
func makeUp(r *rand.Rand) (judge.Rules, judge.Facts) {
	maybe := func(n float64) *float64 {
		if r.IntN(3) > 0 {
			return nil
		}
		return &n
	}
	small := func() float64 { return float64(r.IntN(9) - 1) }
	f := judge.Facts{Now: now, Values: map[string]float64{}, Usual: map[string][]float64{},
		Spent: map[string][]judge.Spending{}, Stderr: r.IntN(4) == 0}
	var rules judge.Rules
	for _, name := range []string{"rows", "usd"}[:1+r.IntN(2)] {
		v := judge.Value{Name: name, AtLeast: maybe(small() - 2), AtMost: maybe(small() + 4),
			WarnBelow: maybe(small()), WarnAbove: maybe(small() + 3)}
		if r.IntN(3) == 0 {
			v.Usual = []float64{0.1, 0.5, 1, 2}[r.IntN(4)]
		}
		if r.IntN(3) == 0 {
			v.Budget = judge.Budget{AtMost: 1 + float64(r.IntN(12)), Per: time.Hour,
				Then: []judge.Then{judge.Pause, judge.Fail, judge.Warn}[r.IntN(3)]}
		}
		rules.Values = append(rules.Values, v)
		if r.IntN(8) > 0 {
			f.Values[name] = small()
		}
		for range r.IntN(60) * r.IntN(2) {
			f.Usual[name] = append(f.Usual[name], small())
		}
		f.Usual[name] = f.Usual[name][:min(len(f.Usual[name]), judge.MaxHistory)]
		for range r.IntN(5) {
			at := now.Add(-time.Duration(r.IntN(120)) * time.Minute)
			f.Spent[name] = append(f.Spent[name], judge.Spending{At: at, Value: small()})
		}
	}
	if r.IntN(8) == 0 {
		f.Exit = "exit code 1"
	}
	if r.IntN(10) == 0 {
		f.Warnings = []string{"exit code 75"}
	}
	rules.FailIf.Stderr, rules.WarnIf.Stderr = r.IntN(6) == 0, r.IntN(6) == 0
	if r.IntN(10) == 0 {
		f.FailsBy = "no space left"
	}
	if r.IntN(10) == 0 {
		f.WarnsBy = "deprecated"
	}
	if r.IntN(4) == 0 {
		rules.Require = []judge.File{{Path: "/a", New: r.IntN(2) == 0, AtLeast: int64(r.IntN(2) * 5)}}
		f.Required = []judge.FileState{{Name: "a", Found: r.IntN(4) > 0, IsNew: r.IntN(3) > 0, Size: int64(r.IntN(10))}}
	}
	return rules, f
}

// anotherJudge reads the rules again, from the docs.
func anotherJudge(rules judge.Rules, f judge.Facts) (fails, warns bool) {
	if f.Exit != "" || f.FailsBy != "" {
		return true, false
	}
	fails = f.Stderr && rules.FailIf.Stderr
	warns = len(f.Warnings) > 0 || f.WarnsBy != "" || f.Stderr && rules.WarnIf.Stderr
	for i, file := range rules.Require {
		is := f.Required[i]
		if !is.Found || file.New && !is.IsNew || is.Size < file.AtLeast {
			fails = true
		}
	}
	for _, v := range rules.Values {
		x, there := f.Values[v.Name]
		if !there {
			if v.AtLeast != nil || v.AtMost != nil {
				fails = true
			} else if v.WarnBelow != nil || v.WarnAbove != nil || v.Usual != 0 {
				warns = true
			}
			continue
		}
		low, high := math.Inf(-1), math.Inf(1)
		for bound, hit := range map[*float64]*bool{v.AtLeast: &fails, v.WarnBelow: &warns} {
			if bound != nil && x < *bound {
				*hit = true
			}
		}
		for bound, hit := range map[*float64]*bool{v.AtMost: &fails, v.WarnAbove: &warns} {
			if bound != nil && x > *bound {
				*hit = true
			}
		}
		if before := f.Usual[v.Name]; v.Usual > 0 && len(before) >= 10 {
			all := slices.Clone(before)
			slices.Sort(all)
			median := (all[(len(all)-1)/2] + all[len(all)/2]) / 2
			if v.Usual < 1 {
				low, high = median-v.Usual*math.Abs(median), median+v.Usual*math.Abs(median)
			} else {
				ends := []float64{median / (1 + v.Usual), median * (1 + v.Usual)}
				low, high = slices.Min(ends), slices.Max(ends)
			}
		}
		if x < low || x > high {
			warns = true
		}
		sum := max(0, x)
		for _, s := range f.Spent[v.Name] {
			if now.Sub(s.At) < v.Budget.Per && s.Value > 0 {
				sum += s.Value
			}
		}
		if v.Budget.Per > 0 && sum > v.Budget.AtMost {
			fails = fails || v.Budget.Then == judge.Fail
			warns = warns || v.Budget.Then == judge.Warn
		}
	}
	return fails, warns
}

// A budget is spent until enough of it lies in the past. A second before that a run is refused, and
// at that moment it is not.
func TestABudgetIsSpentUntilEnoughOfItLiesInThePast(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	refusals := 0
	for range 2000 {
		v := judge.Value{Name: "usd", Budget: judge.Budget{AtMost: 1 + float64(random.IntN(9)), Per: time.Hour, Then: judge.Pause}}
		var spent []judge.Spending
		for range random.IntN(8) {
			at := now.Add(-time.Duration(random.IntN(7000)) * time.Second)
			spent = append(spent, judge.Spending{At: at, Value: float64(random.IntN(5))})
		}
		isSpent := func(at time.Time) bool {
			sum := 0.0
			for _, s := range spent {
				if at.Sub(s.At) < v.Budget.Per {
					sum += s.Value
				}
			}
			return sum >= v.Budget.AtMost
		}
		until, _ := judge.SpentUntil(v, spent, now)
		if until.IsZero() == isSpent(now) {
			t.Fatalf("%v until %s", spent, until)
		}
		if until.IsZero() {
			continue
		}
		refusals++
		if !isSpent(until.Add(-time.Second)) || isSpent(until) {
			t.Fatalf("%v until %s", spent, until)
		}
		all := map[string][]judge.Spending{"usd": spent}
		text := judge.Refusal(judge.Rules{Values: []judge.Value{v}}, all, now, time.UTC)
		if !strings.Contains(text, "usd is spent until "+until.Format(time.DateTime)) {
			t.Fatal(text)
		}
	}
	if refusals < 100 {
		t.Errorf("only %d refusals", refusals)
	}
}

// Sums of decimals are exact for people: three times 0.1 is 0.3.
func TestDecimalsAddUp(t *testing.T) {
	t.Parallel()
	v := judge.Value{Name: "usd", Budget: judge.Budget{AtMost: 1, Per: time.Hour, Then: judge.Pause}}
	var spent []judge.Spending
	for range 10 {
		if until, _ := judge.SpentUntil(v, spent, now); !until.IsZero() {
			t.Fatalf("spent after %d", len(spent))
		}
		spent = append(spent, judge.Spending{At: now, Value: 0.1})
	}
	if until, sum := judge.SpentUntil(v, spent, now); until.IsZero() || sum != 1 {
		t.Errorf("%v is not spent", sum)
	}
	ahead := []judge.Spending{{At: now.AddDate(12, 0, 0), Value: 5}}
	if until, _ := judge.SpentUntil(v, ahead, now); !until.IsZero() {
		t.Errorf("a clock of 2038 refuses until %s", until)
	}
}

func TestAReportIsReadLineByLine(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text       string
		byItself   bool
		want       string
		complaints string
	}{
		{"rows=18204\nusd=0.31\n", true, "map[rows:18204 usd:0.31]", "[]"},
		{" rows = 5 \n\n# a remark\nrows=-6e2\r\n", true, "map[rows:-600]", "[]"},
		{"rows=1\nmore=12", true, "map[more:12 rows:1]", "[]"},
		{"rows=1\nmore=12", false, "map[rows:1]", "[]"},
		{"rows\na b=1\nx=ten\nduration=5\nok=1", true, "map[ok:1]",
			"[line 1 of the report is not NAME=NUMBER line 2 of the report has a name that is not of letters, digits and _ " +
				"line 3 of the report has no number after x= 1 more lines of the report do not count]"},
		{"x=NaN\ny=0x10\n z=1e999", true, "map[]", "[line 1 of the report has no number after x= " +
			"line 2 of the report has no number after y= line 3 of the report has a number after z= that is too large]"},
	} {
		values, complaints := judge.ReadReport(row.text, row.byItself)
		if fmt.Sprint(values) != row.want || fmt.Sprint(complaints) != row.complaints {
			t.Errorf("%q: %v %v", row.text, values, complaints)
		}
	}
	var text strings.Builder
	for n := range judge.MaxValues + 2 {
		fmt.Fprintf(&text, "v%d=1\n", n)
	}
	if values, complaints := judge.ReadReport(text.String(), true); len(values) != judge.MaxValues || len(complaints) != 2 {
		t.Errorf("%d values, %v", len(values), complaints)
	}
}

func FuzzReadReport(f *testing.F) {
	f.Add("rows=1\nusd=0.31\n", true)
	f.Add("=\n=1\nx=\x00", false)
	f.Fuzz(func(t *testing.T, text string, byItself bool) {
		values, _ := judge.ReadReport(text, byItself)
		for name, value := range values {
			if !judge.IsName(name) || math.IsNaN(value) || math.IsInf(value, 0) {
				t.Errorf("%q=%v", name, value)
			}
		}
		if len(values) > judge.MaxValues {
			t.Errorf("%d values", len(values))
		}
	})
}

func TestANumberIsWrittenInItsUnit(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		number     float64
		unit, want string
	}{
		{18204, "", "18204"}, {0.31, "usd", "0.31 usd"}, {80, judge.Percent, "80%"}, {90, judge.Seconds, "1 m 30 s"},
		{0, judge.Bytes, "0 bytes"}, {1, judge.Bytes, "1 byte"}, {1 << 20, judge.Bytes, "1 MiB"}, {-1, judge.Bytes, "-1 bytes"},
		{1e300, "", "1e+300"}, {1e300, judge.Seconds, "1e+300 seconds"},
	} {
		if got := judge.Text(row.number, row.unit); got != row.want {
			t.Errorf("%v %s: %q, not %q", row.number, row.unit, got, row.want)
		}
	}
}

// A number that misses its bound by little does not read like the bound.
func TestANumberAndItsBoundReadApart(t *testing.T) {
	t.Parallel()
	v := judge.Value{Name: "size", Unit: judge.Bytes, AtLeast: number(2.5e6)}
	for size, want := range map[float64]string{
		1 << 10: "size is 1 KiB, at least 2 MiB was asked for",
		2.4e6:   "size is 2400000 bytes, at least 2500000 bytes was asked for",
	} {
		facts := judge.Facts{Values: map[string]float64{"size": size}, Now: now}
		if got := judge.Judge(judge.Rules{Values: []judge.Value{v}}, facts).Reason; got != want {
			t.Errorf("%v: %q", size, got)
		}
	}
}
