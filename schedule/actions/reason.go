package actions

import (
	"strings"

	"sched/schedule/text"
)

// Reason is why something is asked for, as it is kept: one line without control characters.
func Reason(typed string) string { return text.Line(strings.Join(strings.Fields(typed), " ")) }
