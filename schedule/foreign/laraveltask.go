package foreign

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sched/schedule/crontab"
	"sched/schedule/humanize"
)

// laravelName makes a name of a command: what stands behind artisan, or the program.
func laravelName(command string) string {
	words := strings.Fields(strings.TrimPrefix(command, "php artisan "))
	if len(words) == 0 {
		return "task"
	}
	return words[0][strings.LastIndexAny(words[0], `/\`)+1:]
}

// classOf returns the class that an argument names; "" if it names none. An argument that is a text
// is given as that, too.
func classOf(argument, text string, isText bool) string {
	isName := !isText && (strings.HasSuffix(argument, "::class") || strings.HasPrefix(argument, "new "))
	if isText {
		argument, isName = text, strings.Contains(text, `\`)
	}
	if found := phpClass().FindStringSubmatch(argument); found != nil && isName {
		return found[1]
	}
	return ""
}

// setRun sets the command of a task, or says why the task has no command. text is the whole file.
func setRun(j *Job, run phpCall, isArtisan bool, app laravelApp, text string) {
	arguments := run.arguments()
	if isArtisan {
		arguments = arguments[:min(1, len(arguments))] // the closure behind the name
	}
	switch {
	case run.name == "call" || run.name == "job":
		j.refuse("it is PHP in the process of the scheduler (%s): make it a command of artisan", run.name)
		return
	case len(arguments) == 0 || len(arguments) > 2:
		j.refuse("what it runs is no plain text: %s", fromList)
		return
	}
	command, ok := phpWord(arguments[0])
	if class := classOf(arguments[0], command, ok); class != "" && run.name == "command" {
		name, file := app.commandOf(text, class)
		if name == "" {
			j.refuse("%s is a class, and no file here says which command it is: write command('NAME'), or %s",
				class, fromList)
			return
		}
		j.note("%s is the command %s, as %s says", class, name, file)
		command, ok = name, true
	}
	if !ok {
		j.refuse("what it runs is no plain text: %s", fromList)
		return
	}
	j.Command = command
	if len(arguments) == 2 {
		words, ok := parameters(arguments[1])
		if !ok {
			j.refuse("the arguments of its command are not plain: %s", fromList)
		}
		j.Command = strings.TrimSpace(j.Command + " " + quoteWords(words...))
	}
	if run.name == "command" {
		j.Command = "php artisan " + j.Command
	}
	j.Name = laravelName(j.Command)
}

// setLaravel sets what the calls say that stand before and behind the command.
func setLaravel(j *Job, calls []phpCall) {
	fields := [5]string{"*", "*", "*", "*", "*"}
	for _, call := range calls {
		values, ok := call.values()
		arguments := make([]string, len(values)) // a list is one field of a cron expression
		for i, texts := range values {
			arguments[i] = strings.Join(texts, ",")
		}
		isList := func(a string) bool { return strings.HasPrefix(a, "[") }
		isPlain := ok && !slices.ContainsFunc(call.arguments(), isList)
		switch {
		case repeats[call.name] > 0 && len(values) == 0:
			j.seconds, fields[0] = repeats[call.name], "*"
		case ok && setFrequency(&fields, call.name, arguments):
		case isPlain && setOption(j, call.name, arguments):
		case ok && call.name == "environments" && len(values) > 0:
			j.setList("environments", slices.Concat(values...)...)
		case setHook(j, call):
		default:
			noteCall(j, call)
		}
	}
	j.Expressions = []string{strings.Join(fields[:], " ")}
}

// repeats are methods that repeat a task within each minute in which it is due, with the seconds.
var repeats = map[string]int{
	"everySecond": 1, "everyTwoSeconds": 2, "everyFiveSeconds": 5, "everyTenSeconds": 10, "everyFifteenSeconds": 15,
	"everyTwentySeconds": 20, "everyThirtySeconds": 30,
}

// noteCall says that a call is not in the task.
func noteCall(j *Job, call phpCall) {
	if isTime(call.name) {
		j.refuse("%s is not plain: %s", call, fromList)
	}
	if call.name == "when" || call.name == "skip" {
		j.setPlain("enabled", "false")
		j.note("it is switched off until `%s` says what PHP decides", call.name)
	}
	j.note("not taken: %s%s", call, insteadOf(call))
}

var phpClock = humanize.Pattern(`^([01]?\d|2[0-3]):[0-5]\d$`)

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

// hasKey reports whether a key is set.
func hasKey(j *Job, name string) bool {
	return slices.ContainsFunc(j.Keys, func(k crontab.Key) bool { return k.Name == name })
}

var mutexName = humanize.Pattern(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$`)

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
	case method == "evenWhenPaused":
		j.setPlain("even_when_paused", "true")
	case method == "evenInMaintenanceMode":
		j.setPlain("even_in_maintenance", "true")
	case method == "name" && len(arguments) == 1:
		j.Name = arguments[0]
	case (method == "description" || method == "purpose") && len(arguments) == 1:
		j.set("description", arguments[0])
	case method == "user" && len(arguments) == 1:
		j.setAccount(method, arguments[0])
	case method == "between" && len(arguments) == 2 && isClocks && !hasKey(j, "between"):
		j.setList("between", arguments...)
	case method == "unlessBetween" && len(arguments) == 2 && isClocks && !hasKey(j, "unless_between"):
		j.setList("unless_between", arguments...)
	case method == "createMutexNameUsing" && len(arguments) == 1 && mutexName().MatchString(arguments[0]):
		j.set("mutex", arguments[0])
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
