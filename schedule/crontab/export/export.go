// Package export writes a schedule as a crontab.
package export

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/crontab"
	"sched/schedule/crontab/proof"
	"sched/schedule/crontab/vixie"
	"sched/schedule/humanize"
)

// An Exported is a schedule as a crontab.
type Exported struct {
	Text string
	Notes
}

// Notes say what is different in the crontab.
type Notes struct {
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
	e := &exporter{
		zone:     zone,
		user:     user,
		home:     home,
		settings: settings,
		isSystem: slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return t.As.User != "" }),
		common:   commonVariables(s.Tasks),
		written:  crontab.Variables{"SHELL": crontab.DefaultShell, "CRON_TZ": zone},
	}
	file := path.Base(s.File)
	e.writeHead(file)
	var notes Notes
	if len(s.Store.Servers) > 0 {
		notes.Omitted = append(notes.Omitted, schedule.Problem{
			Place: schedule.Place{File: file},
			Text:  "store: a crontab is for one machine",
		})
	}
	for _, t := range s.Tasks {
		j := e.jobOf(t)
		notes.Omitted = append(notes.Omitted, j.notes.Omitted...)
		notes.Warnings = append(notes.Warnings, j.notes.Warnings...)
		notes.AsComments = append(notes.AsComments, j.notes.AsComments...)
		if j.isStartable() {
			e.write(j, s.Active(t))
		}
	}
	return &Exported{Text: e.text.String(), Notes: notes}
}

// An exporter writes a crontab.
type exporter struct {
	text     strings.Builder
	zone     string
	user     string // of tasks that name none
	home     func(user string) (string, bool)
	settings func(*schedule.Task) []schedule.Setting
	isSystem bool              // lines have a user
	common   crontab.Variables // all tasks have them: they stand above all lines
	written  crontab.Variables // the settings at the end of the text
}

// writeHead writes the comment at the top, and the common variables: below that a crontab cannot
// take a variable away.
func (e *exporter) writeHead(file string) {
	if e.isSystem {
		fmt.Fprintln(&e.text, "# sched: system")
	}
	fmt.Fprintf(&e.text, "# Exported from %s by `sched export`. Comments `# sched:` are for sched alone.\n\n", file)
	for _, name := range e.common.Names() {
		e.writeSetting(name, e.common[name])
	}
}

// write writes a job: the settings that its lines need, its comment, and a line for each of its
// times. The lines of a task that is not active are commented out.
func (e *exporter) write(j *job, isActive bool) {
	e.text.WriteByte('\n')
	e.writeSetting("SHELL", j.shell)
	e.writeSetting("CRON_TZ", j.task.When.Location.String())
	e.writeSetting("MAILTO", strings.Join(j.mailTo, ","))
	fmt.Fprintln(&e.text, "# sched:"+j.keys)
	if j.comment != "" {
		fmt.Fprintln(&e.text, "# "+j.comment)
	}
	for _, times := range j.times {
		line := times + " "
		if e.isSystem {
			line += j.user + " "
		}
		if !isActive {
			line = "#" + line
		}
		fmt.Fprintln(&e.text, line+j.command)
	}
}

// writeSetting writes a setting, unless the lines above say it already.
func (e *exporter) writeSetting(name, value string) {
	if above, ok := e.written[name]; ok && above == value {
		return
	}
	e.written[name] = value
	if value == "" || strings.TrimSpace(value) != value || strings.HasPrefix(value, "'") {
		value = `"` + value + `"`
	}
	fmt.Fprintf(&e.text, "%s=%s\n", name, value)
}

// commonVariables returns the variables that all tasks have with the same value, as far as a
// crontab can have them. Cron itself reads SHELL, MAILTO and CRON_TZ: these are settings of a task.
func commonVariables(tasks []*schedule.Task) crontab.Variables {
	common := crontab.Variables{}
	if len(tasks) == 0 {
		return common
	}
	for name, value := range tasks[0].Env {
		differs := func(t *schedule.Task) bool {
			own, has := t.Env[name]
			return !has || own != value || isExpanded(t, name)
		}
		isWritable := crontab.VariableName().MatchString(name) && !strings.ContainsAny(value, "\n\r\"")
		isCrons := name == "SHELL" || name == "MAILTO" || name == "CRON_TZ"
		if isWritable && !isCrons && !slices.ContainsFunc(tasks, differs) {
			common[name] = value
		}
	}
	return common
}

// isExpanded reports whether the value of a variable comes from elsewhere: it may be a secret.
func isExpanded(t *schedule.Task, name string) bool {
	return strings.Contains(strings.ReplaceAll(t.Origins["env."+name].Text, "$${", ""), "${")
}

// A job is a task as lines of a crontab.
type job struct {
	task    *schedule.Task
	user    string
	times   []string // a line has one of them
	shell   string
	mailTo  []string
	keys    string // of the comment for sched
	comment string // the description, if it is read as one
	command string // as splitAtPercent reads it; "" if no line can have it
	notes   Notes
}

