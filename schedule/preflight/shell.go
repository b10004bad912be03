package preflight

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/statedir"
)

// FirstProgram returns the program with which a line for a shell begins, or "" if uncertain.
func FirstProgram(line string) string {
	words := strings.Fields(line)
	if len(words) == 0 || !isPlainWord(words[0]) || slices.Contains(strings.Fields(builtins), words[0]) ||
		len(words) > 1 && strings.HasPrefix(words[1], "(") {
		return ""
	}
	return words[0]
}

// isPlainWord reports whether a shell expands nothing in a word.
func isPlainWord(word string) bool {
	return strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/+@:,-") == ""
}

// builtins are the keywords and builtins of shells: they need no file.
const builtins = `if for while until case select function time coproc test command type hash export unset
	alias unalias eval exec . source set trap return exit : true false echo printf cd pwd read shift times umask wait ulimit
	local declare typeset readonly let getopts break continue jobs kill fg bg history pushd popd dirs shopt mapfile readarray`

// harmless are the builtins after which a line finds the same programs, if it goes on.
const harmless = ": true false echo printf cd pwd read umask wait jobs kill times"

// laterPrograms returns the names, without a folder, of the programs that a line starts after its
// first command. It ends at what may decide whether a program is there, or where: `||`, and most
// builtins. It returns none for a line that isSurelyRead does not know.
func laterPrograms(line string) (names []string) {
	for i, word := range commandsOfLine(line) {
		isBuiltin := slices.Contains(strings.Fields(builtins), word)
		isHarmless := slices.Contains(strings.Fields(harmless), word)
		if isBuiltin && !isHarmless || slices.Contains([]string{"[", "which", "||"}, word) {
			break
		}
		if i > 0 && !isBuiltin && isPlainWord(word) && !strings.Contains(word, "/") {
			names = append(names, word)
		}
	}
	return names
}

// A bashism is something that bash knows and POSIX does not. A shell that does not know it reads it
// without a syntax error.
type bashism struct {
	texts   []string       // a line that has none of them needs no search
	pattern *regexp.Regexp // finds it in a line; its first group is what the message names
	probe   string         // a script that succeeds in a shell that knows it
}

// atCommand begins the pattern of a word at the beginning of a command.
const atCommand = `(?m)(?:^|[;&|({!]|\b(?:if|while|until|then|do|else)\s)\s*`

var bashisms = sync.OnceValue(func() []bashism {
	return []bashism{
		{[]string{"[["}, regexp.MustCompile(atCommand + `(\[\[)\s`), "[[ a = a ]]"},
		{[]string{"source"}, regexp.MustCompile(atCommand + `(source)\s`), "source /dev/null"},
		{[]string{"declare", "shopt", "pushd", "mapfile", "readarray"},
			regexp.MustCompile(atCommand + `(declare|shopt|pushd|mapfile|readarray)\s`), "declare x=1"},
		{[]string{"pipefail"}, regexp.MustCompile(atCommand + `set\s+[^;&|\n]*\b(pipefail)\b`), "set -o pipefail"},
		{[]string{"&>"}, regexp.MustCompile(`(&>)`), `x=$({ echo a; } &>/dev/null); test -z "$x"`},
		{[]string{"${"}, regexp.MustCompile(`(\$\{\w+(?:/|\^|,,|:\d)[^}]*\})`), `x=abc; test "${x//a/b}${x:1:1}" = bbcb`},
		{[]string{".."}, regexp.MustCompile(`(\{\d+\.\.\d+\})`), `test "$(echo {1..2})" = "1 2"`},
	}
})

// quoted are the parts of a line that are not read as commands: quotes and comments.
var quoted = humanize.Pattern(`\\.|'[^']*'|"(\\.|[^"\\])*"|(?m)(^|\s)#.*$`)

// UsedVariables returns the names of the variables that the commands of the task take from their
// environment, as far as their lines show. It leaves out commands whose shell reads a profile,
// which may set any variable.
func UsedVariables(t *schedule.Task) (names []string) { return variablesOf(t, usedByLine) }

// NeededVariables is UsedVariables without the variables that a line may set itself, or may do
// without: names that stand in the line without a $, too, and names that it tests.
func NeededVariables(t *schedule.Task) (names []string) { return variablesOf(t, neededByLine) }

