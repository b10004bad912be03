package logs

import (
	"sched/cmd/exit"
)

type options struct {
	follow       bool
	lines        int // the last ones of each run; 0 for all
	since, until string
	grep         string
	json         bool
}

// check refuses flags that do not go together.
func (o options) check() error {
	switch {
	case o.lines < 0:
		return exit.Usage("0 prints all", "-n %d is negative", o.lines)
	case o.grep == "" && o.json:
		return exit.Usage("", "--json goes with --grep")
	case o.grep != "" && o.follow:
		return exit.Usage("pipe the output of --follow into grep", "--grep and --follow exclude each other")
	}
	return nil
}

const (
	maxFoundLines = 1000 // logs --grep prints at most so many lines, unless -n says otherwise
	maxFoundBytes = 1000 // it prints at most so many bytes of a line, around the match
)
