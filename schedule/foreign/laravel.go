package foreign

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sched/schedule/crontab"
	"sched/schedule/humanize"
)

// readLaravel reads the JSON of `php artisan schedule:list --json`, or the plain calls of PHP.
func readLaravel(text string) ([]*Job, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return laravelList(text)
	}
	if !strings.Contains(text, "<?php") {
		return nil, errors.New("it is neither the JSON of `php artisan schedule:list --json` nor PHP")
	}
	return laravelCalls(text)
}

func laravelList(text string) (jobs []*Job, err error) {
	all, err := documents(text)
	if err != nil {
		return nil, err
	}
	for _, entry := range all[0].items() {
		command := entry.text("command")
		j := &Job{Line: entry.Line, Name: laravelName(command), Command: command,
			Expressions: []string{entry.text("expression")}, Zone: entry.text("timezone")}
		if zone := entry.text("expression_timezone"); zone != "" {
			j.Zone = zone
		}
		if entry.text("repeat_seconds") != "" {
			j.refuse("it repeats every %s seconds: `every: %[1]s seconds` says it", entry.text("repeat_seconds"))
		}
		isClass := strings.Contains(command, `\`) && !strings.Contains(command, " ")
		if command == "" || command == "Closure" || strings.HasPrefix(command, "Closure at") || isClass {
			j.refuse("it is PHP in the process of the scheduler (%s): make it a command of artisan", command)
		}
		if text := entry.text("description"); text != "" {
			j.set("description", text)
		}
		if names := entry.at("environments").texts(); len(names) > 0 {
			j.setList("environments", names...)
		}
		if len(jobs) == 0 {
			j.note("the list does not say withoutOverlapping, onOneServer, between, when and hooks: " +
				"see docs/from-laravel.md")
		}
		j.noteRest("", entry, "next_due_date", "next_due_date_human", "has_mutex")
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// laravelName makes a name of a command: what stands behind artisan, or the program.
func laravelName(command string) string {
	words := strings.Fields(strings.TrimPrefix(command, "php artisan "))
	if len(words) == 0 {
		return "task"
	}
	return words[0][strings.LastIndexAny(words[0], `/\`)+1:]
}

var (
	scheduled = humanize.Pattern(
		`(?:\bSchedule\s*::\s*|\$schedule\s*->\s*)(command|exec|call|job)\(|\bArtisan::(command)\(`)
	phpText   = humanize.Pattern(`^'([^'\\]*)'$|^"([^"\\$]*)"$`)
	phpNumber = humanize.Pattern(`^\d+$`)
	phpClock  = humanize.Pattern(`^([01]?\d|2[0-3]):[0-5]\d$`)
)

// maxPHP bounds a file of PHP.
const maxPHP = 256 << 10

// A phpCall is ->name(arguments), with the arguments as they are written.
type phpCall struct {
	name      string
	arguments []string
}

// laravelCalls reads the statements that begin with Schedule:: or $schedule->.
func laravelCalls(text string) (jobs []*Job, err error) {
	if len(text) > maxPHP || strings.Contains(text, "<<<") {
		return nil, fmt.Errorf("it is larger than %d KiB, or has a text after <<<: "+
			"`php artisan schedule:list --json` says it", maxPHP>>10)
	}
	text = withoutComments(text)
	hasGroup := strings.Contains(text, "->group(")
	blocks := phpBlocks{isAlternative: phpEnd().MatchString(text)}
	line, last := 1, 0
	found := scheduled().FindAllStringSubmatchIndex(text, -1)
	for i, at := range found {
		line, last = line+strings.Count(text[last:at[0]], "\n"), at[0]
		isConditional := blocks.read(text, at[0])
		j := &Job{Line: line, Name: "task"}
		isArtisan := at[2] < 0
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		calls, err := phpChain(text[max(at[2], at[4]):end])
		isTimed := slices.ContainsFunc(calls, func(c phpCall) bool { return isTime(c.name) })
		switch {
		case err == nil && isArtisan && !isTimed:
			continue // a command that nothing schedules here
		case err != nil:
			j.refuse("%v", err)
		case !isTimed || hasGroup:
			j.refuse("a group may say when it is due: `php artisan schedule:list --json` says it")
		case isArtisan:
			calls[0].arguments = calls[0].arguments[:min(1, len(calls[0].arguments))] // the closure behind the name
			fallthrough
		default:
			setLaravel(j, calls)
		}
		if isConditional {
			j.setPlain("enabled", "false")
			j.note("it is switched off: PHP around it decides whether it is scheduled")
		}
		jobs = append(jobs, j)
	}
	isOneServer := func(j *Job) bool {
		return slices.ContainsFunc(j.Keys, func(k crontab.Key) bool { return k.Name == "one_server" })
	}
	if i := slices.IndexFunc(jobs, isOneServer); i >= 0 {
		jobs[i].note("one_server needs a `store:` that all servers reach, and a `name:`, at the top of the file")
	}
	return jobs, nil
}

// phpChain reads name(arguments)->name(arguments)… up to the end of the expression.
func phpChain(text string) (calls []phpCall, err error) {
	for {
		name, rest, ok := strings.Cut(text, "(")
		arguments, end := phpArguments(rest)
		if !ok || end < 0 {
			return nil, errors.New("its PHP cannot be read")
		}
		calls = append(calls, phpCall{strings.TrimSpace(name), arguments})
		text = strings.TrimSpace(rest[end+1:])
		switch next, isCall := strings.CutPrefix(text, "->"); {
		case isCall:
			text = next
		case text != "" && strings.IndexByte(";,)", text[0]) >= 0:
			return calls, nil
		default:
			return nil, errors.New("its PHP cannot be read: no ->, ;, comma or ) stands behind " + name + "()")
		}
	}
}

// phpArguments reads arguments up to the bracket that closes them. end is its place, or -1 without
// such a bracket.
func phpArguments(text string) (arguments []string, end int) {
	depth, begin, quote := 0, 0, byte(0)
	add := func(end int) {
		if argument := strings.TrimSpace(text[begin:end]); argument != "" {
			arguments = append(arguments, argument)
		}
		begin = end + 1
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case depth == 0 && c == ',':
			add(i)
		case depth == 0 && strings.IndexByte(")]}", c) >= 0:
			add(i)
			return arguments, i
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		}
	}
	return nil, -1
}

// values returns the texts of each argument, if all are texts, numbers, and lists of them.
func (c phpCall) values() (all [][]string, ok bool) {
	for _, argument := range c.arguments {
		parts := []string{argument}
		if inner, isList := strings.CutPrefix(argument, "["); isList {
			var end int
			if parts, end = phpArguments(inner); end != len(inner)-1 || end < 0 || inner[end] != ']' {
				return nil, false
			}
		}
		texts := []string{}
		for _, part := range parts {
			switch found := phpText().FindStringSubmatch(part); {
			case found != nil:
				texts = append(texts, found[1]+found[2])
			case phpNumber().MatchString(part):
				texts = append(texts, part)
			default:
				return nil, false
			}
		}
		all = append(all, texts)
	}
	return all, true
}

func setLaravel(j *Job, calls []phpCall) {
	what, ok := calls[0].values()
	switch name := calls[0].name; {
	case name == "call" || name == "job":
		j.refuse("it is PHP in the process of the scheduler (%s): make it a command of artisan", name)
	case !ok || len(what) == 0 || len(what) > 2 || len(what[0]) != 1 || strings.HasPrefix(calls[0].arguments[0], "["):
		j.refuse("what it runs is no plain text: `php artisan schedule:list --json` says it")
	default:
		j.Command = what[0][0]
		for _, words := range what[1:] {
			j.Command = strings.TrimSpace(j.Command + " " + quoteWords(words...))
		}
		if name == "command" {
			j.Command = "php artisan " + j.Command
		}
		j.Name = laravelName(j.Command)
	}
	fields := [5]string{"*", "*", "*", "*", "*"}
	for _, call := range calls[1:] {
		values, ok := call.values()
		arguments := make([]string, len(values)) // a list is one field of a cron expression
		for i, texts := range values {
			arguments[i] = strings.Join(texts, ",")
		}
		isList := func(a string) bool { return strings.HasPrefix(a, "[") }
		isPlain := ok && !slices.ContainsFunc(call.arguments, isList)
		switch {
		case ok && setFrequency(&fields, call.name, arguments):
		case isPlain && setOption(j, call.name, arguments):
		case ok && call.name == "environments" && len(values) > 0:
			j.setList("environments", slices.Concat(values...)...)
		default:
			noteCall(j, call)
		}
	}
	j.Expressions = []string{strings.Join(fields[:], " ")}
	if j.Zone == "" {
		j.note("its zone is app.timezone, taken for UTC")
	}
}

// noteCall says that a call is not in the task.
func noteCall(j *Job, call phpCall) {
	arguments := strings.Join(call.arguments, ", ")
	if isTime(call.name) {
		j.refuse("->%s(%s) is not plain: `php artisan schedule:list --json` says it", call.name, arguments)
	}
	if call.name == "when" || call.name == "skip" {
		j.setPlain("enabled", "false")
		j.note("it is switched off until `%s` says what PHP decides", call.name)
	}
	values := make([][]string, len(call.arguments))
	for i, argument := range call.arguments {
		if texts, ok := (phpCall{arguments: []string{argument}}).values(); ok {
			values[i] = texts[0]
		}
	}
	j.note("not taken: ->%s(%s)%s", call.name, arguments, insteadOf(call.name, values))
}

// isTime reports whether a method decides when a task is due.
func isTime(method string) bool {
	for _, part := range []string{"week", "sundays", "mondays", "tuesdays", "wednesdays", "thursdays", "fridays",
		"saturdays", "every", "hourly", "daily", "weekly", "monthly", "quarterly", "yearly", "twice",
		"last", "cron", "at", "days", "timezone", "between", "unlessBetween"} {
		if strings.HasPrefix(method, part) {
			return true
		}
	}
	return false
}

// setOption sets what is a key of a task.
func setOption(j *Job, method string, arguments []string) bool {
	isClocks := !slices.ContainsFunc(arguments, func(text string) bool { return !phpClock().MatchString(text) })
	switch {
	case method == "timezone" && len(arguments) == 1:
		j.Zone = arguments[0]
	case method == "withoutOverlapping":
		j.setPlain("without_overlapping", "true")
	case method == "onOneServer":
		j.setPlain("one_server", "true")
	case method == "runInBackground":
		j.setPlain("background", "true")
	case method == "evenInMaintenanceMode":
		j.setPlain("even_in_maintenance", "true")
	case method == "name" && len(arguments) == 1:
		j.Name = arguments[0]
	case method == "description" && len(arguments) == 1:
		j.set(method, arguments[0])
	case method == "user" && len(arguments) == 1:
		j.setAccount(method, arguments[0])
	case method == "between" && len(arguments) == 2 && isClocks:
		j.setList("between", arguments...)
	case method == "unlessBetween" && len(arguments) == 2 && isClocks:
		j.setList("unless_between", arguments...)
	default:
		return false
	}
	return true
}

// frequencies are methods without arguments, with the fields that they set; _ leaves one as it is.
var frequencies = [...][2]string{
	{"everyMinute", "* _ _ _ _"}, {"everyTwoMinutes", "*/2 _ _ _ _"}, {"everyThreeMinutes", "*/3 _ _ _ _"},
	{"everyFourMinutes", "*/4 _ _ _ _"}, {"everyFiveMinutes", "*/5 _ _ _ _"}, {"everyTenMinutes", "*/10 _ _ _ _"},
	{"everyFifteenMinutes", "*/15 _ _ _ _"}, {"everyThirtyMinutes", "*/30 _ _ _ _"}, {"hourly", "0 _ _ _ _"},
	{"everyOddHour", "0 1-23/2 _ _ _"}, {"everyTwoHours", "0 */2 _ _ _"}, {"everyThreeHours", "0 */3 _ _ _"},
	{"everyFourHours", "0 */4 _ _ _"}, {"everySixHours", "0 */6 _ _ _"}, {"daily", "0 0 _ _ _"},
	{"weekly", "0 0 _ _ 0"}, {"monthly", "0 0 1 _ _"}, {"quarterly", "0 0 1 1-12/3 _"}, {"yearly", "0 0 1 1 _"},
	{"weekdays", "_ _ _ _ 1-5"}, {"weekends", "_ _ _ _ 6,0"}, {"sundays", "_ _ _ _ 0"}, {"mondays", "_ _ _ _ 1"},
	{"tuesdays", "_ _ _ _ 2"}, {"wednesdays", "_ _ _ _ 3"}, {"thursdays", "_ _ _ _ 4"}, {"fridays", "_ _ _ _ 5"},
	{"saturdays", "_ _ _ _ 6"},
}

// setFrequency sets the fields that a method sets.
func setFrequency(fields *[5]string, method string, a []string) bool {
	set := func(words ...string) bool {
		for i, word := range words {
			if word != "_" {
				fields[i] = word
			}
		}
		return true
	}
	for _, known := range frequencies {
		if known[0] == method && len(a) == 0 {
			return set(strings.Fields(known[1])...)
		}
	}
	if len(a) == 0 {
		return method == "twiceDaily" && set("0", "1,13") || method == "lastDayOfMonth" && set("0", "0", "L")
	}
	i := slices.IndexFunc(frequencies[:], func(known [2]string) bool { return known[0] == method })
	hour, minute, isClock := clockOf(a[len(a)-1])
	switch {
	case i >= 0 && strings.HasSuffix(method, "Hours") && len(a) == 1, method == "everyOddHour" && len(a) == 1:
		return set(a[0], strings.Fields(frequencies[i][1])[1])
	case method == "twiceDailyAt" && len(a) == 3:
		return set(a[2], a[0]+","+a[1])
	case method == "lastDayOfMonth" && isClock:
		return set(minute, hour, "L")
	case method == "cron" && len(strings.Fields(a[0])) == 5:
		return set(strings.Fields(a[0])...)
	case method == "hourlyAt":
		return set(a[0])
	case method == "days":
		return set("_", "_", "_", "_", strings.Join(a, ","))
	case method == "twiceDaily" && len(a) == 2:
		return set("0", a[0]+","+a[1])
	case (method == "dailyAt" || method == "at") && isClock:
		return set(minute, hour)
	case method == "weeklyOn" && len(a) == 1:
		return set("0", "0", "_", "_", a[0])
	case method == "weeklyOn" && isClock:
		return set(minute, hour, "_", "_", a[0])
	case method == "monthlyOn" && len(a) == 1:
		return set("0", "0", a[0])
	case method == "monthlyOn" && isClock:
		return set(minute, hour, a[0])
	}
	return false
}

// clockOf reads 13:05 and 13.
func clockOf(text string) (hour, minute string, ok bool) {
	first, second, isBoth := strings.Cut(text, ":")
	h, err := strconv.Atoi(first)
	m, wrong := strconv.Atoi(second)
	if err != nil || isBoth && wrong != nil {
		return "", "", false
	}
	return fmt.Sprint(h), fmt.Sprint(m), true
}
