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
		fmt.Fprintf(c.err, "%s\n", paintDiff(errs, line))
	}
}

// paintDiff paints a line of a diff for a stream.
func paintDiff(out terminal.Stream, line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return out.Paint(terminal.Good, line)
	case strings.HasPrefix(line, "-"):
		return out.Paint(terminal.Bad, line)
	}
	return line
}
