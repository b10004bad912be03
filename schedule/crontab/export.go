package crontab

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/crontab/vixie"
	"sched/schedule/humanize"
)

// An Exported is a schedule as a crontab.
type Exported struct {
	Text       string
	Omitted    []schedule.Problem // what is not in the crontab
	Warnings   []schedule.Problem // what is in it, and is read in another way by other crons or by sched
	AsComments []schedule.Problem // what stands in comments, which sched reads and cron does not
}

// Export writes the tasks of a schedule that was loaded with its origins as a crontab. zone and
// user are cron's, home is the folder in which cron starts the commands of a user, and settings are
// the keys of a task (load.Settings).
func Export(
	s *schedule.Schedule, zone, user string,
	home func(user string) (string, bool), settings func(*schedule.Task) []schedule.Setting,
) *Exported {
	e := &exporter{zone: zone, home: home, settings: settings,
		current: map[string]string{"MAILTO": "\x00", "SHELL": "/bin/sh", "CRON_TZ": zone}}
	if e.system = slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return t.As.User != "" }); e.system {
		fmt.Fprintln(&e.text, "# sched: system")
	}
	fmt.Fprintf(&e.text, "# Exported from %s by `sched export`. Comments `# sched:` are for sched alone.\n\n",
		path.Base(s.File))
	if len(s.Store.Servers) > 0 {
		e.Omitted = append(e.Omitted, schedule.Problem{
			Place: schedule.Place{File: path.Base(s.File)},
			Text:  "store: a crontab is for one machine",
		})
	}
	e.common(s)
	for _, t := range s.Tasks {
		e.task = t
		e.user = user
		if t.As.User != "" {
			e.user = t.As.User
		}
		e.write(s.Active(t))
	}
	e.Text = e.text.String()
	return &e.Exported
}

type exporter struct {
	Exported
	text     strings.Builder
	system   bool // lines have a user
	zone     string
	home     func(user string) (string, bool)
	settings func(*schedule.Task) []schedule.Setting
	current  map[string]string // the settings so far
	task     *schedule.Task
	user     string
}

func (e *exporter) omit(key, hint, format string, args ...any) {
	e.Omitted = append(e.Omitted, e.task.Problem(key, hint, format, args...))
}

func (e *exporter) warn(key, hint, format string, args ...any) {
	e.Warnings = append(e.Warnings, e.task.Problem(key, hint, format, args...))
}

// common writes the variables that all tasks have to the top. A crontab cannot take a variable away
// below that.
func (e *exporter) common(s *schedule.Schedule) {
	if len(s.Tasks) == 0 {
		return
	}
	for _, name := range Variables(s.Tasks[0].Env).names() {
		value := s.Tasks[0].Env[name]
		differs := func(t *schedule.Task) bool {
			current, has := t.Env[name]
			return !has || current != value || e.isExpanded(t, name)
		}
		isWritable := variableName().MatchString(name) && !strings.ContainsAny(value, "\n\r\"")
		if name != "SHELL" && isWritable && !slices.ContainsFunc(s.Tasks, differs) {
			e.set(name, value)
		}
	}
}

// isExpanded reports whether the value of a variable comes from elsewhere: it may be a secret.
func (e *exporter) isExpanded(t *schedule.Task, name string) bool {
	return strings.Contains(strings.ReplaceAll(t.Origins["env."+name].Text, "$${", ""), "${")
}

func (e *exporter) set(name, value string) {
	if current, ok := e.current[name]; ok && current == value {
		return
	}
	e.current[name] = value
	if value == "" || strings.TrimSpace(value) != value || strings.HasPrefix(value, "'") {
		value = `"` + value + `"`
	}
	fmt.Fprintf(&e.text, "%s=%s\n", name, value)
}

// write writes a task: the settings that its lines need, its comment, and a line for each of its
// times.
func (e *exporter) write(active bool) {
	whens := e.times()
	command, ok := e.command()
	if len(whens) == 0 || !ok {
		return
	}
	if len(whens) > 1 {
		e.warn("name", "give each a name in its comment",
			"it has several times, and so several lines: sched takes each for a task of its own")
	}
	e.text.WriteByte('\n')
	zone := e.task.When.Location.String()
	e.set("CRON_TZ", zone)
	if zone != e.zone {
		e.warn("timezone", "write the times in the zone of the machine for them",
			"its zone is a CRON_TZ, which cronie alone knows: other crons start it in the zone of the machine")
	}
	e.set("MAILTO", strings.Join(e.mail(), ","))
	fmt.Fprintln(&e.text, "# sched:"+e.keys())
	if e.task.Description != "" {
		fmt.Fprintln(&e.text, "# "+strings.Join(strings.Fields(e.task.Description), " "))
	}
	for _, when := range whens {
		if !active {
			e.text.WriteByte('#')
		}
		e.text.WriteString(when + " ")
		if e.system {
			e.text.WriteString(e.user + " ")
		}
		e.text.WriteString(command + "\n")
	}
}

// times returns the times of the task that cron knows.
func (e *exporter) times() (whens []string) {
	for _, when := range e.task.When.Texts() {
		if _, err := vixie.Parse(when); (err == nil || when == "@reboot") && !backwards().MatchString(when) {
			whens = append(whens, when)
			continue
		}
		e.omit("cron", "", "cron does not know the times %q", when)
	}
	return whens
}

