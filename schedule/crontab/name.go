package crontab

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"sched/schedule/humanize"
)

// This file names tasks after what their lines run:
//
//  1. Cut the line into simple commands (firstCommand).
//  2. Pass over keywords, assignments and wrappers (programOf).
//  3. The first program that is neither a side command nor an interpreter is the subject of the line
//     (subjectOf). If there is none, the first of the others is.
//  4. A name that says little gets the name of a folder (withFolder); a name that is taken gets
//     another word, or a number (unique).

// A subject is what a line is about.
type subject struct {
	words     []string // that name it; empty if the line runs nothing that says something
	moreWords []string // arguments that tell it from another line with the same words
}

// A longName has one word more than a short name. The word tells a task from others with the same
// short name.
type longName struct{ word, name string }

// usedNames are the names of the tasks so far.
type usedNames struct {
	taken map[string]int  // how many tasks wanted the name; the next one gets this number plus one
	words map[string]bool // "backup daily", if a task with the short name backup has the word daily
}

// unique returns the short name. If that is taken, it returns the first longer name whose word no
// other task with this short name has. If no longer name fits, it returns the short name with -2,
// -3, …
func (n usedNames) unique(short string, all []longName) (name string) {
	if n.taken[short] == 0 {
		name = short
	}
	for _, l := range all {
		key := short + " " + l.word
		if name == "" && l.word != "" && !n.words[key] && n.taken[l.name] == 0 {
			name = l.name
		}
		n.words[key] = true
	}
	for name == "" {
		n.taken[short]++
		if next := fmt.Sprintf("%s-%d", short, n.taken[short]); n.taken[next] == 0 {
			name = next
		}
	}
	n.taken[name]++
	return name
}

var (
	assignment    = humanize.Pattern(`^[A-Za-z_][A-Za-z0-9_]*=`)
	extension     = humanize.Pattern(`\.(sh|bash|py|pl|rb|php|js|mjs|ts|jar|R)$`)
	version       = humanize.Pattern(`[0-9.]+$`)
	notInName     = humanize.Pattern(`[^a-z0-9._:]+`)
	subcommand    = humanize.Pattern(`^[a-z][a-z:_-]{2,29}$`)
	plainArgument = humanize.Pattern(`^[A-Za-z][\w.:-]{0,29}$`)
	shortFlag     = humanize.Pattern(`^-[^-]`)
	oneValue      = humanize.Pattern(`^\w+$`)
	webPage       = humanize.Pattern(`^https?://([\w.-]+)(?:[^?#]*/([a-z_-]+)(?:\.[a-z]+)?)?(?:[?#:/]|$)`)
	substitution  = humanize.Pattern("`[^`]*`" + `|\$\(\([^()]*\)\)|\$\([^()]*\)`)
)

// A wordSet is some words.
type wordSet string

func (all wordSet) has(word string) bool { return slices.Contains(strings.Fields(string(all)), word) }

// wrappers are programs that start another one, with their flags that have a value.
var wrappers = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"sudo": "ugCp", "nice": "n", "ionice": "cnp", "timeout": "ks", "flock": "wE", "chronic": "", "env": "uS",
		"nohup": "", "setsid": "", "exec": "", "time": "of", "cronic": "", "command": "", "systemd-cat": "tp",
		"stdbuf": "ioe", "chpst": "u", "unbuffer": "", "xvfb-run": "", "runuser": "u", "caffeinate": "",
		"eatmydata": "", "faketime": "", "ifne": "", "su": "",
	}
})

// wordsBeforeCommand is how many words a wrapper has before the command, besides flags.
var wordsBeforeCommand = map[string]int{"timeout": 1, "flock": 1, "su": 1}

const (
	// keywords stand before a command. After a word of noCommands no command follows.
	keywords   wordSet = "if then else elif while until do ! { } time -"
	noCommands wordSet = "for case esac fi done in ) cd pushd [ [[ test /bin/test /usr/bin/test /bin/[ /usr/bin/["

	// sideCommands prepare or follow the main command of a line, or filter what it prints.
	sideCommands wordSet = `: . source true false sleep echo printf date export umask set unset ulimit exit wait read eval trap which type
		hash grep egrep fgrep zgrep pgrep ps cat head tail awk sed cut tr sort wc tee mkdir touch rm logger`

	fetchers wordSet = "curl wget fetch lynx"

	// services are programs with an action and a service.
	services wordSet = "systemctl service invoke-rc.d rc-service"

	// vagueCommands say little without the files that they are about.
	vagueCommands wordSet = "find rm cp mv rsync touch chown chmod"

	// interpreters are programs whose script or task says what runs.
	interpreters wordSet = `sh bash dash zsh ksh perl python php ruby node nodejs java Rscript bundle rake rails runner artisan console
		manage.py npm npx yarn pnpm run run-parts make poetry pipenv uv composer wp drush`

	// unspecific scripts are named after their folder, too; unspecific folders say nothing.
	unspecific wordSet = `cron cronjob index main run start job task script update gc bin sbin scripts tools src public public_html
		htdocs html www current local usr opt srv var etc home root lib libexec share tmp . .. ~ /`
)

