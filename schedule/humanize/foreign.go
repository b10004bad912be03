package humanize

import "strings"

// MacroHint returns the hint for a macro of cron that is not known.
func MacroHint(name string) string {
	known := []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@reboot"}
	if near := Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	last := len(known) - 1
	return "the macros are " + strings.Join(known[:last], ", ") + " and " + known[last]
}

// WeekdayHint returns the hint for a word in the last field of an expression, which is no weekday.
func WeekdayHint(word string) string {
	if name := WeekdayOf(word); name != "" {
		return "write " + name
	}
	return "if that is the command, it goes into `command`"
}

// WeekdayOf returns the name of a weekday by its first two letters: MON for MO; "" for other words.
func WeekdayOf(word string) string {
	for _, name := range []string{"MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"} {
		if strings.EqualFold(word, name[:2]) {
			return name
		}
	}
	return ""
}