func variablesOf(t *schedule.Task, inLine func(line string) []string) (names []string) {
	for _, c := range commandsOf(t) {
		shell := c.command.Shell
		if len(shell) == 0 || !isShell(shell[0]) || slices.ContainsFunc(shell[1:], readsProfile) {
			continue
		}
		for _, name := range inLine(c.command.Line) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// readsProfile reports whether a shell with the option is a login shell, or an interactive one.
func readsProfile(option string) bool {
	isShort := strings.HasPrefix(option, "-") && !strings.HasPrefix(option, "--")
	return option == "--login" || isShort && strings.ContainsAny(option, "il")
}

// usedByLine returns the variables that a line takes from its environment. It leaves out variables
// with a default, and variables that the line sets. A line that reads a file of variables may set
// any variable, so it returns none for such a line.
func usedByLine(line string) (names []string) {
	expanded := expansions(line)
	if setsAny().MatchString(expanded) {
		return nil
	}
	isSet := map[string]bool{}
	for _, match := range setByLine().FindAllStringSubmatch(expanded, -1) {
		for _, word := range strings.Fields(match[1] + match[2]) {
			isSet[word] = true
		}
	}
	for _, match := range usedVariable().FindAllStringSubmatch(expanded, -1) {
		if name := match[1] + match[2]; !isSet[name] && !slices.Contains(strings.Fields(shellVariables), name) {
			names = append(names, name)
		}
	}
	return names
}

// neededByLine returns the variables of usedByLine that NeededVariables has. It returns none for a
// line with a here-document, whose text may be for another program.
func neededByLine(line string) (names []string) {
	if strings.Contains(line, "<<") {
		return nil
	}
	for _, name := range usedByLine(line) {
		mention := regexp.MustCompile(`(?:^|[^\w${])` + name + `\b`)
		tested := regexp.MustCompile(`(?:\[\s|\btest\b|\bcase\b|\bif\b|\bwhile\b)[^;&|\n]*\$\{?` + name + `\b`)
		isSet := strings.HasPrefix(name, "BASH") || strings.HasPrefix(name, "SCHED_") ||
			slices.Contains([]string{"TRACEPARENT", "HOME", "LOGNAME", "USER", "SHELL"}, name)
		if !isSet && !mention.MatchString(line) && !tested.MatchString(line) {
			names = append(names, name)
		}
	}
	return names
}

// expansions returns the parts of a line in which a shell replaces variables.
func expansions(line string) string {
	return quoted().ReplaceAllStringFunc(line, func(part string) string {
		if strings.HasPrefix(part, `"`) {
			return escapes().ReplaceAllString(part, " ")
		}
		return " "
	})
}

var (
	escapes      = humanize.Pattern(`\\.`) // a backslash and the character behind it
	setsAny      = humanize.Pattern(atCommand + `(?:\.|source|eval|export\s+"?\$)`)
	usedVariable = humanize.Pattern(`\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:\}|:?\?|%|#|/|\^|,|:\d))`)

	// setByLine finds NAME=, also behind others, and the names after a word that sets its
	// arguments.
	setByLine = humanize.Pattern(atCommand + `(?:\w+=\S*\s+)*(?:(?:export|local|declare|readonly|typeset)\s+)?(\w+)\+?=|` +
		`\b(?:for|read|mapfile|readarray|getopts|printf\s+-v)\s+([^;&|<>\n=]*)`)
)

// shellVariables are variables that shells set themselves.
const shellVariables = "_ PWD OLDPWD IFS PPID OPTIND OPTARG LINENO SHLVL RANDOM SECONDS " +
	"UID EUID GID EGID HOST HOSTNAME HOSTTYPE MACHTYPE OSTYPE REPLY PATH PS1 PS2 PS4 OPTERR PIPESTATUS FUNCNAME " +
	"GROUPS DIRSTACK SHELLOPTS EPOCHSECONDS EPOCHREALTIME SRANDOM ZSH_VERSION KSH_VERSION"

// A question is a call of a shell: the shell, its options and a script, with a NUL between them.
type question string

// shells are the answers of shells. Each question is asked once. Safe for concurrent use.
type shells struct{ answers memo[question, answer] }

// An answer is what askShell returns.
type answer struct {
	stderr string
	failed bool
}

func (s *shells) ask(shell string, args ...string) answer {
	return s.answers.get(question(shell+"\x00"+strings.Join(args, "\x00")), func() (a answer) {
		a.stderr, a.failed = askShell(shell, args...)
		return a
	})
}

// unknownWords returns words in a command for sh that bash knows, and this machine's sh does not.
func (s *shells) unknownWords(c schedule.Command) (words []string) {
	if len(c.Shell) == 0 || !isPosixShell(c.Shell[0]) {
		return nil
	}
	commands := sync.OnceValue(func() string { return withoutQuotes(c.Line) })
	for _, b := range bashisms() {
		if !slices.ContainsFunc(b.texts, func(text string) bool { return strings.Contains(c.Line, text) }) {
			continue
		}
		// Without the options of the task: with --rcfile the shell would read a file first.
		if match := b.pattern.FindStringSubmatch(commands()); match != nil && s.ask(c.Shell[0], "-c", b.probe).failed {
			words = append(words, match[1])
		}
	}
	return words
}

// withoutQuotes returns the line without quotes and comments, but for quotes with expansions.
func withoutQuotes(line string) string {
	return quoted().ReplaceAllStringFunc(line, func(part string) string {
		if strings.HasPrefix(part, `"`) && strings.Contains(part, "${") {
			return part
		}
		return " "
	})
}

// syntaxError returns why the shell of the command cannot read it, or "". The shell gets no
// options of its own: with -i it would run the command. A shell that works is not asked about a
// line that each shell reads.
func (s *shells) syntaxError(c schedule.Command) string {
	if len(c.Shell) == 0 || !isShell(c.Shell[0]) {
		return ""
	}
	shell := c.Shell[0]
	isPosix := isPosixShell(shell) || filepath.Base(shell) == "bash"
	if isPosix && isSurelyRead(c.Line) && !s.ask(shell, "-n", "-c", ":").failed {
		return ""
	}
	answer := s.ask(shell, "-n", "-c", c.Line)
	if !answer.failed {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(answer.stderr), "\n")
	return humanize.Line(first)
}

// maxShellWait is far more than a shell needs to start.
const maxShellWait = 2 * time.Second

// askShell runs a shell. It returns what the shell printed to stderr, and whether it failed. A
// shell that is missing, or does not answer in time, has not failed: a missing shell has a message
// of its own. Root asks only a shell that root alone can change, whatever the user of the task: any
// other one would be another user's program that runs as root.
func askShell(shell string, args ...string) (stderr string, failed bool) {
	ctx, cancel := context.WithTimeout(context.Background(), maxShellWait)
	defer cancel()
	question := exec.CommandContext(ctx, shell, args...)
	if os.Geteuid() == 0 {
		path, err := filepath.Abs(question.Path)
		if err != nil || question.Err != nil || statedir.CheckFile(path) != nil {
			return "", false
		}
		question.Path, question.Dir = path, "/"
		question.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"} // BASH_ENV or HOME may lead to a profile
	}
	_, err := question.Output()
	exit, failed := errors.AsType[*exec.ExitError](err)
	if !failed || ctx.Err() != nil {
		return "", false
	}
	return string(exit.Stderr), true
}

// isPosixShell reports whether a shell may know no more than POSIX says.
func isPosixShell(program string) bool {
	return slices.Contains([]string{"sh", "dash", "ash"}, filepath.Base(program))
}

// isShell reports whether we know how to ask a shell.
func isShell(program string) bool {
	return isPosixShell(program) || slices.Contains([]string{"bash", "zsh", "ksh"}, filepath.Base(program))
}

// A keyedCommand is a command, and the key that has it.
type keyedCommand struct {
	key     string
	command schedule.Command
}

// commandsOf returns all commands that the task may run, with their keys in the schedule.
func commandsOf(t *schedule.Task) []keyedCommand {
	all := []keyedCommand{{"command", t.Command}}
	for _, c := range t.ConditionCommands {
		all = append(all, keyedCommand{c.Key, c.Command})
	}
	for key, hook := range t.Hooks.All() {
		if hook.IsCommand() {
			all = append(all, keyedCommand{key, hook.Run})
		}
	}
	return all
}