// inlineCode are the flags of interpreters before code that is no script.
var inlineCode = map[string]string{"perl": "eE", "ruby": "e", "node": "ep", "nodejs": "ep", "php": "r", "python": "c"}

// nameOf makes a name of what a command runs: "backup" of "cd /srv && flock -n /tmp/lock
// ./backup.sh >> log".
func nameOf(command string) string {
	name, _ := namesOf(command)
	return name
}

// namesOf returns the name of a command, and longer ones for when it is taken.
func namesOf(command string) (short string, all []longName) {
	for substitution().MatchString(command) {
		command = substitution().ReplaceAllString(command, "$$")
	}
	shell, _ := words(strings.ReplaceAll(command, "\n", ";"))
	s := subjectOf(shell)
	for _, word := range s.moreWords {
		all = append(all, longName{word, joinName(append(slices.Clone(s.words), word)...)})
	}
	if len(s.words) > 0 {
		if folder := path.Base(path.Dir(s.words[0])); !unspecific.has(folder) {
			all = append(all, longName{folder, joinName(append([]string{folder}, s.words...)...)})
		}
	}
	return joinName(s.words...), all
}

// rhythmOf says in a word how often a line is due; "" for times that have no word.
func rhythmOf(when string) string {
	switch when {
	case "@reboot":
		return "boot"
	case "@midnight":
		return "daily"
	case "@annually":
		return "yearly"
	}
	if word, ok := strings.CutPrefix(when, "@"); ok {
		return word
	}
	shape := "" // of each field: * for any value, 1 for one value
	for _, field := range strings.Fields(when) {
		switch {
		case field == "*":
			shape += "*"
		case oneValue().MatchString(field):
			shape += "1"
		default:
			return ""
		}
	}
	return map[string]string{
		"1****": "hourly", "11***": "daily", "11**1": "weekly", "111**": "monthly", "1111*": "yearly",
	}[shape]
}

// joinName makes a valid name of the bases of some paths: "backup-daily" of ./Backup.sh and daily.
func joinName(parts ...string) string {
	const maxSize, marks = 60, "-._:" // no name begins or ends with a mark
	var words []string
	for _, part := range parts {
		base := extension().ReplaceAllString(path.Base(part), "")
		words = append(words, notInName().ReplaceAllString(strings.ToLower(base), "-"))
	}
	name := strings.Trim(strings.Join(words, "-"), marks)
	name = strings.TrimRight(name[:min(len(name), maxSize)], marks)
	return cmp.Or(name, "task")
}

// subjectOf returns the subject of a command line: its first program that is neither a side command
// nor an interpreter.
func subjectOf(line []word) subject {
	var fallback subject
	folder := ""
	for len(line) > 0 {
		var first []string
		first, line = firstCommand(line)
		if len(first) > 1 && first[0] == "cd" {
			folder = first[1]
		}
		program := programOf(first)
		if len(program.words) == 0 {
			continue
		}
		base := path.Base(program.words[0])
		if sideCommands.has(base) || interpreters.has(version().ReplaceAllString(base, "")) {
			if fallback.words == nil {
				fallback.words = program.words
			}
			continue
		}
		return subject{withFolder(program.words, folder), program.moreWords}
	}
	return fallback
}

// firstCommand cuts the first simple command off, without its redirections.
func firstCommand(all []word) (first []string, rest []word) {
	for i := 0; i < len(all); i++ {
		switch {
		case !all[i].operator:
			first = append(first, all[i].text)
		case strings.ContainsAny(all[i].text, "<>"):
			i++
		default:
			return first, all[i+1:]
		}
	}
	return first, nil
}

