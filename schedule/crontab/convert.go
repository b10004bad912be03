package crontab

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sched/schedule/cron"
	"sched/schedule/crontab/vixie"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// Options are how crontabs become tasks.
type Options struct {
	// StateDir is the folder in which the schedule keeps its runs. If it is empty, the schedule
	// does not say it.
	StateDir string

	Tidy bool // turn flock, timeout, chronic, redirections and cd into keys

	// Home finds the home folder of a user of a system crontab. Nil knows none.
	Home func(user string) (dir string, ok bool)

	// Zone is the zone of the machine, in which its cron takes times. The schedule says it if a
	// crontab sets TZ: to cron that is a variable of the jobs, but a `sched run` below it would
	// take the times to be in that zone. It does not say a zone without a name ("", Local).
	Zone string
}

// Convert makes a task of each entry. It omits an entry that cannot be a task, with a Finding.
func Convert(tables []*Table, o Options) *Schedule {
	c := &converter{Options: o, schedule: &Schedule{}, names: usedNames{map[string]int{}, map[string]bool{}}}
	for _, table := range tables {
		c.table = table
		c.schedule.Findings = append(c.schedule.Findings, table.Findings...)
		c.schedule.Secret = c.schedule.Secret || table.Secret
		for _, k := range table.Keys {
			if k.Name != systemKey {
				c.schedule.Keys = append(c.schedule.Keys, k)
			}
		}
		for _, e := range table.Entries {
			c.entry = e
			c.convert()
		}
	}
	if o.StateDir != "" {
		isStateDir := func(k Key) bool { return k.Name == "state_dir" }
		c.schedule.Keys = append(slices.DeleteFunc(c.schedule.Keys, isStateDir),
			Key{Name: "state_dir", Value: yamldoc.NewText(escape(o.StateDir))})
	}
	if o.Tidy {
		shareMutexes(c.schedule.Tasks)
	}
	for _, t := range c.schedule.Tasks {
		t.fileKeys = c.schedule.Keys
	}
	sortFindings(tables, c.schedule.Findings)
	c.setZone()
	return c.schedule
}

// setZone gives the tasks the zone of the machine, if a line sets TZ (Options.Zone).
func (c *converter) setZone() {
	setsTZ := func(t *Task) bool { _, has := t.Entry.Set["TZ"]; return has }
	isKnown := c.Zone != "" && c.Zone != "Local"
	if !isKnown || !slices.ContainsFunc(c.schedule.Tasks, setsTZ) {
		return
	}
	for _, t := range c.schedule.Tasks {
		t.Timezone = cmp.Or(t.Timezone, c.Zone)
	}
}

// sortFindings sorts findings by their crontabs, in the order of tables, and by their lines.
func sortFindings(tables []*Table, findings []Finding) {
	order := func(f Finding) int {
		return slices.IndexFunc(tables, func(t *Table) bool { return t.Source.Name == f.File })
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(order(a)-order(b), a.Line-b.Line)
	})
}

type converter struct {
	Options
	schedule *Schedule
	names    usedNames
	table    *Table
	entry    Entry
}

func (c *converter) remark(hint, format string, args ...any) {
	c.addFinding(false, hint, format, args...)
}

func (c *converter) omit(hint, format string, args ...any) {
	c.addFinding(!c.entry.Off, hint, format, args...) // a line that is switched off loses nothing
}

func (c *converter) addFinding(isOmitted bool, hint, format string, args ...any) {
	f := Finding{File: c.table.Source.Name, Line: c.entry.Line, Text: fmt.Sprintf(format, args...), Hint: hint,
		IsOmitted: isOmitted}
	c.schedule.Findings = append(c.schedule.Findings, f)
}

// IsTick reports whether a command is a tick of sched, or starts sched work.
func IsTick(command string) bool { return tick().MatchString(command) }

// tick matches a call by name, and the line that sched install writes, whatever the program is
// called.
var tick = humanize.Pattern(`(^|[\s/])sched\s+(run|work|takeover\s+--tick)\b|# sched install [0-9a-f]{8}$`)

