package account

import (
	"os"
	"strings"

	"sched/schedule"
	"sched/schedule/humanize"
)

// Nearest returns the name in /etc/passwd or /etc/group that is like the user or the group of a
// task, if this machine does not know the user, or else the group; "" if no name is like it.
func Nearest(as schedule.As) string {
	if as.User != "" {
		if near := nearestIn("/etc/passwd", as.User); near != as.User {
			return near
		}
	}
	if near := nearestIn("/etc/group", as.Group); near != as.Group {
		return near
	}
	return ""
}

// UserHint asks which user was meant by a name that this machine does not know; "" if no name is
// like it.
func UserHint(name string) string {
	if near := Nearest(schedule.As{User: name}); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// nearestIn returns the first field of a line that is like a name. It finds nothing for a number.
func nearestIn(file, name string) string {
	if _, isNumber := number(name); isNumber {
		return ""
	}
	text, _ := os.ReadFile(file)
	var names []string
	for line := range strings.Lines(string(text)) {
		first, _, _ := strings.Cut(line, ":")
		names = append(names, first)
	}
	return humanize.Nearest(name, names)
}
