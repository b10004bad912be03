package cmd

import (
	"fmt"
	"strings"

	"sched/cmd/terminal"
)

// printDiff prints lines to stderr, green where they begin with + and red where they begin with -.
func (c *console) printDiff(lines []string) {
	errs := c.stderr()
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "+"):
			line = errs.Paint(terminal.Good, line)
		case strings.HasPrefix(line, "-"):
			line = errs.Paint(terminal.Bad, line)
		}
		fmt.Fprintf(c.err, "%s\n", line)
	}
}