// convert makes a task of the entry, unless one of its steps omits it. Such a step returns false.
func (c *converter) convert() {
	e := c.entry
	if IsTick(e.Command) {
		c.remark("", "this line is sched itself, and no task")
		return
	}
	t := &Task{Entry: e, Source: c.table.Source.Name, Enabled: !e.Off}
	t.User, t.Env = e.User, maps.Clone(e.Set)
	if !c.checkText() || !c.setCommand(t) || !c.setTimesAndName(t) {
		return
	}
	t.Description, t.Comment = Describe(e)
	if e.Refused != "" && !e.Off {
		c.remark("", "%s", e.Refused)
	}
	if !c.setSurroundings(t) {
		return
	}
	c.remarkOnUser(t)
	c.applyFlags(t)
	if c.Tidy {
		tidy(t)
	}
	c.schedule.Tasks = append(c.schedule.Tasks, t)
}

// checkText omits a line with bytes that no schedule can have.
func (c *converter) checkText() bool {
	switch {
	case !utf8.ValidString(c.entry.Raw):
		c.omit("write the command into a script, and call that", "the line is not in UTF-8, which a schedule must be")
		return false
	case strings.ContainsRune(c.entry.Raw, 0):
		c.omit("remove the character", "the line holds a null character, which no program can be given")
		return false
	case hasTrailingKeys(c.entry.Command):
		c.omit("put the comment on the line above", "a comment `# sched:` behind a command sets no keys")
		return false
	}
	return true
}

var trailingKeys = humanize.Pattern(`\s#+\s*sched(:|\s+[\w.]+=)`)

// hasTrailingKeys reports whether a comment with keys follows the command in its line. A # in
// quotes begins no comment.
func hasTrailingKeys(command string) bool {
	at := trailingKeys().FindStringIndex(command)
	return at != nil && strings.Count(command[:at[0]], `"`)%2 == 0 && strings.Count(command[:at[0]], "'")%2 == 0
}

// setTimesAndName sets the times and the name:
//
//  1. Propose a name.
//  2. Set the times. H is made from the proposed name.
//  3. Take the name. An entry that step 2 omits uses up no name.
func (c *converter) setTimesAndName(t *Task) bool {
	short, longer := namesOf(c.entry.Command)
	if file := c.fileOfCronD(); vagueCommands.has(short) && file != "" {
		short = joinName(file, short)
	}
	if !c.setTimes(t, cmp.Or(t.ownName(), short)) {
		return false
	}
	if t.Name = t.ownName(); t.Name == "" {
		t.Name = c.names.unique(short, append(longer, c.longerNames(short)...))
	} else {
		c.names.taken[t.Name]++
	}
	return true
}

// fileOfCronD returns the name of a file of a folder cron.d: that name says whose lines they are.
// It returns "" for any other crontab.
func (c *converter) fileOfCronD() string {
	file := path.Base(c.table.Source.Name)
	if !c.table.Source.System || file == "crontab" || file == "stdin" {
		return ""
	}
	return file
}

// longerNames returns the longer names that do not come from the command, but from the file of a
// folder cron.d, how often the line is due, and its user.
func (c *converter) longerNames(short string) (longer []longName) {
	if file := c.fileOfCronD(); file != "" {
		longer = append(longer, longName{file, joinName(file, short)})
	}
	for _, word := range []string{rhythmOf(c.entry.When), c.entry.User} {
		longer = append(longer, longName{word, joinName(short, word)})
	}
	return longer
}

// applyFlags does what the flags before the command of a BSD cron mean.
func (c *converter) applyFlags(t *Task) {
	flags := c.entry.Flags
	if flags == "" {
		return
	}
	t.MailFailures, t.WithoutOverlapping = strings.Contains(flags, "n"), strings.Contains(flags, "s")
	var meanings []string
	if t.MailFailures {
		meanings = append(meanings, "-n mails only after a failure (on_failure)")
	}
	if strings.Contains(flags, "q") {
		meanings = append(meanings, "-q keeps the run out of the log of cron, and a schedule writes none there")
	}
	if t.WithoutOverlapping {
		meanings = append(meanings, "-s starts no second run beside the first (without_overlapping)")
	}
	c.remark("", "the flags before the command are flags of OpenBSD's and FreeBSD's cron: %s",
		strings.Join(meanings, "; "))
}

