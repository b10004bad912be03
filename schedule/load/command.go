package load

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/mask"
	"sched/schedule/yamldoc"
)

// This file reads what a task runs: the command, its variables and params, and as whom it runs.

// setCommand reads the command of a task.
func setCommand(l *loader, t *taskDraft, n *node) {
	t.hasCommand = true
	t.Command, _ = readCommand(l, n, t.shell)
	warnOfHiddenFailure(l, n, t.Command)
}

var (
	endsInSetsid = humanize.Pattern(`(?:^|[;&|\n])\s*(exec\s+)?setsid\s+(?:(?:-c|--ctty|-f|--fork)\s+)*[^-\s;&|][^;&|\n]*$`)
	dotenvCLI    = humanize.Pattern(`(?:^|[;&|\n])\s*(?:exec\s+|npx\s+)?(?:\S*/)?dotenv\s+(?:[^;&|\n]*\s)?--\s`)
)

// warnOfHiddenFailure warns of a command that counts as succeeded whatever becomes of the program
// that it starts:
//
//   - setsid(1) forks if it leads its process group, and does not wait for the program then. It
//     leads the group if it is the last command of any shell but dash, which starts it as a child.
//   - dotenv-cli 11 exits with 0 when a signal has ended the program
//     (findings/dotenv-cli-signal.sh).
func warnOfHiddenFailure(l *loader, n *node, c schedule.Command) {
	line := strings.TrimSpace(c.Line)
	if len(c.List) > 0 {
		line = strings.Join(c.List, " ")
	}
	if strings.Contains(line, "setsid") { // an expression for each command of each tick takes long
		found := endsInSetsid().FindStringSubmatch(line)
		isChild := len(c.List) == 0 && found != nil && found[1] == "" && isDash(c.Shell)
		if found != nil && !isChild {
			l.Warnf(n, "write `setsid --wait`", "%s: setsid does not wait here, so the run succeeds at once, "+
				"whatever becomes of the program", l.Key)
		}
	}
	if strings.Contains(line, "dotenv") && dotenvCLI().MatchString(line) {
		l.Warnf(n, "name the file with `env_file`, and leave dotenv out", "%s: dotenv-cli exits with 0 when "+
			"a signal ends the program, so the run counts as succeeded", l.Key)
	}
}

// isDash reports whether a command has the shell sh, which is taken for dash, or dash itself.
func isDash(shell []string) bool {
	return len(shell) > 0 && slices.Contains([]string{"sh", "dash"}, filepath.Base(shell[0]))
}

// setConditionCommand reads the command of when or skip, which replaces the inherited command of
// that key. An empty list and `skip: false` take that away. `when: false` is refused, because it
// could mean never. when runs before skip.
func setConditionCommand(l *loader, t *taskDraft, n *node) {
	if n.IsFalse() && l.Key == "when" {
		l.Problemf(n, "write [] against one that is inherited, or `enabled: false` for a task that never runs",
			"when: %s may mean that the task never runs, or that nobody is asked", n.Value)
		return
	}
	var commands []schedule.ConditionCommand
	for _, c := range t.ConditionCommands {
		if c.Key != l.Key {
			commands = append(commands, c)
		}
	}
	if !n.IsFalse() && (!n.IsList() || !n.IsEmpty()) {
		command, _ := readCommand(l, n, t.shell)
		commands = append(commands, schedule.ConditionCommand{Key: l.Key, Command: command})
	}
	order := []string{"when", "skip"}
	slices.SortFunc(commands, func(a, b schedule.ConditionCommand) int {
		return slices.Index(order, a.Key) - slices.Index(order, b.Key)
	})
	t.ConditionCommands = commands
}

// noteSecrets notes the variables of a mapping that hold a secret for warnOfSecrets.
func noteSecrets(l *loader, n *node) {
	for name, value := range n.Pairs() {
		if value.IsScalar() && mask.LooksSecret(name.Value, value.Value) {
			l.secrets = append(l.secrets, l.mentionOf(name.Value, value))
		}
	}
}

