//go:build linux

package main

import "fmt"

// forecast measures the forecast of a week of 1,000 tasks as a whole process. A twentieth of the
// tasks is due every minute, a fifth every five minutes, a fourth each hour, and the rest once a
// day, at night. Every fifth task is in the foreground, and every second one has a mutex.
func (b *bench) forecast() {
	dir := b.schedule("forecast", 1000, func(i int) string {
		cron := fmt.Sprintf("%d %d * * *", i%60, i%7)
		switch {
		case i%20 == 0:
			cron = "* * * * *"
		case i%4 == 0:
			cron = "*/5 * * * *"
		case i%3 == 0:
			cron = fmt.Sprintf("%d * * * *", i%60)
		}
		return fmt.Sprintf(`cron: %q, command: "true", background: %v, without_overlapping: %v`, cron, i%5 > 0, i%2 > 0)
	})
	var wall, cpu []float64
	for range 5 {
		week := b.sched(dir, "forecast", "--since", "2026-03-23")
		wall, cpu = append(wall, week.first.Seconds()), append(cpu, week.cpu.Seconds())
	}
	b.row("forecast of a week of 1000 tasks: wall", median(wall), "s", 2)
	b.row("forecast of a week of 1000 tasks: CPU", median(cpu), "s", none)
}