// jobOf makes a job of a task. It writes nothing. If cron cannot start the task, the job is not
// startable, and its notes only say why.
func (e *exporter) jobOf(t *schedule.Task) *job {
	j := &job{task: t, user: cmp.Or(t.As.User, e.user), shell: crontab.DefaultShell}
	if len(t.Command.List) == 0 && hasPosixShell(t.Command) {
		j.shell = t.Command.Shell[0]
	}
	j.setTimes()
	j.setMailTo()
	e.setCommand(j)
	if !j.isStartable() {
		return j
	}
	if len(j.times) > 1 {
		j.warn("name", "give each a name in its comment",
			"it has several times, and so several lines: sched takes each for a task of its own")
	}
	if t.When.Location.String() != e.zone {
		j.warn("timezone", "write the times in the zone of the machine for them",
			"its zone is a CRON_TZ, which cronie alone knows: other crons start it in the zone of the machine")
	}
	j.omitHooks()
	j.setKeys(e.settings(t))
	return j
}

func (j *job) isStartable() bool { return len(j.times) > 0 && j.command != "" }

func (j *job) omit(key, hint, format string, args ...any) {
	j.notes.Omitted = append(j.notes.Omitted, j.task.Problem(key, hint, format, args...))
}

func (j *job) warn(key, hint, text string) {
	j.notes.Warnings = append(j.notes.Warnings, j.task.Problem(key, hint, "%s", text))
}

// setTimes sets the times of the task that cron knows.
func (j *job) setTimes() {
	if len(j.task.TimeValues) > 0 {
		j.omit("schedule", "", "cron gives params no values")
		return
	}
	for _, when := range j.task.When.Texts() {
		switch inCron, ok := CronTimes(when, j.task.When.Location); {
		case !ok:
			j.omit("cron", "", "cron does not know the times %q", when)
		default:
			j.times = append(j.times, inCron)
		}
	}
}

// CronTimes returns times as Debian's cron knows them. ok is false if it does not know them, also
// in other words.
func CronTimes(when string, zone *time.Location) (inCron string, ok bool) {
	if _, err := vixie.Parse(when); (err == nil || when == "@reboot") && !crontab.EndsOnSunday().MatchString(when) {
		return when, true
	}
	inCron = inCronWords(when)
	times, notVixie := vixie.Parse(inCron)
	expression, err := cron.Parse(when, "")
	if notVixie != nil || err != nil {
		return "", false
	}
	due := cron.When{Crons: []cron.Expression{expression}, Location: zone}
	to := compareFrom.AddDate(proof.Years, 0, 0)
	return inCron, proof.Compare(times, vixie.NewCalendar(zone, compareFrom, to), due.Forward, compareFrom, to) == nil
}

// compareFrom is when comparisons begin. Any year does: the calendar repeats after proof.Years.
var compareFrom = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// inCronWords writes ? as *, FRI-SUN and 5-0 as FRI-7 and 5-7, and 5/15 as 5-59/15. Each of five
// fields can be so.
func inCronWords(when string) string {
	tops := []string{"59", "23", "31", "12", "6"}
	words := strings.Fields(when)
	if len(words) != len(tops) {
		return when
	}
	for i, word := range words {
		parts := strings.Split(word, ",")
		for k, part := range parts {
			span, step, isStepped := strings.Cut(part, "/")
			first, last, isRange := strings.Cut(span, "-")
			switch isSunday := last == "0" || strings.EqualFold(last, "SUN"); {
			case part == "?":
				parts[k] = "*"
			case i == 4 && isRange && isSunday:
				parts[k] = strings.Replace(part, span, first+"-7", 1)
			case isStepped && !isRange && span != "*":
				parts[k] = first + "-" + tops[i] + "/" + step
			}
		}
		words[i] = strings.Join(parts, ",")
	}
	return strings.Join(words, " ")
}