// warnOfSecrets warns of secrets in env that no task masks.
func warnOfSecrets(l *loader) {
	for _, found := range l.secrets {
		isMasked := func(t *schedule.Task) bool { return slices.Contains(t.Secrets, found.name) }
		if slices.ContainsFunc(l.schedule.Tasks, isMasked) {
			continue
		}
		l.WarnAt(found.place, found.task, "put it into a file for env_file, or name it under secrets",
			"%senv.%s looks like a secret, and env is kept with every run", found.section, yamldoc.Shorten(found.name))
	}
}

// setEnv adds variables to the inherited variables. false leaves only the variables from the top of
// the file.
func setEnv(l *loader, t *taskDraft, n *node) {
	if n.IsFalse() {
		l.Origins.ForgetBelow(l.Key)
		for name := range l.bare.Env {
			l.Origins.Restore(l.Key+"."+name, l.bare.Origins)
		}
		t.Env, t.EnvOverrides = l.bare.Env, nil
		return
	}
	t.Env = readVariables(l.Reader, n, t.Env)
	noteSecrets(l, n)
	for name := range n.Pairs() {
		t.ownEnv = append(t.ownEnv, name.Value)
	}
	t.EnvOverrides = slices.Concat(t.EnvOverrides, t.ownEnv)
}

// setEnvFiles replaces inherited files, with [] by no file. The files win over inherited variables,
// but not over env of the same level: env has its row before env_file, so ownEnv is complete.
func setEnvFiles(l *loader, t *taskDraft, n *node) {
	replaces(func(t *taskDraft) *[]string { return &t.EnvFiles }, listOf(readEnvFile)).set(l, t, n)
	t.EnvOverrides = t.ownEnv
}

// setSecrets adds names of variables to the inherited names. false masks nothing, also not the
// variables of env_file.
func setSecrets(l *loader, t *taskDraft, n *node) {
	if t.Unmasked = n.IsFalse(); t.Unmasked {
		t.Secrets = nil
		return
	}
	names, _ := listOf(readSecret)(l.Reader, n)
	for _, name := range names {
		if !slices.Contains(t.Secrets, name) {
			t.Secrets = append(slices.Clip(t.Secrets), name)
		}
	}
}

// readSecret reads the name of a variable. It does not repeat a wrong one, which may be a value.
func readSecret(r *reader, n *node) (string, bool) {
	name := strings.ReplaceAll(n.Value, ".", "_") // as env_file may have it
	if n.IsScalar() && !n.IsNull() && yamldoc.IsVariable(name) && !strings.HasPrefix(n.Value, ".") {
		return n.Value, r.RefuseBool(n, "write false for no secrets at all")
	}
	hint := "write [DB_PASSWORD]; the value itself belongs into a file for `env_file`"
	if inside, ok := strings.CutPrefix(n.Value, "$"); ok && yamldoc.IsVariable(strings.Trim(inside, "{}")) {
		hint = "write " + yamldoc.Shorten(strings.Trim(inside, "{}")) + ", without $"
	}
	r.Problemf(n, hint, "secrets holds names of variables, and this cannot be one")
	return "", false
}

// showSecrets returns the names, or false if nothing is masked.
func showSecrets(t *taskDraft) any {
	if t.Unmasked {
		return false
	}
	return settingValue(t.Secrets)
}

// readCommand reads what to run: a text for the shell, or a list that is run without one.
func readCommand(l *loader, n *node, shell []string) (schedule.Command, bool) {
	if n.IsMapping() {
		l.Problemf(n, "", "%s must be text or a list, not a mapping", l.Key)
		return schedule.Command{}, false
	}
	if n.IsList() {
		list, ok := readArguments(l.Reader, n)
		warnOfShellSign(l.Reader, n, list)
		warnOfPercent(l, n, strings.Join(list, " "))
		return schedule.Command{List: list}, ok
	}
	line, ok := l.NonEmptyText(n)
	warnOfTimes(l.Reader, n, line)
	warnOfPercent(l, n, line)
	return schedule.Command{Line: line, Shell: shell}, ok
}

