package crontab

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sched/schedule/humanize"
	"sched/schedule/mask"
)

// A Source is the text of a crontab, and what findings call it.
type Source struct {
	Name   string
	Text   string
	System bool // it has a column for the user, as /etc/crontab
}

// A Table is what a crontab says.
type Table struct {
	Source   Source
	Entries  []Entry
	Keys     []Key     // of the whole file: comments `# sched:` with no entry below them
	Findings []Finding // about lines that are no entries, and lines that no cron could read
	Secret   bool      // a variable, or what is in a command, may be a secret
}

// IgnoreCronTZ takes CRON_TZ for what it is to Debian's cron: a variable that sets no zone. zone is
// the zone of the machine.
func (t *Table) IgnoreCronTZ(zone string) {
	said := 0
	for i := range t.Entries {
		e := &t.Entries[i]
		at := e.SetAt["CRON_TZ"]
		if _, has := e.Set["CRON_TZ"]; has && at != said {
			t.Findings = append(t.Findings, Finding{File: t.Source.Name, Line: at,
				Text: "Debian's cron does not know CRON_TZ: the times below are in " + zone,
				Hint: "if the zone is meant, write it as the `timezone` of the tasks"})
			said = at
		}
		e.ZoneIgnored = true
	}
}

// An Entry is a line that starts a command.
type Entry struct {
	Line    int            // from 1
	Raw     string         // the line, without its line break
	When    string         // five fields with single blanks, or a nickname: @daily
	User    string         // of a system crontab; "" otherwise
	Flags   string         // of OpenBSD and FreeBSD before the command: n, q, s
	Command string         // what the shell gets
	Input   *string        // what the command reads, if the line has a % for it
	Set     Variables      // the settings above the line
	SetAt   map[string]int // the lines of those settings

	ZoneIgnored bool     // CRON_TZ is only a variable
	Comment     []string // the lines of comment right above it, without #
	Keys        []Key    // of the comments `# sched:` among them
	Off         bool     // it is commented out
	Refused     string   // why Debian's cron refuses the line; "" if it does not, or if its times say so
}

// maxCommand is the longest command that Debian's cron takes, in bytes of the line.
const maxCommand = 998

// Parse reads a crontab. A line that cron would not understand becomes a Finding, and a disabled
// line an Entry that is Off.
func Parse(source Source) *Table {
	p := &parser{table: &Table{Source: source}, set: Variables{}, setAt: map[string]int{}}
	text := source.Text
	if mark := "\ufeff"; strings.HasPrefix(text, mark) {
		p.noteLine(1, "the file begins with a byte order mark, for which Debian's cron refuses it; it is left out", "")
		text = text[len(mark):]
	}
	if !strings.HasSuffix(text, "\n") && text != "" {
		last := strings.Count(text, "\n") + 1 // the number of the last line
		p.noteLine(last, "the last line has no line break; Debian's cron ignores such a file as a whole", "")
	}
	if strings.Contains(text, "\r\n") {
		p.noteLine(1, `lines end in CR LF, and cron would give the CR to the commands; it is left out`, "")
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		p.number++
		p.readLine(line)
		p.lineBefore = line
	}
	p.endComment()
	return p.table
}

type parser struct {
	table      *Table
	number     int
	lineBefore string // the line before
	set        Variables
	setAt      map[string]int
	comment    []string
	keys       []Key // of the comment
}

// endComment gives the keys of a comment with no entry below it to the whole file.
func (p *parser) endComment() {
	p.table.Keys = append(p.table.Keys, p.keys...)
	p.comment, p.keys = nil, nil
}

func (p *parser) noteLine(line int, text, hint string) {
	p.table.Findings = append(p.table.Findings, Finding{File: p.table.Source.Name, Line: line, Text: text, Hint: hint})
}

func (p *parser) omitLine(text, hint string) {
	p.table.Findings = append(p.table.Findings, Finding{
		File: p.table.Source.Name, Line: p.number, Text: text, Hint: hint, IsOmitted: true,
	})
}

