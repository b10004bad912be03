package schedule_test

import (
	"fmt"
	"time"

	"sched/schedule/load"
)

// Conditions do not change what is due. They say whether it runs.
func ExampleSchedule_Due() {
	text := `
timezone: Asia/Tokyo
tasks:
- {name: every-half-minute, every: 30 seconds, command: x}
- {name: hourly, every: hour, command: x, between: ["8:00", "17:00"]}
- {name: daily, every: day at 12:00, command: x}
`
	s, err := load.Text([]byte(text), "/srv/shop/schedule.yaml", load.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 6, 1, 22, 0, 17, 0, time.FixedZone("", 9*60*60))
	for _, slot := range s.Due(at) {
		fmt.Printf("%s %s %q\n", slot.At.Format("15:04:05 MST"), slot.Task.Name, slot.Task.UnmetCondition(slot.At))
	}
	// Output:
	// 13:00:00 UTC every-half-minute ""
	// 13:00:00 UTC hourly "outside 8:00-17:00"
	// 13:00:30 UTC every-half-minute ""
}
