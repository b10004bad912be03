package schedule_test

import (
	"fmt"
	"time"

	"sched/schedule"
)

func ExampleParse() {
	text := `
timezone: Europe/Berlin
defaults: {timeout: 1h}
tasks:
- name: nightly-report
  every: weekday at 02:30
  command: ./report.sh --all
- name: prune-sessions
  cron: "*/5 * * * *"
  command: [php, artisan, sessions:prune]
  timeout: 90s
`
	s, err := schedule.Parse([]byte(text), "/srv/shop/schedule.yaml", schedule.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, task := range s.Tasks {
		fmt.Printf("%s: %s, %q in %s, at most %s\n", task.Name, task.When, task.Command.Argv(), task.Dir, task.Timeout)
	}
	// Output:
	// nightly-report: 30 2 * * 1-5, ["/bin/sh" "-c" "./report.sh --all"] in /srv/shop, at most 1h0m0s
	// prune-sessions: */5 * * * *, ["php" "artisan" "sessions:prune"] in /srv/shop, at most 1m30s
}

// Every mistake is reported at its place, all at once.
func ExampleInvalidError() {
	text := `
tasks:
- name: report
  cron: "61 * * * *"
  comand: ./report.sh
`
	_, err := schedule.Parse([]byte(text), "/srv/shop/schedule.yaml", schedule.LoadOptions{})
	fmt.Println(err)
	// Output:
	// schedule.yaml:4:9: task "report": cron "61 * * * *": minute 61 is not in 0-59
	// schedule.yaml:5:3: task "report": unknown key "comand"
	//   hint: did you mean "command"?
}

// Conditions do not change what is due. They say whether it runs.
func ExampleSchedule_Due() {
	text := `
timezone: Asia/Tokyo
tasks:
- {name: every-half-minute, every: 30 seconds, command: x}
- {name: hourly, every: hour, command: x, between: ["8:00", "17:00"]}
- {name: daily, every: day at 12:00, command: x}
`
	s, err := schedule.Parse([]byte(text), "/srv/shop/schedule.yaml", schedule.LoadOptions{})
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