// readLine reads a line that is empty, a comment, a setting, or an entry.
func (p *parser) readLine(raw string) {
	text := strings.TrimLeft(raw, " \t")
	switch {
	case strings.TrimSpace(text) == "":
		p.endComment()
	case text[0] == '#':
		p.readComment(raw, text)
	case strings.Contains(raw, "\r"):
		p.comment, p.keys = nil, nil
		p.omitLine("a carriage return stands within the line",
			"old editors end lines with it, and to cron it joins them: write a line break")
	default:
		if name, value, ok := readSetting(text); ok {
			p.endComment()
			if zone, entry, _ := strings.Cut(value, " "); strings.HasSuffix(name, "TZ") && p.isEntry(entry) {
				p.omitLine("cron sets "+name+" to the whole rest of the line, and starts nothing",
					"write "+name+"="+zone+" on a line of its own, above the times")
				return
			}
			p.assign(name, value, text)
			return
		}
		entry, problem, hint := p.readEntry(text)
		if problem != "" {
			p.comment, p.keys = nil, nil
			p.omitLine(problem, cmp.Or(p.whyNoEntry(text), hint))
			return
		}
		entry.Raw = raw
		p.add(entry)
	}
}

// isEntry reports whether the text has times and a command.
func (p *parser) isEntry(text string) bool {
	_, problem, _ := p.readEntry(strings.TrimLeft(text, " \t"))
	return problem == ""
}

// exampleNext matches a comment whose last paragraph names an example and ends with a colon.
var exampleNext = humanize.Pattern(`(?i)\b(example|e\.g\.)(.|\n.*\pL)*:\s*$`)

// readComment reads a comment: the keys of `# sched:`, an entry that is commented out, or prose.
func (p *parser) readComment(raw, text string) {
	if keys, ok := keysOf(raw, p.number); ok {
		p.keys = append(p.keys, keys...)
		return
	}
	if nearlyOurs().MatchString(raw) {
		p.noteLine(p.number, "this comment sets no keys", "a comment with keys begins with `# sched:`")
	}
	inner := strings.TrimLeft(text, "# \t")
	example := exampleNext().MatchString(strings.Join(p.comment, "\n"))
	entry, problem, _ := p.readEntry(inner)
	if problem == "" && !example && isTimes(entry.When) && isCommand(entry.Command) {
		entry.Raw, entry.Off = raw, true
		p.add(entry)
		return
	}
	p.comment = append(p.comment, strings.TrimPrefix(strings.TrimLeft(text, "#"), " "))
}

// isCommand tells a command from prose that happens to follow five fields, as in the manual's "* *
// * * * user-name command to be executed". Such prose begins with a word of prose.
func isCommand(command string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(command), " ")
	return first != "" && first != "command" && first != "user-name" && first != "<command>" &&
		!strings.Contains(command, "command to be executed")
}

func (p *parser) add(entry Entry) {
	entry.Line, entry.Set, entry.SetAt = p.number, maps.Clone(p.set), maps.Clone(p.setAt)
	entry.Comment, entry.Keys = p.comment, p.keys
	p.comment, p.keys = nil, nil
	for _, name := range mask.SecretsIn(entry.Command) {
		p.noteSecret(name, mask.InCommand)
	}
	p.table.Entries = append(p.table.Entries, entry)
}

// noteSecret says that a schedule keeps what may be a secret.
func (p *parser) noteSecret(name, where string) {
	p.table.Secret = true
	text, hint := mask.Kept(name, where)
	p.noteLine(p.number, text, hint)
	p.table.Findings[len(p.table.Findings)-1].IsSecret = true
}

var (
	fiveFields = humanize.Pattern(`^(\S+)[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)[ \t]+(.*)$`)
	nickname   = humanize.Pattern(`^(@\S+)[ \t]+(.*)$`)
	userName   = humanize.Pattern(`^[A-Za-z0-9_][A-Za-z0-9_.@\\-]*\$?$`) // DOMAIN\user comes from a directory
)

