package cron

import (
	"time"

	"sched/schedule/cron/frequency"
)

// ParseEvery reads a frequency in words, such as "weekdays at 8:00" (package frequency). It returns
// several expressions if times of day differ in their minutes. Every error is an *Error.
func ParseEvery(text string) ([]Expression, error) {
	f, err := frequency.Parse(text)
	if err != nil {
		return nil, err
	}
	if f.Interval > 0 {
		v := interval{int64(f.Interval / time.Second), f.From.Unix()}
		return []Expression{{text: v.String(), interval: v}}, nil
	}
	expressions := make([]Expression, len(f.Crons))
	for i, text := range f.Crons {
		c, err := Parse(text, "")
		if err != nil {
			return nil, err
		}
		if f.Days > 0 {
			c.cycle = cycle{int64(f.Days), f.From.Unix() / daySeconds}
			c.text = f.Words + " from " + c.cycle.start() + c.times.atTimes()
		}
		expressions[i] = c
	}
	return expressions, nil
}
