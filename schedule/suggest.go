package schedule

import (
	"slices"
	"strings"

	"sched/schedule/text"
)

// otherWords are what people write who come from other schedulers.
var otherWords = map[string]string{
	"cmd": "command", "script": "command", "exec": "command", "run": "command",
	"schedule": "cron", "interval": "every", "frequency": "every",
	"tz": "timezone", "time_zone": "timezone", "cwd": "dir", "workdir": "dir", "working_directory": "dir",
	"retries": "retry", "no_overlap": "without_overlapping", "overlapping": "without_overlapping", "without_overlap": "without_overlapping",
	"on_error": "on_failure", "on_fail": "on_failure",
	"jobs": "tasks", "log": "output", "disabled": "enabled", "weekdays": "days",
}

// nearest returns the known key or value that was probably meant by word, or "".
func nearest(word string, known []string) string {
	if meant := otherWords[strings.ReplaceAll(strings.ToLower(word), "-", "_")]; slices.Contains(known, meant) {
		return meant
	}
	return text.Nearest(word, known)
}

// didYouMean is the hint that proposes a word; none for "".
func didYouMean(word string) string {
	if word == "" {
		return ""
	}
	return `did you mean "` + word + `"?`
}
