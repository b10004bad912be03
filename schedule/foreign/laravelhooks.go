package foreign

import (
	"strconv"
	"strings"
	"sync"
)

// laravelKeys are keys of a task that stand for methods which are not taken. %s is for the
// argument, or for a word if the argument is no plain text.
var laravelKeys = sync.OnceValue(func() map[string]laravelKey {
	return map[string]laravelKey{
		"pingBefore": {"before: {ping: %s}", "URL"}, "pingBeforeIf": {"before: {ping: %s}", "URL"},
		"thenPing": {"after: {ping: %s}", "URL"}, "thenPingIf": {"after: {ping: %s}", "URL"},
		"pingOnSuccess": {"on_success: {ping: %s}", "URL"}, "pingOnSuccessIf": {"on_success: {ping: %s}", "URL"},
		"pingOnFailure": {"on_failure: {ping: %s}", "URL"}, "pingOnFailureIf": {"on_failure: {ping: %s}", "URL"},
		"emailOutputTo":        {"after: {mail: %s, when: output}", "ADDRESS"},
		"emailWrittenOutputTo": {"after: {mail: %s, when: output}", "ADDRESS"},
		"emailOutputOnFailure": {"on_failure: {mail: %s}", "ADDRESS"},
		"sendOutputTo":         {"output: %s", "FILE"},
		"appendOutputTo":       {"output: {file: %s, append: true}", "FILE"},
		"evenWhenPaused":       {"even_when_paused: true", ""},
		"purpose":              {"description: %s", "TEXT"},
		"createMutexNameUsing": {"mutex: %s", "NAME"},
		"when":                 {"when: COMMAND", ""}, "skip": {"skip: COMMAND", ""},
		"before": {"before: COMMAND", ""}, "after": {"after: COMMAND", ""}, "then": {"after: COMMAND", ""},
		"thenWithOutput": {"after: COMMAND", ""},
		"onSuccess":      {"on_success: COMMAND", ""}, "onSuccessWithOutput": {"on_success: COMMAND", ""},
		"onFailure": {"on_failure: COMMAND", ""}, "onFailureWithOutput": {"on_failure: COMMAND", ""},
	}
})

type laravelKey struct{ key, word string }

// insteadOf says what to write for a call that is not taken, and how; "" if we know nothing. values
// has the texts of each argument; none for one that is no plain text.
func insteadOf(method string, values [][]string) string {
	if method == "storeOutput" {
		return ": it needs no key, `sched logs TASK` has the output"
	}
	key, known := laravelKeys()[method]
	if !known {
		return ""
	}
	if strings.HasSuffix(method, "If") { // a condition comes first
		values = values[min(1, len(values)):]
	}
	value := key.word
	switch {
	case len(values) == 0 || len(values[0]) == 0:
	case len(values[0]) > 1:
		value = "[" + strings.Join(values[0], ", ") + "]"
	case key.word != "ADDRESS" && strings.ContainsAny(values[0][0], ":{}[],&*#?|<>=!%@ "):
		value = strconv.Quote(values[0][0])
	default:
		value = values[0][0]
	}
	return ": write `" + strings.ReplaceAll(key.key, "%s", value) + "`"
}