// readEntry reads times, user and command. An empty problem means that it is an entry.
func (p *parser) readEntry(text string) (e Entry, problem, hint string) {
	var rest string
	if found := nickname().FindStringSubmatch(text); found != nil {
		e.When, rest = found[1], found[2]
		if span, after, ok := strings.Cut(rest, " "); ok && e.When == "@every" && humanize.EveryOf(span, "") != "" {
			e.When, rest = e.When+" "+span, strings.TrimLeft(after, " \t") // it is robfig's: the hint has its words
		}
	} else if found := fiveFields().FindStringSubmatch(text); found != nil {
		e.When, rest = strings.Join(found[1:6], " "), found[6]
	} else {
		return e, "neither a setting nor five fields and a command", ""
	}
	if e.When, rest, e.Refused, problem = readMoreFields(e.When, rest, p.table.Source.System); problem != "" {
		return e, problem, ""
	}
	if quietMark().MatchString(e.When) {
		e.When, e.Refused = e.When[1:], "Debian's cron refuses a - before the times, and with it the whole file; "+
			"to SUSE's cron and cronie it keeps the run out of their log, and a schedule writes none there"
	}
	if problem, hint = timesProblem(e.When); problem != "" {
		return e, problem, hint
	}
	if p.table.Source.System {
		end := strings.IndexAny(rest+" ", " \t")
		if e.User = rest[:end]; !userName().MatchString(e.User) {
			return e, fmt.Sprintf("%q is no user: in a system crontab a line has its user before the command", e.User),
				"cron ignores the whole file for that; put the user in, as in `" + e.When + " root …`"
		}
		rest = strings.TrimLeft(rest[end:], " \t")
	}
	if len(rest) > maxCommand {
		e.Refused = fmt.Sprintf("Debian's cron refuses a command of more than %d bytes, and with it the whole file; "+
			"the schedule takes it as it stands", maxCommand)
	}
	e.Flags, rest = cutFlags(rest)
	e.Command, e.Input = splitAtPercent(rest)
	if strings.TrimSpace(e.Command) == "" { // a lone vertical tab is no command: schedule.yaml could not have it
		return e, "the line has no command", ""
	}
	return e, "", ""
}

// quietMark matches the - of SUSE's cron and of cronie before the times.
var quietMark = humanize.Pattern(`^-[\d*]`)

var (
	timesInQuotes = humanize.Pattern(`^["'][\d*@]`)
	likeWeekday   = humanize.Pattern(`(?i)^` + days)
	fourFields    = humanize.Pattern(`^(?:[\d*]\S*[ \t]+){2}(?:[\w*,/-]+[ \t]+){2}([/.~$"'\pL]\S*)`)
)

var valueInQuotes = humanize.Pattern(`^[^\s=]+\s*=\s*["']`)

// weekdayOfTwoLetters returns MON for MO and for MO-FR; "" for a word that begins with no weekday.
func weekdayOfTwoLetters(word string) string {
	first, _, _ := strings.Cut(strings.ReplaceAll(word, ",", "-"), "-")
	return humanize.WeekdayOf(first)
}