// linesTimes finds the times with which a line of a crontab begins.
var linesTimes = humanize.Pattern(`^\s*((?:[*\d][\d*/,-]*\s+){3}(?:[*\d][\d*/,-]*|[A-Za-z]{3}(?:[,-][A-Za-z]{3})*)\s+` +
	`(?:[*\d][\d*/,-]*|[A-Za-z]{3}(?:[,-][A-Za-z]{3})*)|@(?:hourly|daily|midnight|weekly|monthly|yearly|annually|reboot))\s+\S`)

// warnOfTimes warns of a command that is a whole line of a crontab.
func warnOfTimes(r *reader, n *node, line string) {
	if !strings.HasPrefix(line, "@") && !strings.Contains(line, "*") { // an expression for each command takes long
		return
	}
	if match := linesTimes().FindStringSubmatch(line); match != nil {
		r.Warnf(n, "write cron: \""+match[1]+"\", and the command without it",
			"%s: it begins with the times of a crontab line, and a shell takes them for a program", r.Key)
	}
}

// warnOfPercent warns of the \% of a crontab. It leaves alone a command that has a % without a
// backslash, too: its author knows that here % is no sign. It leaves a crontab alone.
func warnOfPercent(l *loader, n *node, text string) {
	escaped := strings.Count(text, `\%`)
	if !l.isCrontab && escaped > 0 && escaped == strings.Count(text, "%") {
		l.Warnf(n, "write % alone",
			`%s: \%% stands for %% in a crontab; here a quoted \%% keeps its backslash`, l.Key)
	}
}

var (
	shellSign = humanize.Pattern(`^(\d?>>?(&\d|/dev/null)?|&>>?|<|\||&&|\|\|)$`)
	shellName = humanize.Pattern(`^\$(?:[A-Z_][A-Z0-9_]*|\{[A-Z_][A-Z0-9_]*\})(?:/.*)?$`)
	plainWord = humanize.Pattern(`^[\w%+,./:=@-]+$`)
)

// expanders are programs that replace variables in their arguments, or give them to a shell.
var expanders = []string{"envsubst", "jq", "ssh", "su", "systemd-run", "watch", "parallel", "eval"}

