package preflight

import (
	"context"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"sched/schedule"
)

// bashisms are what bash knows and POSIX does not: how it is seen in a line, and a script that succeeds in a shell that
// knows it.
var bashisms = []struct {
	name  string
	seen  *regexp.Regexp
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
	{"<( )", regexp.MustCompile(`[\s=]<\(`), "cat <(true)"},
	{"<<<", regexp.MustCompile(`<<<`), "cat <<<a"},
	{"&>", regexp.MustCompile(`&>`), `x=$({ echo a; } &>/dev/null); test -z "$x"`},
	{"|&", regexp.MustCompile(`\|&`), "true |& true"},
	{"an array", regexp.MustCompile(`(^|[\s;])\w+=\([^)]*\)`), "a=(1 2)"},
	{"${x//a/b}", regexp.MustCompile(`\$\{\w+/`), `x=a; test "${x//a/b}" = b`},
	{"${x^^}", regexp.MustCompile(`\$\{\w+(\^|,,)`), `x=a; test "${x^^}" = A`},
	{"${x:1:2}", regexp.MustCompile(`\$\{\w+:\d`), `x=abc; test "${x:1:1}" = b`},
	{"{1..9}", regexp.MustCompile(`\{\d+\.\.\d+\}`), `test "$(echo {1..2})" = "1 2"`},
}

// atCommand is a pattern for a word where a command begins.
func atCommand(word string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)(^|[;&|({!]|\b(if|while|until|then|do|else)\s)\s*` + word)
}

// quoted are the parts of a line that are not read as commands: quotes and comments.
var quoted = regexp.MustCompile(`\\.|'[^']*'|"(\\.|[^"\\])*"|(?m)(^|\s)#.*$`)

// probeTime is far more than a shell needs to start.
const probeTime = 2 * time.Second

// unknownWords returns what in a command for sh only bash knows, and this machine's sh does not.
func (m *Machine) unknownWords(c schedule.Command) (words []string) {
	if len(c.Shell) == 0 || !isPosixShell(c.Shell[0]) {
		return nil
	}
	bare := quoted.ReplaceAllStringFunc(c.Line, func(part string) string {
		if strings.HasPrefix(part, `"`) && strings.Contains(part, "${") {
			return part // expansions in it count
		}
		return " "
	})
	for _, b := range bashisms {
		if b.seen.MatchString(bare) && !m.knows(c.Shell, b.probe) {
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
