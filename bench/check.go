//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// check measures `sched check` on schedules whose programs are all there: a script for each task,
// called as people call them. It also measures the proof of an assertion on a task that is due
// every second.
func (b *bench) check() {
	limits := map[int]float64{1_000: 0.4, 10_000: 3}
	for _, n := range []int{1_000, 10_000} {
		calls := []string{`./job-%d.sh --all`, `./job-%d.sh >> log.txt 2>&1`, `./job-%d.sh 'all of it' && echo \"done: $SCHED_TASK\"`,
			`./job-%d.sh | sort -u`}
		dir := b.schedule(fmt.Sprintf("check-%d", n), n, func(i int) string {
			return fmt.Sprintf(`cron: "%d %d * * *", command: "`+calls[i%len(calls)]+`"`, i%60, i%24, i)
		})
		for i := range n {
			must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("job-%d.sh", i)), []byte("#!/bin/sh\nexit 0\n"), 0o700))
		}
		var took []float64
		for range 5 {
			took = append(took, b.sched(dir, "check").first.Seconds())
		}
		b.row(fmt.Sprintf("`sched check` of %d tasks", n), median(took), "s", limits[n])
	}
	dir := b.path("assert")
	must(os.Mkdir(dir, 0o700))
	must(os.WriteFile(filepath.Join(dir, "schedule.yaml"), []byte(`timezone: Europe/Berlin
assert:
  - every-second never starts between 00:00 and 23:59 on Sundays
tasks:
  - {name: every-second, every: second, days: [mon, tue, wed, thu, fri, sat], command: "true"}
`), 0o600))
	var took []float64
	for range 5 {
		took = append(took, b.sched(dir, "check").first.Seconds())
	}
	b.row("`sched check` proves an assertion on a task of every second", median(took), "s", 2)
}
