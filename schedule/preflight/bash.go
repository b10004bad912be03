package preflight

import (
	"context"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"sched/schedule"
)

// bashisms are what bash knows and POSIX does not: how it is seen in a line, and a script that succeeds in a shell that
// knows it.
var bashisms = []struct {
	name  string
	seen  func() *regexp.Regexp
	probe string
}{
	{"[[", atCommand(`\[\[\s`), "[[ a = a ]]"},
	{"((", atCommand(`\(\(`), "((1))"},
	{"source", atCommand(`source\s`), "source /dev/null"},
	{"function", atCommand(`function\s+\w`), "function f { :; }; f"},
	{"declare", atCommand(`declare\s`), "declare x=1"},
	{"shopt", atCommand(`shopt\s`), "shopt -s nullglob"},
	{"pushd", atCommand(`pushd\b`), "pushd /"},
	{"mapfile", atCommand(`(mapfile|readarray)\s`), "mapfile x </dev/null"},
	{"pipefail", atCommand(`set\s+[^;&|\n]*\bpipefail\b`), "set -o pipefail"},
	{"<( )", pattern(`[\s=]<\(`), "cat <(true)"},
	{"<<<", pattern(`<<<`), "cat <<<a"},
	{"&>", pattern(`&>`), `x=$({ echo a; } &>/dev/null); test -z "$x"`},
	{"|&", pattern(`\|&`), "true |& true"},
	{"an array", pattern(`(^|[\s;])\w+=\([^)]*\)`), "a=(1 2)"},
	{"${x//a/b}", pattern(`\$\{\w+/`), `x=a; test "${x//a/b}" = b`},
	{"${x^^}", pattern(`\$\{\w+(\^|,,)`), `x=a; test "${x^^}" = A`},
	{"${x:1:2}", pattern(`\$\{\w+:\d`), `x=abc; test "${x:1:1}" = b`},
	{"{1..9}", pattern(`\{\d+\.\.\d+\}`), `test "$(echo {1..2})" = "1 2"`},
}

// atCommand is a pattern for a word where a command begins.
func atCommand(word string) func() *regexp.Regexp {
	return pattern(`(?m)(^|[;&|({!]|\b(if|while|until|then|do|else)\s)\s*` + word)
}

// pattern is compiled when it is needed for the first time: ticks, which need none, start every minute.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// quoted are the parts of a line that are not read as commands: quotes and comments.
var quoted = pattern(`\\.|'[^']*'|"(\\.|[^"\\])*"|(?m)(^|\s)#.*$`)

// probeTime is far more than a shell needs to start.
const probeTime = 2 * time.Second

// unknownWords returns what in a command for sh only bash knows, and this machine's sh does not.
func (m *Machine) unknownWords(c schedule.Command) (words []string) {
	if len(c.Shell) == 0 || !isPosixShell(c.Shell[0]) {
		return nil
	}
	bare := quoted().ReplaceAllStringFunc(c.Line, func(part string) string {
		if strings.HasPrefix(part, `"`) && strings.Contains(part, "${") {
			return part // expansions in it count
		}
		return " "
	})
	for _, b := range bashisms {
		if b.seen().MatchString(bare) && !m.knows(c.Shell, b.probe) {
			words = append(words, b.name)
		}
	}
	return words
}

// knows reports whether the shell runs the script with success. It asks once.
func (m *Machine) knows(shell []string, script string) bool {
	key := strings.Join(shell, "\x00") + "\x00" + script
	if known, asked := m.shells[key]; asked {
		return known
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	argv := append(shell[1:len(shell):len(shell)], script)
	err := exec.CommandContext(ctx, shell[0], argv...).Run()
	_, failed := errors.AsType[*exec.ExitError](err)
	known := !failed || ctx.Err() != nil // a shell that is not there has a message of its own
	if m.shells == nil {
		m.shells = map[string]bool{}
	}
	m.shells[key] = known
	return known
}