// whyNoEntry guesses what was meant by a line that is neither a setting nor an entry that sched
// can read. It returns "" if it has no guess.
func (p *parser) whyNoEntry(text string) (hint string) {
	switch {
	case strings.HasSuffix(p.lineBefore, `\`):
		return `to cron a \ at the end joins no lines: write the command in one line`
	case strings.ContainsRune(text, '\u00a0'):
		return "it has a no-break space, as text from a web page does: write a blank for it"
	case timesInQuotes().MatchString(text):
		return "the times stand in quotes: write them without"
	case strings.HasPrefix(text, "cron("):
		return "cron(…) is for AWS EventBridge: write its first five fields alone, and names for weekdays"
	case fourFields().MatchString(text) && weekdayOfTwoLetters(fourFields().FindStringSubmatch(text)[1]) != "":
		return "write " + weekdayOfTwoLetters(fourFields().FindStringSubmatch(text)[1])
	case fourFields().MatchString(text) && !likeWeekday().MatchString(fourFields().FindStringSubmatch(text)[1]):
		return "a field is missing: there are four before " + fourFields().FindStringSubmatch(text)[1]
	case onlyTimes().MatchString(text):
		if n := len(strings.Fields(text)); n < 5 && text[0] != '@' {
			return fmt.Sprintf("it has %s, of five, and no command", humanize.Count(n, "field"))
		}
		return "no command stands behind the times"
	case openQuote().MatchString(text):
		return "nothing closes the quote with which the value begins"
	case valueInQuotes().MatchString(text) && strings.Count(text, `"`) != 1 && strings.Count(text, "'") != 1:
		return "cron takes nothing behind a value in quotes, not even a comment: put that on a line of its own"
	}
	return ""
}

var (
	onlyTimes    = humanize.Pattern(`(?i)^(@[a-z]+|[\d*][\d*/,-]*([ \t]+([\d*?][\d*?/,#L-]*|` + days + `))*)[ \t]*$`)
	openQuote    = humanize.Pattern(`^\s*\w+\s*=\s*('[^']*|"[^"]*)$`)
	yearField    = humanize.Pattern(`^([\d*][\d/,-]*)[ \t]+(.*)$`)
	weekdayField = humanize.Pattern(`(?i)^([\d*?](?:[\dL/,#-]|` + days + `)*|` + days + `(?:[\dL/,#-]|` + days + `)*)[ \t]+([\d*][\d/,-]*)[ \t]+(.*)$`)
)

const days = `(?:sun|mon|tue|wed|thu|fri|sat)`

// readMoreFields reads the further fields of supercronic before a command: a year after the five
// fields, or seconds before them and a year after them. To cron these are the command, and no
// program has such a name.
func readMoreFields(when, rest string, system bool) (fields, command, refused, problem string) {
	year := ""
	if system || when[0] == '@' {
		return when, rest, "", ""
	} else if found := weekdayField().FindStringSubmatch(rest); found != nil {
		when, year, command = when+" "+found[1], found[2], found[3]
	} else if found := yearField().FindStringSubmatch(rest); found != nil {
		year, command = found[1], found[2]
		refused = "the sixth field is read as a year, as supercronic does; Debian's cron refuses it. " +
			"If the first field is for seconds, the times are not these: write the other five"
	} else {
		return when, rest, "", ""
	}
	if year != "*" {
		problem = fmt.Sprintf("%q is a year to supercronic, and a schedule has no years", year)
	}
	return when, command, refused, problem
}

// cutFlags cuts off -n, -q and -s, which OpenBSD and FreeBSD have before the command. No program
// has such a name.
func cutFlags(rest string) (flags, command string) {
	for {
		end := strings.IndexAny(rest, " \t")
		if end < 0 {
			return flags, rest
		}
		word, after := rest[:end], rest[end:]
		if len(word) < 2 || word[0] != '-' || strings.Trim(word[1:], "nqs") != "" {
			return flags, rest
		}
		flags, rest = flags+word[1:], strings.TrimLeft(after, " \t")
	}
}

// A Finding is something to know about a line of a crontab.
type Finding struct {
	File      string
	Line      int
	Text      string
	Hint      string // what to do; may be empty
	IsOmitted bool   // the line is not in the schedule
	IsSecret  bool   // it warns of what may be a secret: the task does what the line does
}

// String puts the hint on a line of its own.
func (f Finding) String() string {
	text := fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text)
	if f.Hint != "" {
		text += "\n  hint: " + f.Hint
	}
	return text
}

// Variables are settings of a crontab, by name.
type Variables map[string]string

func (v Variables) Names() []string {
	names := slices.Sorted(maps.Keys(v))
	if i := slices.Index(names, "PATH"); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, "PATH")
	}
	return names
}

var VariableName = humanize.Pattern(`^[^\s="']+$`)