// setCommand sets the command. The standard input of the entry, which a schedule does not have,
// becomes a here-document.
func (c *converter) setCommand(t *Task) bool {
	t.Shell = cmp.Or(t.Env["SHELL"], DefaultShell)
	t.Command = c.entry.Command
	input := c.entry.Input
	switch {
	case input == nil:
		return true
	case !quotesAreClosed(t.Command):
		c.omit(`write \% where a % is meant, as in date +\%F`,
			"to cron the command ends at the first %%, which is inside quotes: it never worked")
		return false
	case !PosixShell().MatchString(path.Base(t.Shell)):
		c.omit("write the command into a script, and call that",
			"the command reads what follows its %%, and %s has no here-document", t.Shell)
		return false
	}
	lastWord := t.Command[strings.LastIndexByte(t.Command, ' ')+1:]
	if strings.HasPrefix(lastWord, "+") || strings.HasSuffix(lastWord, "+") {
		c.remark(`where date +\%F was meant, write date +%F in the schedule`,
			"to cron the command ends at the first %%, and reads what follows as its input; kept so")
	}
	t.Command = withHereDocument(t.Command, *input)
	return true
}

// setSurroundings sets what the settings above the line say: the zone, the mail, the variables, and
// the folder. It omits a line with an unknown zone.
func (c *converter) setSurroundings(t *Task) bool {
	env := t.Env
	if !c.entry.ZoneIgnored {
		t.Timezone = env["CRON_TZ"]
	}
	if _, err := time.LoadLocation(t.Timezone); err != nil {
		c.omit("", "CRON_TZ %q is no time zone", t.Timezone)
		return false
	}
	hasZone := func(other *Task) bool { return other.Timezone == t.Timezone && other.Source == t.Source }
	if t.Timezone != "" && !slices.ContainsFunc(c.schedule.Tasks, hasZone) {
		c.remark("", "CRON_TZ is read as cronie does: the times of %s are in %s; "+
			"Debian's cron does not know it, and takes the zone of its machine: "+
			"`sched import --as debian` reads it so", c.linesIn(t.Timezone), t.Timezone)
	}
	c.setMail(t)
	delete(env, "LOGNAME")   // cron itself sets it
	if env["MAILTO"] == "" { // to a shell that is as good as none
		delete(env, "MAILTO")
	}
	env["SHELL"] = t.Shell
	if env["PATH"] == "" {
		env["PATH"] = "/usr/bin:/bin"
	}
	t.Dir = "${HOME}"
	if home, ok := c.homeOf(t.User); ok {
		t.Dir = escape(home)
	}
	if home := env["HOME"]; home != "" {
		t.Dir = escape(home)
	}
	return true
}

// linesIn names the lines for which CRON_TZ says a zone.
func (c *converter) linesIn(zone string) string {
	var lines []string
	for _, e := range c.table.Entries {
		if e.Set["CRON_TZ"] == zone && !e.Off {
			lines = append(lines, strconv.Itoa(e.Line))
		}
	}
	if len(lines) < 2 {
		return "line " + strconv.Itoa(c.entry.Line)
	}
	return "lines " + humanize.Names(lines, maxLines)
}

// maxLines is how many lines a remark names.
const maxLines = 20

// remarkOnUser asks about a user before the command, where a crontab of a user has none. If each
// line has one, FormatOf has asked.
func (c *converter) remarkOnUser(t *Task) {
	name, rest, _ := strings.Cut(c.entry.Command, " ")
	if c.Home == nil || t.User != "" || rest == "" || name == "sync" || !userName().MatchString(name) {
		return
	}
	_, isUser := c.Home(name)
	if isUser && (name == "root" || strings.ContainsAny(strings.TrimSpace(rest)[:1], "/.~")) {
		c.remark("lines with a user are read with --system; else remove it",
			"%q is a user of this machine: is it the user of the line, as in /etc/crontab? Here it is the program", name)
	}
}

