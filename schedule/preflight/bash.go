package preflight

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/lazy"
)

// bashisms are what bash knows and POSIX does not: how it is seen in a line, and a script that succeeds in a shell that
// knows it.
var bashisms = []struct {
	name  string
	seen  *lazy.Regexp
	probe string
}{
	{"[[", &lazy.Regexp{Expr: atCommand + `\[\[\s`}, "[[ a = a ]]"},
	{"((", &lazy.Regexp{Expr: atCommand + `\(\(`}, "((1))"},
	{"source", &lazy.Regexp{Expr: atCommand + `source\s`}, "source /dev/null"},
	{"function", &lazy.Regexp{Expr: atCommand + `function\s+\w`}, "function f { :; }; f"},
	{"declare", &lazy.Regexp{Expr: atCommand + `declare\s`}, "declare x=1"},
	{"shopt", &lazy.Regexp{Expr: atCommand + `shopt\s`}, "shopt -s nullglob"},
	{"pushd", &lazy.Regexp{Expr: atCommand + `pushd\b`}, "pushd /"},
	{"mapfile", &lazy.Regexp{Expr: atCommand + `(mapfile|readarray)\s`}, "mapfile x </dev/null"},
	{"pipefail", &lazy.Regexp{Expr: atCommand + `set\s+[^;&|\n]*\bpipefail\b`}, "set -o pipefail"},
	{"<( )", &lazy.Regexp{Expr: `[\s=]<\(`}, "cat <(true)"},
	{"<<<", &lazy.Regexp{Expr: `<<<`}, "cat <<<a"},
	{"&>", &lazy.Regexp{Expr: `&>`}, `x=$({ echo a; } &>/dev/null); test -z "$x"`},
	{"|&", &lazy.Regexp{Expr: `\|&`}, "true |& true"},
	{"an array", &lazy.Regexp{Expr: `(^|[\s;])\w+=\([^)]*\)`}, "a=(1 2)"},
	{"${x//a/b}", &lazy.Regexp{Expr: `\$\{\w+/`}, `x=a; test "${x//a/b}" = b`},
	{"${x^^}", &lazy.Regexp{Expr: `\$\{\w+(\^|,,)`}, `x=a; test "${x^^}" = A`},
	{"${x:1:2}", &lazy.Regexp{Expr: `\$\{\w+:\d`}, `x=abc; test "${x:1:1}" = b`},
	{"{1..9}", &lazy.Regexp{Expr: `\{\d+\.\.\d+\}`}, `test "$(echo {1..2})" = "1 2"`},
}

// atCommand begins a pattern of a word where a command begins.
const atCommand = `(?m)(^|[;&|({!]|\b(if|while|until|then|do|else)\s)\s*`

// quoted are the parts of a line that are not read as commands: quotes and comments.
var quoted = lazy.Regexp{Expr: `\\.|'[^']*'|"(\\.|[^"\\])*"|(?m)(^|\s)#.*$`}

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