// readSetting reads NAME = value. Both may be in quotes, blanks around them do not count, and
// nothing is expanded. A # behind a value is part of it; behind a value in quotes it makes the
// line no setting.
func readSetting(text string) (name, value string, ok bool) {
	name, rest, ok := cutQuoted(text)
	if !ok {
		end := strings.IndexAny(text, "= \t")
		if end < 0 {
			return "", "", false
		}
		name, rest = text[:end], text[end:]
	}
	rest = strings.TrimSpace(rest)
	if !strings.HasPrefix(rest, "=") {
		return "", "", false
	}
	rest = strings.TrimSpace(rest[1:])
	if value, after, ok := cutQuoted(rest); ok {
		return name, value, strings.TrimSpace(after) == ""
	}
	return name, rest, !strings.HasPrefix(rest, `"`) && !strings.HasPrefix(rest, "'")
}

// cutQuoted cuts a text in quotes off the beginning; inner is without the quotes.
func cutQuoted(text string) (inner, rest string, ok bool) {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		return "", "", false
	}
	end := strings.IndexByte(text[1:], text[0])
	if end < 0 {
		return "", "", false
	}
	return text[1 : 1+end], text[2+end:], true
}

// assign sets a variable for the entries below, unless no schedule can have it.
func (p *parser) assign(name, value, text string) {
	switch {
	case len(name) > 256 || strings.Contains(name+value, "\x00") || !utf8.ValidString(name+value):
		p.omitLine("a variable with bytes that are no text", "if a command needs it, set it there")
		return
	case !VariableName().MatchString(name):
		p.omitLine(fmt.Sprintf("no shell can read a variable with the name %q", name),
			"give it a name of letters, digits and _")
		return
	case name == "RANDOM_DELAY" || name == "START_HOURS_RANGE":
		p.omitLine(name+" moves the times of the lines below at random, which a schedule cannot say",
			"their tasks are due at the times that the lines say; `spread: 45m` puts each off by a time of its own")
		return
	case name == "MAILFROM":
		p.noteLine(p.number, "MAILFROM is not taken over",
			"write it as the sender of all mails: `mail: {from: "+value+"}`")
		return
	case (name == "PATH" || name == "HOME") && strings.ContainsAny(value, "$~"):
		p.noteLine(p.number,
			"cron does not expand $ and ~ in "+name+", so they are kept as they stand; programs there were never found",
			"write ${HOME}/bin in the schedule, where it is expanded")
	case strings.Contains(value, " #") && strings.HasSuffix(strings.TrimSpace(text), value):
		p.noteLine(p.number, "the comment behind "+name+" is part of its value to cron, and kept", "")
	}
	p.noteDebianValue(name, value, text)
	if mask.SecretName().MatchString(name) {
		p.noteSecret(name, mask.InEnv)
	}
	p.set[name], p.setAt[name] = value, p.number
}

// noteDebianValue says what Debian's cron makes of a value that other crons keep as it is written
// (load_env in env.c).
func (p *parser) noteDebianValue(name, value, text string) {
	trimmed := strings.TrimRight(value, " \t")
	last := len(trimmed) - 1
	switch {
	case value == "" && strings.HasSuffix(strings.TrimSpace(text), "="):
		p.noteLine(p.number, "Debian's cron takes no empty value without quotes, and refuses the whole file",
			"write "+name+`=""`)
	case trimmed != value:
		p.noteLine(p.number, "Debian's cron cuts off the blanks at the end of "+name+"; here they are kept", "")
	case last > 0 && (trimmed[0] == '"' || trimmed[0] == '\'') && trimmed[0] == trimmed[last]:
		p.noteLine(p.number, "Debian's cron takes the inner quotes of "+name+" off, too; here they are kept", "")
	}
}

// formatOfComment returns the format that a comment names, by rule 3 of FormatOf.
func (t *Table) formatOfComment() (Format, bool) {
	for _, k := range t.Keys {
		if k.Name != systemKey {
			continue
		}
		switch isSystem, err := strconv.ParseBool(k.Text); {
		case err != nil: // another key may say it
		case isSystem:
			return System, true
		default:
			return User, true
		}
	}
	return NotCrontab, false
}