// homeOf returns the home folder of the user of a system crontab. If there is no such user, it
// returns "/", with one remark for each such user.
func (c *converter) homeOf(user string) (dir string, ok bool) {
	if user == "" || c.Home == nil {
		return "", false
	}
	if dir, ok = c.Home(user); !ok {
		if !slices.ContainsFunc(c.schedule.Tasks, func(t *Task) bool { return t.User == user }) {
			c.remark(c.hintOnUser(user), "there is no user %q on this machine", user)
		}
		return "/", true
	}
	return dir, true
}

// hintOnUser says what to do about a user who is not there. If the line has its user, a program
// follows it; if it lacks one, the user is a program.
func (c *converter) hintOnUser(user string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(c.entry.Command), " ")
	switch {
	case programName().MatchString(user) || strings.HasPrefix(first, "-"):
		return "does the line lack its user?"
	case strings.Contains(first, "/") || programName().MatchString(first):
		return "add the user, or write another: cron starts nothing for a user who is not there"
	}
	return "add the user; or if that is the program, the line lacks its user"
}

// programName matches the names of programs with which commands begin.
var programName = humanize.Pattern(`^(\[|cd|test|flock|nice|ionice|timeout|env|exec|sh|bash|php|python[\d.]*|perl|ruby|` +
	`node|java|find|tar|rsync|curl|wget|echo|date|sudo|run-parts)$`)

// printsNothing matches a command whose output all goes into a file.
var printsNothing = humanize.Pattern(`^\s*(?:cd\s+\S+\s*&&\s*)?[^;&|\n]*\s>>?\s*\S+\s+2>&1\s*$`)

var address = humanize.Pattern(`^[A-Za-z0-9._+-]+(@[A-Za-z0-9.-]+)?$`)

// setMail sets who gets what the command prints: the addresses of MAILTO. A name without a host is
// a user of this machine.
func (c *converter) setMail(t *Task) {
	to, isSet := t.Env["MAILTO"]
	if !isSet && !c.entry.Off && !t.Sets("after") && !printsNothing().MatchString(t.Command) {
		t.LosesMail, c.schedule.MailsTo = true, true
	}
	for _, name := range strings.FieldsFunc(to, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !address().MatchString(name) {
			c.remark("", "MAILTO has %q, which is no address; nobody is mailed there", name)
			continue
		}
		if !strings.Contains(name, "@") {
			name += "@localhost"
		}
		t.Mail = append(t.Mail, name)
	}
}

var (
	heading         = humanize.Pattern(`^\s*[#=*_~+|-]{2,}.*\pL.*[#=*_~+|-]{2,}\s*$|^\s*[#=*_~+|-]{3,}.*\pL|\pL.*[#=*_~+|-]{3,}\s*$`)
	frame           = humanize.Pattern(`\s+#$`)
	ruleLine        = humanize.Pattern(`^[\s#=*_.~|+-]*$`)
	columnHeading   = humanize.Pattern(`(?i)\bm(in\w*)?\s+h(our\w*)?\s+(dom|day)|user-?name\s+command|^\s*[|.*\s-]+\s*(minute|hour|day|month)|edit this file to introduce|regular cron jobs for the \S+ package`)
	trailingComment = humanize.Pattern(`\s#\s+([^'"` + "`" + `]+)$`)
)

// maxDescription is the longest comment, in bytes, that becomes a description. A longer one stays
// a comment.
const maxDescription = 160

// Describe takes the last paragraph of the comment above an entry for its description, and returns
// the other paragraphs. A rule with words in it (--- shop ---) is one, and describes nothing.
// A line that heads the columns (m h dom mon dow command) discards the lines above it: they are
// about the file.
func Describe(e Entry) (description string, comment []string) {
	paragraphs := [][]string{nil}
	for i, line := range e.Comment {
		line = frame().ReplaceAllString(line, "")
		last := len(paragraphs) - 1
		switch {
		case columnHeading().MatchString(line):
			paragraphs = [][]string{nil}
		case heading().MatchString(line): // # --- shop ---
			paragraphs = append(paragraphs, []string{strings.TrimSpace(line)}, nil)
		case ruleLine().MatchString(line):
		case i > 0 && ruleLine().MatchString(e.Comment[i-1]):
			paragraphs = append(paragraphs, []string{strings.TrimSpace(line)})
		default:
			paragraphs[last] = append(paragraphs[last], strings.TrimSpace(line))
		}
	}
	last := len(paragraphs) - 1
	joined := strings.TrimSuffix(strings.Join(paragraphs[last], " "), ":")
	if len(joined) > maxDescription {
		return "", slices.Concat(paragraphs...)
	}
	if found := trailingComment().FindStringSubmatch(e.Command); joined == "" && found != nil {
		joined = strings.TrimSpace(found[1])
	}
	return printable(joined), slices.Concat(paragraphs[:last]...)
}

