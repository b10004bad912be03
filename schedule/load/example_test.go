package load_test

import (
	"fmt"

	"sched/schedule/load"
)

func ExampleText() {
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
	s, err := load.Text([]byte(text), "/srv/shop/schedule.yaml", load.Options{})
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
	_, err := load.Text([]byte(text), "/srv/shop/schedule.yaml", load.Options{})
	fmt.Println(err)
	// Output:
	// schedule.yaml:4:9: task "report": cron "61 * * * *": minute 61 is not in 0-59
	// schedule.yaml:5:3: task "report": unknown key "comand"
	//   hint: did you mean "command"?
}
