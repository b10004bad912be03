package foreign

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sched/schedule/crontab"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// laravelKeys are keys of a task that stand for methods. %s is for the argument, or for a word if
// the argument is no plain text.
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

// setHook sets what a call tells people, where it writes the output, and conditions that are true
// or false. It reports false for other calls, and for calls whose arguments it cannot read.
func setHook(j *Job, call phpCall) bool {
	arguments := call.arguments()
	if (call.name == "when" || call.name == "skip") && len(arguments) == 1 {
		isTrue, isPlain := phpBool(arguments[0])
		if isPlain && isTrue == (call.name == "skip") {
			j.setPlain("enabled", "false")
		}
		return isPlain
	}
	if method, hasCondition := strings.CutSuffix(call.name, "If"); hasCondition && len(arguments) == 2 {
		isTrue, isPlain := phpBool(arguments[0])
		if !isPlain || !isTrue {
			return isPlain && laravelKeys()[method].word == "URL"
		}
		call.name, arguments = method, arguments[1:]
	}
	key := laravelKeys()[call.name]
	event, _, _ := strings.Cut(key.key, ":")
	isMore, isPlain := call.name == "emailOutputTo" || call.name == "appendOutputTo", true // the second argument
	if len(arguments) == 2 && (call.name == "emailOutputTo" || call.name == "sendOutputTo") {
		isMore, isPlain = phpBool(arguments[1])
		arguments = arguments[:1]
	}
	if len(arguments) != 1 || !isPlain {
		return false
	}
	switch key.word {
	case "URL":
		target, ok := phpWord(arguments[0])
		if ok = ok && isURL(target); ok {
			addHook(j, event, "ping", yamldoc.NewText(crontab.Escape(target)))
		}
		return ok
	case "ADDRESS":
		return addMail(j, event, arguments[0], isMore || call.name == "emailWrittenOutputTo")
	case "FILE":
		return setOutput(j, arguments[0], isMore)
	}
	return false
}

// phpBool reads true or false.
func phpBool(argument string) (value, ok bool) {
	value = strings.EqualFold(argument, "true")
	return value, value || strings.EqualFold(argument, "false")
}

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// addHook adds a hook to those that an event has.
func addHook(j *Job, event, kind string, target *yamldoc.Node, more ...*yamldoc.Node) {
	hook := yamldoc.NewMapping(append([]*yamldoc.Node{yamldoc.NewText(kind), target}, more...)...)
	i := slices.IndexFunc(j.Keys, func(k crontab.Key) bool { return k.Name == event })
	switch {
	case i < 0:
	case j.Keys[i].Value.IsList():
		hook = yamldoc.NewList(append(slices.Clone(j.Keys[i].Value.Items()), hook)...)
	default:
		hook = yamldoc.NewList(j.Keys[i].Value, hook)
	}
	j.put(crontab.Key{Name: event, Value: hook})
}

var plainAddress = humanize.Pattern(`^[A-Za-z0-9][A-Za-z0-9._+-]*@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)

// addMail adds a mail to the address, or to each address of a list.
func addMail(j *Job, event, argument string, onlyOutput bool) bool {
	parts, isList := phpItems(argument)
	if !isList {
		parts = []string{argument}
	}
	var addresses []*yamldoc.Node
	for _, part := range parts {
		text, ok := phpWord(part)
		if !ok || !plainAddress().MatchString(text) {
			return false
		}
		addresses = append(addresses, yamldoc.NewText(crontab.Escape(text)))
	}
	var more []*yamldoc.Node
	if onlyOutput {
		more = []*yamldoc.Node{yamldoc.NewText("when"), yamldoc.NewText("output")}
	}
	switch len(addresses) {
	case 0:
		return false
	case 1:
		addHook(j, event, "mail", addresses[0], more...)
	default:
		addHook(j, event, "mail", yamldoc.NewList(addresses...), more...)
	}
	return true
}

// sendsMail reports whether a task has a hook that mails.
func sendsMail(j *Job) bool {
	return slices.ContainsFunc(j.Keys, func(k crontab.Key) bool {
		if k.Value == nil {
			return false
		}
		hooks := []*yamldoc.Node{k.Value}
		if k.Value.IsList() {
			hooks = k.Value.Items()
		}
		return slices.ContainsFunc(hooks, func(hook *yamldoc.Node) bool {
			return hook.IsMapping() && hook.Lookup("mail") != nil
		})
	})
}

// phpFolder matches a file below a folder of the application.
var phpFolder = humanize.Pattern(`^(storage_path|base_path)\(\s*('[^'\\]+'|"[^"\\$]+")\s*\)$`)

// setOutput sets the file that gets a copy of the output.
func setOutput(j *Job, argument string, isAppended bool) bool {
	found := phpFolder().FindStringSubmatch(argument)
	if found != nil {
		argument = found[2]
	}
	file, ok := phpWord(argument)
	switch {
	case found != nil && found[1] == "storage_path":
		file = "storage/" + strings.TrimLeft(file, "/")
	case found != nil:
		file = strings.TrimLeft(file, "/")
	case file == "/dev/null": // where Laravel's output goes anyway
		return true
	}
	if !ok || strings.TrimLeft(file, "/") == "" || strings.ContainsFunc(file, func(r rune) bool { return r < ' ' }) {
		return false
	}
	if isAppended {
		j.put(crontab.Key{Name: "output", Value: yamldoc.NewMapping(yamldoc.NewText("file"),
			yamldoc.NewText(crontab.Escape(file)), yamldoc.NewText("append"), yamldoc.NewBool(true))})
	} else {
		j.set("output", file)
	}
	return true
}

// insteadOf says what to write for a call that is not taken, and how; "" if we know nothing.
func insteadOf(call phpCall) string {
	if call.name == "storeOutput" {
		return ": it needs no key, `sched logs TASK` has the output"
	}
	key, known := laravelKeys()[call.name]
	if !known {
		return ""
	}
	arguments := call.arguments()
	if strings.HasSuffix(call.name, "If") { // a condition comes first
		arguments = arguments[min(1, len(arguments)):]
	}
	var texts []string
	if len(arguments) > 0 {
		first := phpCall{inside: arguments[0]}
		if values, ok := first.values(); ok && len(values) == 1 {
			texts = values[0]
		}
	}
	value := key.word
	switch {
	case len(texts) == 0:
	case len(texts) > 1:
		value = "[" + strings.Join(texts, ", ") + "]"
	case key.word != "ADDRESS" && strings.ContainsAny(texts[0], ":{}[],&*#?|<>=!%@ "):
		value = strconv.Quote(texts[0])
	default:
		value = texts[0]
	}
	return ": write `" + strings.ReplaceAll(key.key, "%s", value) + "`"
}