// setTimes sets the times of the entry, with H for a number made from the name. It omits an entry
// that is never due.
func (c *converter) setTimes(t *Task, name string) bool {
	if c.entry.When == "@reboot" {
		t.Cron, t.Boot = c.entry.When, true
		c.remark("", "cron starts it when cron starts after a boot; "+
			"the schedule starts it with the first tick after that, up to a minute later")
		return true
	}
	when := c.rewriteTimes()
	if times, err := vixie.Parse(when); err == nil {
		return c.setCronTimes(t, when, name, times)
	}
	e, err := cron.Parse(when, name)
	start, read, notVixie := vixie.ParseStart(when)
	switch {
	case err != nil && notVixie == nil:
		c.remark("", "%q is written as %q, which is what it is to cron", when, read)
		return c.setCronTimes(t, read, name, start)
	case err != nil:
		c.omit("", "%q: %v", when, err)
		return false
	case notVixie == nil && !c.entry.Off:
		c.remark("", "Debian's cron reads %q as %q; the schedule takes it as it stands", when, read)
	default:
		c.remarkOnForeignTimes(when, e)
	}
	t.Cron = when
	return true
}

// rewriteTimes returns the times of the entry as sched writes them: @every_minute and ~ in other
// words, with a remark, and all others as they stand.
func (c *converter) rewriteTimes() (when string) {
	switch when = c.entry.When; {
	case when == NicknameEveryMinute:
		when = "* * * * *"
		c.remark("", "Debian's cron refuses %s, and with it the whole file; "+
			"FreeBSD's takes it, and so does the schedule", NicknameEveryMinute)
	case strings.Contains(when, "~"):
		when = randomToH(when)
		c.remark("", "cronie and OpenBSD's cron take a new random number for each ~ when they start, "+
			"and Debian's reads only what stands before it; the schedule always takes the same, made from the name (%s)", when)
	}
	return when
}

// remarkOnForeignTimes says what other crons make of times that Debian's cron refuses.
func (c *converter) remarkOnForeignTimes(when string, e cron.Expression) {
	isRewritten := when != c.entry.When // rewriteTimes has said so
	switch {
	case strings.ContainsAny(when, "Hh~") && !isRewritten:
		c.remark("", "cron does not know H; here it is a number made from the name: %s", e)
	case c.entry.Off: // cron does not read the line
	case len(strings.Fields(when)) == 6:
		c.remark("", "seconds are supercronic's: cron would take the last fields for the command")
	case !isRewritten:
		c.remark("", "Debian's cron refuses %q, and with it the whole file; the schedule takes it as it stands", when)
	}
}

// setCronTimes sets times that cron takes. If sched refuses their text, or reads it in another way,
// it sets plain numbers.
func (c *converter) setCronTimes(t *Task, when, name string, times vixie.Times) bool {
	if times.Never() {
		hint := ""
		if strings.Contains(when, "-") {
			hint = "a range that runs backwards is empty to cron: write 22-4 as 22-23,0-4, and FRI-SUN as 5-7"
		}
		c.omit(hint, "cron never starts this line: no date matches %q", when)
		return false
	}
	t.Cron, t.Times = when, &times
	if _, err := cron.Parse(when, name); err == nil && !EndsOnSunday().MatchString(when) {
		return true
	}
	t.Cron = times.String()
	e, err := cron.Parse(t.Cron, name)
	if err != nil {
		c.omit("", "%q: %v", when, err)
		return false
	}
	c.remark("", "%q is written as %q, which is what it is to cron", when, e)
	return true
}
