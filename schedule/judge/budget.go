package judge

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"sched/schedule/humanize"
)

// A Spending is the value that one attempt of a run reported.
type Spending struct {
	Run     string    `json:"run"`
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"` // when the attempt ended
	Value   float64   `json:"value"`
}

// SpentUntil returns until when nothing is left of the budget of a value, and how much of it was
// spent in the span of time before now. The budget is spent if until is not zero: that moment is
// the first at which enough of it lies in the past.
func SpentUntil(v Value, spent []Spending, now time.Time) (until time.Time, sum float64) {
	counted := slices.DeleteFunc(slices.Clone(spent), func(s Spending) bool { return !counts(s, v.Budget, now) })
	slices.SortStableFunc(counted, func(a, b Spending) int { return a.At.Compare(b.At) })
	for _, s := range counted {
		sum = rounded(sum + s.Value)
	}
	left := sum
	for _, s := range counted {
		if left < v.Budget.AtMost {
			break
		}
		left = rounded(left - s.Value)
		until = s.At.Add(v.Budget.Per)
	}
	return until, sum
}

// counts reports whether a spending lies in the span of time before now, or was written down by a
// clock that is ahead by less than that. A number below 0 gives nothing back.
func counts(s Spending, b Budget, now time.Time) bool {
	return s.Value > 0 && now.Sub(s.At).Abs() < b.Per
}

// rounded takes away what adding decimals has left: three times 0.1 is 0.3.
func rounded(sum float64) float64 {
	exact, _ := strconv.ParseFloat(strconv.FormatFloat(sum, 'g', 12, 64), 64)
	return exact
}

// Refusal returns why a run must not begin now, and until when: the budget of a value is spent. It
// is empty if the run may begin.
func Refusal(r Rules, spent map[string][]Spending, now time.Time, zone *time.Location) string {
	for _, v := range r.Budgets() {
		until, sum := SpentUntil(v, spent[v.Name], now)
		if v.Budget.Then != Warn && !until.IsZero() {
			return fmt.Sprintf("the budget of %s is spent until %s: %s of %s in %s", v.Name,
				humanize.SecondZone(until, zone), v.Text(sum), v.Text(v.Budget.AtMost), humanize.Setting(v.Budget.Per))
		}
	}
	return ""
}