// warnOfShellSign warns of a list with a sign of the shell, or with $NAME, as an argument. It
// leaves alone:
//
//   - programs that compare, and a | after an option, which separates columns: [sort, -t, '|'];
//   - the line of another shell, after -c, and what expanders get.
func warnOfShellSign(r *reader, n *node, list []string) {
	isSign := func(i int) bool { // an expression for each argument of each tick takes long
		switch {
		case i == 0:
			return false
		case strings.HasPrefix(list[i], "$"):
			isExpanded := slices.ContainsFunc(list[:i], func(word string) bool {
				isLine := strings.HasPrefix(word, "-") && strings.HasSuffix(word, "c")
				return isLine || slices.Contains(expanders, filepath.Base(word))
			})
			return !isExpanded && shellName().MatchString(list[i])
		}
		return strings.ContainsAny(list[i], "<>|&") && shellSign().MatchString(list[i]) &&
			(list[i] != "|" || !strings.HasPrefix(list[i-1], "-"))
	}
	first := 0
	for i := range list {
		if isSign(i) {
			first = i
			break
		}
	}
	if first == 0 || slices.Contains([]string{"test", "[", "expr"}, filepath.Base(list[0])) {
		return
	}
	words := slices.Clone(list)
	for i, word := range words {
		if !isSign(i) && !plainWord().MatchString(word) {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	r.Warnf(n.Items()[first], "write one text: "+yamldoc.Shorten(strings.Join(words, " ")),
		"%s: the program gets %q as an argument, because no shell reads a list", r.Key, list[first])
}

// readArguments reads a list of a program and its arguments, which may be empty texts.
func readArguments(r *reader, n *node) ([]string, bool) {
	if !r.RefuseEmptyList(n, "") {
		return nil, false
	}
	items := n.Items()
	list := make([]string, 0, len(items))
	for i, item := range items {
		read := r.Text
		if i == 0 {
			read = r.NonEmptyText
		}
		text, ok := read(item)
		if !ok {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

// readShell reads a shell with its options, such as [/bin/bash, -c]; the line of a command follows.
func readShell(r *reader, n *node) ([]string, bool) {
	hint := ""
	if words := strings.Fields(n.Value); len(words) > 0 {
		if words[len(words)-1] != "-c" {
			words = append(words, "-c")
		}
		hint = "write [" + yamldoc.Shorten(strings.Join(words, ", ")) + "]"
	}
	if !r.RequireList(n, hint) {
		return nil, false
	}
	return readArguments(r, n)
}

// requireNames refuses a value that is no mapping from names. The hint has `{NAME: value}`, with
// the given word for the value.
func requireNames(r *reader, n *node, value string) bool {
	pair := "NAME: " + value
	return r.RequireMapping(n, r.Key, "write {"+pair+"}, or a line `"+pair+"` for each, without \"-\"")
}

// readVariables reads a mapping of variables, and returns them together with the inherited ones.
func readVariables(r *reader, n *node, inherited map[string]string) map[string]string {
	if !requireNames(r, n, "value") {
		return inherited
	}
	all := make(map[string]string, len(inherited)+8)
	maps.Copy(all, inherited)
	above := r.Key
	for name, value := range yamldoc.NamedPairs(r, n) {
		if name.Value == "" || len(name.Value) > 256 || strings.ContainsAny(name.Value, "=\x00") {
			r.Problemf(name, "", "%s: %s cannot name a variable", above, yamldoc.Quote(name.Value))
			continue
		}
		r.Key = above + "." + yamldoc.Shorten(name.Value) // until Table.Decode sets the next key
		r.RecordOrigin(name, value)
		if text, ok := readVariable(r, value); ok {
			all[name.Value] = text
		}
	}
	return all
}

// readVariable reads the value of one variable. The value must not take in a file, because env is
// part of each run's snapshot.
func readVariable(r *reader, n *node) (string, bool) {
	if n.IsNull() {
		return "", r.RequireValue(n, `write "" for an empty one`)
	}
	if yamldoc.TakesIn(n.Value, "file") {
		r.Problemf(n, "put the variable into a file for `env_file`, or let the command read this one",
			"%s: what is in env is written down with every run, which is no place for the text of a file", r.Key)
		return "", false
	}
	return r.Expanded(n)
}

// readEnvFile reads the path of a file of variables.
func readEnvFile(r *reader, n *node) (string, bool) {
	if !r.RefuseBool(n, "write false for none") {
		return "", false
	}
	return r.Path(n)
}

// readAccount reads the name or the number of a user or a group.
func readAccount(r *reader, n *node) (string, bool) {
	text, ok := r.NonEmptyExpanded(n)
	if !ok {
		return "", false
	}
	if user, group, both := strings.Cut(text, ":"); both && r.Key == "user" && user != "" && group != "" {
		r.Problemf(n, "write user: "+yamldoc.Shorten(user)+" and group: "+yamldoc.Shorten(group),
			"user %s names a group, too", yamldoc.Quote(text))
		return "", false
	}
	if strings.ContainsAny(text, ": \t\r\n/,") {
		r.Problemf(n, "write a name as in /etc/passwd or /etc/group, or a number",
			"%s %s cannot be a name", r.Key, yamldoc.Quote(text))
		return "", false
	}
	return text, true
}

// readUmask reads an octal umask. It needs the leading zero: YAML takes 27 for decimal, shells do
// not.
func readUmask(r *reader, n *node) (*int, bool) {
	text, ok := r.Text(n)
	if !ok {
		return nil, false
	}
	digits, marked := strings.CutPrefix(text, "0o")
	if !marked {
		digits, marked = strings.CutPrefix(text, "0")
	}
	mask, err := strconv.ParseUint("0"+digits, 8, 32)
	switch {
	case err != nil || strings.Contains(digits, "_") || digits == "" && text != "0":
		r.Problemf(n, "write it in octal, as 027", "umask %s is not an octal number", yamldoc.Quote(text))
	case !marked:
		r.Problemf(n, "write 0"+yamldoc.Shorten(text), "umask %s may be octal or decimal", yamldoc.Shorten(text))
	case mask > 0o777:
		r.Problemf(n, "", "umask %s is more than 0777", yamldoc.Shorten(text))
	default:
		value := int(mask)
		return &value, true
	}
	return nil, false
}

// readNice reads a priority as getpriority(2) counts.
func readNice(r *reader, n *node) (*int, bool) {
	nice, ok := r.Integer(n, -20, 19)
	return &nice, ok
}

// setParams adds params to the inherited params. A param replaces an inherited param of its name.
func setParams(l *loader, t *taskDraft, n *node) {
	if n.IsFalse() {
		l.Origins.ForgetBelow(l.Key)
		t.Params = nil
		return
	}
	if !requireNames(l.Reader, n, "default") {
		return
	}
	t.Params = slices.Clone(t.Params)
	for name, value := range yamldoc.NamedPairs(l.Reader, n) {
		if problem, hint := refuseParam(name.Value); problem != "" {
			l.Problemf(name, hint, "params: %s %s", yamldoc.Quote(name.Value), problem)
			continue
		}
		l.Key = "params." + yamldoc.Shorten(name.Value)
		l.RecordOrigin(name, value)
		p, ok := readParam(l, name.Value, value)
		if !ok {
			continue
		}
		hasName := func(inherited schedule.Param) bool { return inherited.Name == p.Name }
		if i := slices.IndexFunc(t.Params, hasName); i >= 0 {
			t.Params[i] = p
		} else {
			t.Params = append(t.Params, p)
		}
	}
}

// refuseParam returns why a name cannot be the name of a param, with a hint; "" if it can.
func refuseParam(name string) (problem, hint string) {
	switch {
	case !yamldoc.IsVariable(name) || len(name) > 256:
		return "cannot name a param", "use letters, digits and _, and begin with a letter or _"
	case strings.HasPrefix(name, "SCHED_"):
		return "is a variable that sched sets itself", "choose another name"
	case name == "PATH" || name == "BASH_ENV" || strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_"):
		return "cannot be a param: it decides which programs run", "choose another name"
	}
	return "", ""
}

// readParam reads a default, or a mapping of paramKeys.
func readParam(l *loader, name string, n *node) (schedule.Param, bool) {
	p := schedule.Param{Name: name, Values: []string{}}
	before := l.ProblemCount()
	switch {
	case n.IsNull():
		l.Problemf(n, `write "" for an empty default, or {} for none`, "%s has no value", l.Key)
	case n.IsMapping():
		paramKeys.Decode(l, &p, n, 0)
	default:
		setDefault(l, &p, n)
	}
	return p, l.ProblemCount() == before && checkParam(l, p, n)
}

// checkParam refuses values and a default that the param itself would refuse.
func checkParam(l *loader, p schedule.Param, n *node) bool {
	if len(p.Values) > 0 && p.Pattern != "" {
		l.Problemf(n.Lookup("pattern"), "keep one of the two", "%s has values and a pattern", l.Key)
		return false
	}
	for _, value := range p.Values {
		if problem := p.Refuses(value); problem != "" {
			l.Problemf(n.Lookup("values"), "", "%s.values: %s", l.Key, problem)
			return false
		}
	}
	if p.Default == nil {
		return true
	}
	problem := p.Refuses(*p.Default)
	if problem != "" {
		l.Problemf(firstOf(n, "default"), "the default must be a value that people may set, too",
			"the default of %s: %s", l.Key, problem)
	}
	return problem == ""
}

// setDefault reads the default of a param. The default is not expanded, because everybody who may
// look sees it.
func setDefault(l *loader, p *schedule.Param, n *node) {
	text, ok := l.Text(n)
	if ok && strings.Contains(text, "${") {
		l.Problemf(n, "write a plain text, and let the command find the rest",
			"%s: ${…} is not expanded in a param", l.Key)
		return
	}
	if ok {
		p.Default = &text
	}
}

// Bounds of a pattern, which each tick reads anew: its bytes, and the steps of the program that
// package regexp makes of it.
const (
	maxPattern      = 500
	maxPatternSteps = 5000
)

// isLarge reports whether an expression becomes a program of more than maxPatternSteps steps.
func isLarge(parsed *syntax.Regexp) bool {
	program, err := syntax.Compile(parsed.Simplify())
	return err == nil && len(program.Inst) > maxPatternSteps
}

// readPattern reads a regular expression.
func readPattern(r *reader, n *node) (string, bool) {
	text, ok := r.NonEmptyText(n)
	if !ok {
		return "", false
	}
	if len(text) > maxPattern {
		r.Problemf(n, "look at the value in the command", "%s is longer than %d bytes", r.Key, maxPattern)
		return "", false
	}
	if parsed, err := syntax.Parse(text, syntax.Perl); err == nil && isLarge(parsed) {
		r.Problemf(n, "repeat less, or look at the value in the command",
			"%s %s would take each tick too long to read", r.Key, yamldoc.Quote(text))
		return "", false
	}
	if _, err := regexp.Compile(text); err != nil {
		reason := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		r.Problemf(n, "write it in the syntax of RE2",
			"%s %s is no regular expression: %s", r.Key, yamldoc.Quote(text), reason)
		return "", false
	}
	return text, true
}

// settleParams puts the defaults of the params into the environment of a task, where they win over
// inherited variables and over env_file.
func settleParams(l *loader, n *node, t *taskDraft) {
	if len(t.Params) == 0 {
		return
	}
	t.Env = maps.Clone(t.Env)
	if t.Env == nil {
		t.Env = map[string]string{}
	}
	for _, p := range t.Params {
		at := paramIn(n, p.Name)
		t.EnvOverrides = append(slices.Clip(t.EnvOverrides), p.Name)
		delete(t.Env, p.Name)
		if p.Default != nil {
			t.Env[p.Name] = *p.Default
		} else if t.timing.isSet() && !t.When.IsByHand() && !t.GivesValue(p.Name) {
			hint := "give it a default, or take the time of the task away"
			if len(t.TimeValues) > 0 {
				hint = "give it a default, or a value in each entry of schedule"
			}
			l.Problemf(at, hint,
				"params.%s has no default, and the task has a time: nobody gives it a value then", p.Name)
		}
		if slices.Contains(t.ownEnv, p.Name) {
			l.Problemf(at, "keep one of the two", "%s is in env and in params", p.Name)
		}
	}
}

// paramIn returns the value of a param in a task, else the params of the task, else the task.
func paramIn(task *node, name string) *node {
	params := task.Lookup("params")
	if params == nil {
		return task
	}
	return firstOf(params, name)
}

var paramKeys = keys[schedule.Param]{Rows: func() []key[schedule.Param] {
	return []key[schedule.Param]{
		row("default", by(setDefault),
			"the value of a run for which nobody sets one",
			is{Of: "plain", Without: "each run must be given a value", Example: "yesterday"}),
		row("values", replaces(func(p *schedule.Param) *[]string { return &p.Values }, someOf("", (*reader).Text)),
			"the values that it may have", is{Of: "values", Without: "any", Example: "[yesterday, today]"}),
		row("pattern", replaces(func(p *schedule.Param) *string { return &p.Pattern }, readPattern),
			"a regular expression that the whole value must match",
			is{Of: "filled", Without: "any text of one line", Example: `'\d{4}-\d{2}-\d{2}'`}),
	}
}}

// showShell and the functions after it show values that do not stand in one field as the file has
// them.
func showShell(t *taskDraft) any {
	if t.Command.Shell == nil {
		return nil
	}
	return schedule.Command{List: t.Command.Shell}
}

// showUmask is in octal, with the zero that the file has, too.
func showUmask(t *taskDraft) any {
	if t.As.Umask == nil {
		return nil
	}
	return fmt.Sprintf("0%02o", *t.As.Umask)
}

func showConditionCommand(key string) func(*taskDraft) any {
	return func(t *taskDraft) any {
		for _, c := range t.ConditionCommands {
			if c.Key == key {
				return c.Command
			}
		}
		return nil
	}
}
