//go:build schedtrace

package process

import (
	"slices"
	"strings"

	"sched/schedule/statedir"
)

// traceFork writes a line about the fork of a command: see statedir.Trace.
func traceFork(spec Spec) {
	if !slices.Equal(spec.Command.Argv(), spec.Task.Command.Argv()) {
		return
	}
	line := map[string]any{"what": "fork", "task": spec.Task.Name}
	for _, pair := range spec.Variables {
		if run, is := strings.CutPrefix(pair, "SCHED_RUN="); is {
			line["run"] = run
		}
		if slot, is := strings.CutPrefix(pair, "SCHED_SLOT="); is {
			line["slot"] = slot
		}
	}
	statedir.Trace(line)
}