// mail returns to whom cron mails what the task prints. All other hooks are omitted.
func (e *exporter) mail() (to []string) {
	for key, hook := range e.task.Hooks.All() {
		n := hook.Notify
		if key == "after" && n != nil && len(n.Mail) > 0 && n.When == "output" && n.AtMost.N == 0 && to == nil {
			to = n.Mail
			continue
		}
		e.omit(key, "", "%s: cron has no hooks", key)
	}
	return to
}

var (
	hereDocument = humanize.Pattern(`(?s)^\{\n([^\n]*)\n\} <<'(INPUT_*)'\n(.*)INPUT_*$`)
	plainWord    = humanize.Pattern(`^[A-Za-z0-9_./:@+,-]+$`)
	backslashes  = humanize.Pattern(`\\{2,}|\\?%|\\$`)
)

// command returns the command as percent reads it, with the folder and the variables of the task in
// front. It sets the shell for it.
func (e *exporter) command() (string, bool) {
	line, input := e.task.Command.Line, ""
	switch c := e.task.Command; {
	case len(c.List) > 0:
		line = shellWords(c.List)
	case !e.hasPosixShell():
		line = shellWords(append(slices.Clone(c.Shell), line))
	}
	if found := hereDocument().FindStringSubmatch(line); found != nil {
		escaped := strings.ReplaceAll(strings.TrimSuffix(found[3], "\n"), "%", `\%`)
		line, input = found[1], "%"+strings.ReplaceAll(escaped, "\n", "%")
	}
	line = e.changeFolder() + e.exports() + line
	if strings.Contains(line, "\n") {
		e.omit("command", "put it into a script, and call that", "its command has several lines, and a crontab has one")
		return "", false
	}
	e.set("SHELL", e.shell())
	return backslashes().ReplaceAllStringFunc(line, func(found string) string {
		return strings.ReplaceAll(strings.ReplaceAll(found, `\`, `\\`), "%", `\%`)
	}) + input, true
}

// hasPosixShell reports whether cron can give the command to the shell of the task (SHELL).
func (e *exporter) hasPosixShell() bool {
	shell := e.task.Command.Shell
	return len(shell) == 2 && shell[1] == "-c" && posixShell().MatchString(path.Base(shell[0]))
}

// shell returns the shell to which cron gives the command.
func (e *exporter) shell() string {
	if len(e.task.Command.List) == 0 && e.hasPosixShell() {
		return e.task.Command.Shell[0]
	}
	return "/bin/sh"
}

// exports returns the commands that set the variables of the task, as far as no setting above does.
func (e *exporter) exports() (commands string) {
	for _, name := range slices.Sorted(maps.Keys(e.task.Env)) {
		value := e.task.Env[name]
		switch current, ok := e.current[name]; {
		case ok && current == value || name == "SHELL" && value == e.shell():
		case e.isExpanded(e.task, name):
			e.omit("env."+name, "set it in the command",
				"%s comes from a variable, which a crontab does not expand", name)
		default:
			commands += "export " + name + "=" + shellWords([]string{value}) + "; "
		}
	}
	return commands
}

// changeFolder returns the command that goes to the folder of the task, or "" if cron starts there.
func (e *exporter) changeFolder() string {
	home, ok := e.current["HOME"]
	if !ok {
		home, ok = e.home(e.user)
	}
	if ok && home == e.task.Dir {
		return ""
	}
	return "cd " + shellWords([]string{e.task.Dir}) + " || exit; "
}

func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		if quoted[i] = word; !plainWord().MatchString(word) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// said are the keys that the line itself says, or that are omitted in a way of their own.
var said = set("cron every timezone command shell dir description enabled user background before after " +
	"on_success on_warning on_failure on_recovery on_skip on_overdue")

func (e *exporter) keys() string {
	keys := " name=" + e.task.Name
	var asComments []string
	for _, setting := range e.settings(e.task) {
		if !setting.IsSet || said[setting.Key] || strings.HasPrefix(setting.Key, "env.") || setting.Value == nil {
			continue
		}
		value, ok := commentValue(setting.Value)
		isOmitted := slices.Contains([]string{"pool", "days", "except"}, setting.Key) ||
			strings.HasSuffix(setting.Key, "between")
		if !ok || isOmitted {
			e.omit(setting.Key, "", "%s: cron has no such key", setting.Key)
			continue
		}
		keys += " " + setting.Key + "=" + value
		asComments = append(asComments, setting.Key)
	}
	if !e.task.Background {
		keys += " background=false"
		asComments = append(asComments, "background: false")
	}
	if len(asComments) > 0 {
		e.AsComments = append(e.AsComments, schedule.Problem{
			Place: e.task.Place,
			Task:  e.task.Name,
			Text:  strings.Join(asComments, ", ") + ": for sched alone, in a comment",
		})
	}
	return keys
}

func commentValue(value any) (string, bool) {
	word := func(text string) string {
		if plainWord().MatchString(text) && !looks().MatchString(text) {
			return text
		}
		return strconv.Quote(text)
	}
	switch v := value.(type) {
	case bool, int, float64, schedule.Word:
		return fmt.Sprint(v), true
	case time.Duration:
		return humanize.Setting(v), true
	case string:
		return word(v), true
	case []int:
		return strings.ReplaceAll(fmt.Sprint(v), " ", ","), true
	case []string:
		words := make([]string, len(v))
		for i := range v {
			words[i] = strconv.Quote(v[i])
		}
		return "[" + strings.Join(words, ", ") + "]", true
	case schedule.Command:
		return strconv.Quote(v.Line), len(v.List) == 0
	}
	return "", false
}
