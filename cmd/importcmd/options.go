package importcmd

import (
	"os"

	"sched/cmd/exit"
)

type options struct {
	file   string // of the crontab; - for stdin, "" for the crontab of the user or the machine
	output string
	system bool
	tidy   bool
	user   string
}

// check refuses flags that do not go together, and a file to write that is there already.
func (o options) check() error {
	if o.user != "" && (o.file != "" || o.system) {
		return exit.Usage("", "--user names whose crontab is read, so it goes with no file and not with --system")
	}
	if _, err := os.Lstat(o.output); o.output != "" && err == nil {
		return exit.Usage("name another file, or move that one away", "%s is there already", o.output)
	}
	return nil
}
