package every_test

import (
	"fmt"

	"sched/schedule/every"
)

func ExampleParse() {
	for _, words := range []string{"5 minutes", "weekdays at 8:00", "day at 13:00, 19:30", "first monday of month",
		"2 weeks from 2026-01-05 at 8:00"} {
		expressions, err := every.Parse(words)
		fmt.Println(expressions, err)
	}
	_, err := every.Parse("7 minutes")
	fmt.Println(err)
	// Output:
	// [*/5 * * * *] <nil>
	// [0 8 * * 1-5] <nil>
	// [0 13 * * * 30 19 * * *] <nil>
	// [0 0 * * 1#1] <nil>
	// [2 weeks from 2026-01-05 at 8:00] <nil>
	// 7 does not divide 60, so 7 minutes would not be evenly spaced
}