// programOf returns the program of a simple command, or for an interpreter its script and a task.
// It passes over keywords, assignments and wrappers, and descends into the text of sh -c '…'. It
// returns nothing for a command that says nothing, such as cd or test.
func programOf(args []string) subject {
	for i := 0; i < len(args); i++ {
		text := args[i]
		base := path.Base(text)
		language := version().ReplaceAllString(base, "")
		_, isWrapper := wrappers()[base]
		switch {
		case noCommands.has(text):
			return subject{}
		case text == "", keywords.has(text), assignment().MatchString(text): // no program
		case isWrapper:
			i = skipWrapper(args, i)
		case strings.HasPrefix(text, "-") && strings.HasSuffix(text, "c") && i+1 < len(args):
			// sh -c '…', flock FILE -c '…'
			inner, _ := words(args[i+1])
			return subjectOf(inner)
		case strings.HasPrefix(text, "-"): // a flag of what came before
		case interpreters.has(language), strings.HasPrefix(text, "$") && !strings.Contains(text, "/"):
			last := skipFlags(args, i, "Cd")
			if runsInlineCode(args[i+1:min(last+2, len(args))], language) {
				return subject{words: []string{language}}
			}
			if last+1 == len(args) {
				return subject{words: []string{text}}
			}
			i = last
		default:
			return describeProgram(text, args[i+1:])
		}
	}
	return subject{}
}

// skipWrapper returns the index of the last word that belongs to the wrapper at index i.
func skipWrapper(args []string, i int) int {
	base := path.Base(args[i])
	i = skipFlags(args, i, wrappers()[base])
	if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
		i += wordsBeforeCommand[base]
	}
	return i
}

// runsInlineCode reports whether a flag of an interpreter stands before code, as in perl -e CODE.
func runsInlineCode(flags []string, language string) bool {
	return slices.ContainsFunc(flags, func(flag string) bool {
		return len(flag) == 2 && flag[0] == '-' && strings.Contains(inlineCode[language], flag[1:])
	})
}

// describeProgram returns the program with its subcommand, or the page that it fetches. The
// arguments that are words tell it from others.
func describeProgram(text string, arguments []string) subject {
	var more []string
	for i, argument := range arguments {
		if found := webPage().FindStringSubmatch(argument); found != nil && fetchers.has(path.Base(text)) {
			return subject{words: []string{found[1], found[2]}} // the host, and the end of the path or ""
		}
		isPath := strings.HasPrefix(argument, "/") && strings.Count(argument, "/") > 1
		isFlag := shortFlag().MatchString(argument)
		isValueOfFlag := i > 0 && shortFlag().MatchString(arguments[i-1]) && !isPath
		if strings.Contains(argument, "://") || isFlag || isValueOfFlag {
			continue // it may hold a secret
		}
		if word := path.Base(strings.TrimLeft(argument, "-")); plainArgument().MatchString(word) {
			more = append(more, word)
		}
	}
	switch base := path.Base(text); {
	case services.has(base):
		return subject{words: serviceAction(base, arguments)}
	case vagueCommands.has(base) && len(more) > 0:
		return subject{[]string{text, more[0]}, more[1:]}
	case len(arguments) > 0 && text != "tar" && subcommand().MatchString(arguments[0]):
		return subject{[]string{text, arguments[0]}, more[1:]}
	}
	return subject{[]string{text}, more}
}

// serviceAction names what is done to a service: restart-nginx.
func serviceAction(starter string, arguments []string) (parts []string) {
	for _, argument := range arguments {
		if !strings.HasPrefix(argument, "-") {
			parts = append(parts, strings.TrimSuffix(argument, ".service"))
		}
	}
	if len(parts) < 2 {
		return append([]string{starter}, parts...)
	}
	if starter != "systemctl" { // service nginx restart
		parts[0], parts[1] = parts[1], parts[0]
	}
	return parts[:2]
}

// withFolder puts the name of a folder before a program whose own name says nothing, such as
// run.sh: the nearest folder above it that says something. The program starts in folder.
func withFolder(parts []string, folder string) []string {
	program := parts[0]
	if !unspecific.has(extension().ReplaceAllString(path.Base(program), "")) {
		return parts
	}
	if !path.IsAbs(program) {
		program = path.Join(folder, program)
	}
	for dir := path.Dir(program); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if base := path.Base(dir); !unspecific.has(base) && !strings.HasPrefix(base, "$") {
			return append([]string{base}, parts...)
		}
	}
	return parts
}

// skipFlags returns the index of the last flag behind index i, or of its value. valued are the
// letters of the flags that have a value. It stops at a flag -c: a command follows.
func skipFlags(args []string, i int, valued string) int {
	for i+1 < len(args) && strings.HasPrefix(args[i+1], "-") {
		if strings.HasSuffix(args[i+1], "c") && !strings.Contains(valued, "c") {
			break
		}
		i++
		if flag := args[i]; len(flag) == 2 && strings.Contains(valued, flag[1:]) {
			i++
		}
	}
	return min(i, len(args)-1)
}
