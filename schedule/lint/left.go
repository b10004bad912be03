package lint

import (
	"strings"

	"sched/schedule"
	"sched/schedule/humanize"
)

// LeavesItself warns of each active task whose command ends with the & of a shell: the shell ends
// at once, and nobody waits for the program.
func LeavesItself(s *schedule.Schedule) (warnings []schedule.Problem) {
	for t := range s.ActiveTasks() {
		if !endsWithAmpersand(t.Command.Line) {
			continue
		}
		hint := "remove the &"
		if !t.Background {
			hint += ", and write `background: true`"
		}
		warnings = append(warnings, t.Problem("command", hint,
			"command: it ends with &, so the run is over at once: no exit code, no timeout, no lock"))
	}
	return warnings
}

// literalText finds what a shell takes literally, and comments with the character before them.
var literalText = humanize.Pattern(`\\(?s:.)|'[^']*'|"(?:[^"\\]|\\(?s:.))*"|(?:^|[\s;&|()])#[^\n]*`)

// endsWithAmpersand reports whether the last sign of a line for a shell is &. The && does not
// count, nor does an & that is part of a redirection.
func endsWithAmpersand(line string) bool {
	if !strings.Contains(line, "&") {
		return false
	}
	signs := literalText().ReplaceAllStringFunc(line, func(text string) string {
		if strings.ContainsAny(text[:1], `\'"`) {
			return "x"
		}
		before, _, _ := strings.Cut(text, "#")
		return before
	})
	before, ends := strings.CutSuffix(strings.TrimSpace(signs), "&")
	return ends && (before == "" || !strings.ContainsAny(before[len(before)-1:], "&|<>;"))
}