var (
	plainWord   = humanize.Pattern(`^[A-Za-z0-9_./:@+,-]+$`)
	shellName   = humanize.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`) // a variable that a shell can set
	backslashes = humanize.Pattern(`\\{2,}|\\?%|\\$`)          // what splitAtPercent would change: it needs a \
)

// setCommand sets the command, with the folder and the variables of the task in front.
func (e *exporter) setCommand(j *job) {
	line, input := strings.TrimRight(j.task.Command.Line, "\n"), ""
	switch c := j.task.Command; {
	case len(c.List) > 0:
		line = quoteWords(c.List...)
	case !hasPosixShell(c):
		line = quoteWords(append(slices.Clone(c.Shell), line)...)
	}
	if found := crontab.HereDocument().FindStringSubmatch(line); found != nil {
		escaped := strings.ReplaceAll(strings.TrimSuffix(found[3], "\n"), "%", `\%`)
		line, input = found[1], "%"+strings.ReplaceAll(escaped, "\n", "%")
	}
	line = e.folderCommand(j) + e.exportCommands(j) + line
	if strings.Contains(line, "\n") {
		j.omit("command", "put it into a script, and call that", "its command has several lines, and a crontab has one")
		return
	}
	j.command = backslashes().ReplaceAllStringFunc(line, func(found string) string {
		return strings.ReplaceAll(strings.ReplaceAll(found, `\`, `\\`), "%", `\%`)
	}) + input
}

// hasPosixShell reports whether cron can give the command to the shell of the task (SHELL).
func hasPosixShell(c schedule.Command) bool {
	return len(c.Shell) == 2 && c.Shell[1] == "-c" && crontab.PosixShell().MatchString(path.Base(c.Shell[0]))
}

// folderCommand returns the command that goes to the folder of the task, or "" if cron starts
// there.
func (e *exporter) folderCommand(j *job) string {
	home, ok := e.common["HOME"]
	if !ok {
		home, ok = e.home(j.user)
	}
	if ok && home == j.task.Dir {
		return ""
	}
	return "cd " + quoteWords(j.task.Dir) + " || exit; "
}

// exportCommands returns the commands that set the variables of the task that no setting sets.
func (e *exporter) exportCommands(j *job) (commands string) {
	for _, name := range slices.Sorted(maps.Keys(j.task.Env)) {
		value := j.task.Env[name]
		shared, isCommon := e.common[name]
		switch {
		case isCommon && shared == value, name == "SHELL" && value == j.shell,
			name == "MAILTO" && value == strings.Join(j.mailTo, ","),
			name == "CRON_TZ" && value == j.task.When.Location.String(): // a setting has it
		case isExpanded(j.task, name):
			j.omit("env."+name, "set it in the command",
				"%s comes from a variable, which a crontab does not expand", name)
		case !shellName().MatchString(name):
			j.omit("env."+name, "give it a name of letters, digits and _",
				"no shell can set a variable with the name %q", name)
		default:
			commands += "export " + name + "=" + quoteWords(value) + "; "
		}
	}
	return commands
}

// quoteWords writes words for a shell. humanize.ShellWord leaves "=" as it is, which would make an
// assignment of the first word.
func quoteWords(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if !plainWord().MatchString(word) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// mailsOutput reports whether cron can do what a hook does: it mails all output.
func mailsOutput(key string, hook schedule.Hook) bool {
	n := hook.Notify
	return key == "after" && n != nil && len(n.Mail) > 0 && n.When == "output" && n.AtMost.N == 0
}

// omitHooks omits the hooks that cron does not have.
func (j *job) omitHooks() {
	for key, hook := range j.task.Hooks.All() {
		if !mailsOutput(key, hook) {
			j.omit(key, "", "%s: cron has no hooks", key)
		}
	}
}

// setMailTo sets to whom cron mails what the task prints.
func (j *job) setMailTo() {
	for key, hook := range j.task.Hooks.All() {
		if !mailsOutput(key, hook) {
			continue
		}
		for _, address := range hook.Notify.Mail {
			if !slices.Contains(j.mailTo, address) {
				j.mailTo = append(j.mailTo, address)
			}
		}
	}
}

// lineKeys are the keys that the line itself says, or that are omitted in a way of their own.
const lineKeys = "cron every timezone command shell dir description enabled user background " +
	"before after on_success on_warning on_failure on_recovery on_skip on_overdue"

// setKeys sets the keys of the comment. A setting that keeps the task from starting is omitted:
// cron starts it all the same.
func (j *job) setKeys(settings []schedule.Setting) {
	j.keys = " name=" + j.task.Name
	if text := strings.Join(strings.Fields(j.task.Description), " "); isDescription(text) {
		j.comment = text
	} else if text != "" {
		j.keys += " description=" + strconv.Quote(text)
	}
	var asComments []string
	for _, setting := range settings {
		if !setting.IsSet || setting.Value == nil || slices.Contains(strings.Fields(lineKeys), setting.Key) ||
			strings.HasPrefix(setting.Key, "env.") {
			continue
		}
		value, ok := commentValue(setting.Value)
		limitsStarts := slices.Contains([]string{"pool", "days", "except"}, setting.Key) ||
			strings.HasSuffix(setting.Key, "between")
		if !ok || limitsStarts {
			j.omit(setting.Key, "", "%s: cron has no such key", setting.Key)
			continue
		}
		j.keys += " " + setting.Key + "=" + value
		asComments = append(asComments, setting.Key)
	}
	if !j.task.Background {
		j.keys += " background=false"
		asComments = append(asComments, "background: false")
	}
	if len(asComments) > 0 {
		j.notes.AsComments = append(j.notes.AsComments, schedule.Problem{
			Place: j.task.Place,
			Task:  j.task.Name,
			Text:  strings.Join(asComments, ", ") + ": for sched alone, in a comment",
		})
	}
}

// isDescription reports whether a comment above a line is read as this description: not as keys,
// not as a line that is commented out, and not as a heading.
func isDescription(text string) bool {
	table := crontab.Parse(crontab.Source{Text: "# " + text + "\n@daily x\n"})
	if len(table.Entries) != 1 || len(table.Findings) > 0 {
		return false
	}
	description, _ := crontab.Describe(table.Entries[0])
	return description == text
}

// commentValue writes a value for a comment; false for a value that a comment cannot have.
func commentValue(value any) (string, bool) {
	word := func(text string) string {
		if plainWord().MatchString(text) && !crontab.OtherType().MatchString(text) {
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
