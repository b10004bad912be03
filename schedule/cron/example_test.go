package cron_test

import (
	"errors"
	"fmt"
	"time"

	"sched/schedule/cron"
)

func ExampleParse() {
	weekdays, err := cron.Parse("30 2 * * MON-FRI", "nightly-report")
	fmt.Println(weekdays, err)

	// H is a number made from the name of the task
	hashed, err := cron.Parse("H H * * *", "nightly-report")
	fmt.Println(hashed, err)

	_, err = cron.Parse("0 22-4 * * FRI-MON", "nightly-report")
	fmt.Println(err)
	if wrong, ok := errors.AsType[*cron.Error](err); ok {
		fmt.Println("hint:", wrong.Hint)
	}
	// Output:
	// 30 2 * * MON-FRI <nil>
	// 22 0 * * * <nil>
	// hour range 22-4 runs backwards
	// hint: write 22-23,0-4
}

// The clocks of New York go from 2:00 to 3:00 on 8 March 2026. A job with a fixed time in this gap
// runs right after it.
func ExampleWhen_Next() {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		fmt.Println(err)
		return
	}
	nightly, err := cron.Parse("30 2 * * *", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	when := cron.When{Crons: []cron.Expression{nightly}, Location: newYork}
	at := time.Date(2026, 3, 7, 0, 0, 0, 0, newYork)
	for range 3 {
		at, _ = when.Next(at)
		fmt.Println(at, "is", at.In(newYork).Format("15:04 MST"))
	}
	// Output:
	// 2026-03-07 07:30:00 +0000 UTC is 02:30 EST
	// 2026-03-08 07:00:00 +0000 UTC is 03:00 EDT
	// 2026-03-09 06:30:00 +0000 UTC is 02:30 EDT
}

// Slots returns the instants of the whole minute, whatever the second of the argument. The zero
// Location is UTC.
func ExampleWhen_Slots() {
	expression, err := cron.Parse("*/20 * * * * *", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	when := cron.When{Crons: []cron.Expression{expression}}
	for _, slot := range when.Slots(time.Date(2026, 3, 2, 9, 7, 33, 0, time.UTC)) {
		fmt.Println(slot.Format(time.TimeOnly))
	}
	// Output:
	// 09:07:00
	// 09:07:20
	// 09:07:40
}

func ExampleWhen_Explain() {
	friday13, err := cron.Parse("0 9 13 * FRI", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	when := cron.When{Crons: []cron.Expression{friday13}}
	for _, minute := range []time.Time{
		time.Date(2026, 1, 16, 9, 0, 0, 0, time.UTC),
		time.Date(2026, 1, 17, 9, 30, 0, 0, time.UTC),
	} {
		for _, verdict := range when.Explain(minute).Verdicts {
			fmt.Println(verdict.Due, verdict.Why())
		}
	}
	// Output:
	// true day 16 is not in 13 and Friday is in FRI: with both restricted, one is enough
	// false minute 30 is not in 0; day 17 is not in 13 and Saturday is not in FRI (one of the two would be enough)
}
