package load

import (
	"strings"

	"sched/schedule/every"
	"sched/schedule/yamldoc"
)

// written returns the line that a synonym stands for. If the line says when, it has the times of
// the value, and not the ones of the example: `daily_at: 2:30` is every: day at 2:30.
func written(word, line string, value, mapping *yamldoc.Node) string {
	if !strings.HasPrefix(line, "every: ") {
		return line
	}
	var arguments []string
	var read func(item *yamldoc.Node) bool
	read = func(item *yamldoc.Node) bool {
		if item.IsList() { // the days of weeklyOn
			return item.Each(read)
		}
		if item.IsScalar() && !item.IsNull() && !item.IsBool() {
			arguments = append(arguments, yamldoc.Shorten(item.Value))
		}
		return true
	}
	value.Each(read)
	beside := ""
	if n := mapping.Lookup("every"); n != nil && n.IsScalar() {
		beside = n.Value
	}
	if words := every.Method(word, strings.Join(arguments, ", "), beside); words != "" && len(arguments) > 0 {
		return "every: " + words
	}
	return line
}
