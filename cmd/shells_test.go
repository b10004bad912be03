//go:build linux

package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sched/testing/machine"
	"sched/testing/schedtest"
)

// Each shell is set up as `sched completion --help` advises. Its arguments keep this machine's own
// files away from it. Its prompt is READY.
var shells = []struct {
	name  string
	args  []string
	needs string // a file without which it completes nothing
	setup string
	rc    string
}{
	{"bash", []string{"--rcfile", "rc", "-i"}, "/usr/share/bash-completion/bash_completion",
		"mkdir -p .local/share/bash-completion/completions && sched completion bash > .local/share/bash-completion/completions/sched",
		". /usr/share/bash-completion/bash_completion; PS1='READY '"},
	{"zsh", []string{"-i"}, "",
		`mkdir functions && sched completion zsh > functions/_sched && cp rc .zshrc`,
		`fpath=($HOME/functions $fpath); autoload -Uz compinit; compinit -u; PS1='READY '`},
	{"fish", []string{"--init-command", "source rc"}, "",
		"mkdir -p .config/fish/completions && sched completion fish > .config/fish/completions/sched.fish",
		"function fish_prompt; echo 'READY '; end; set -g fish_greeting"},
}

// A person types a few letters, presses the tab key in a real shell, and then enter: what sched
// prints tells whether the word was completed.
func TestRealShellsComplete(t *testing.T) {
	t.Parallel()
	const schedule = `tasks:
  - {name: nightly-report, description: Sums up the day, tags: [reports], every: day at 3:00, command: "true"}
  - {name: quick, every: month, command: "true"}
`
	for _, shell := range shells {
		t.Run(shell.name, func(t *testing.T) {
			t.Parallel()
			if shell.name != "bash" {
				machine.Slow(t)
			}
			if _, err := exec.LookPath(shell.name); err != nil {
				t.Skip(err)
			}
			if _, err := os.Stat(shell.needs); err != nil && shell.needs != "" {
				t.Skip(err)
			}
			b := newBox(t, schedule)
			b.Write("other.yaml", "tasks: [{name: elsewhere, every: day, command: echo over there}]\n")
			b.Write("rc", shell.rc)
			b.inShell("sh", "-ec", shell.setup)
			term := b.typeIn(append([]string{shell.name}, shell.args...)...)
			for _, line := range []struct{ typed, completed, rest, want string }{
				{"sched show ni\t", "nightly-report", "", "Sums up the day"},
				{"sched sho\t", "show", "quick", "month"},
				{"sched list --tag rep\t", "reports", "", "nightly-report"},
				{"sched -c oth\t", "other.yaml", "show else\t", "over there"},
			} {
				before := len(term.Seen())
				term.Press(line.typed)
				b.Until("the shell has completed "+line.typed,
					func() bool { return strings.Contains(term.Seen()[before:], line.completed) })
				term.Press(line.rest + " >out 2>&1\r")
				b.Until("sched was called by "+line.typed,
					func() bool { return strings.Contains(b.Read("out"), line.want) })
				b.Write("out", "")
			}
			term.Press("exit\r")
			<-term.Ended
		})
	}
}

// inShell runs a program with sched on its PATH to its end.
func (b *box) inShell(program string, args ...string) {
	b.Helper()
	c := b.program(program, args...)
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("%s %s: %v\n%s", program, args, err, out)
	}
}

// program is a program that has sched on its PATH, and HOME in the box.
func (b *box) program(program string, args ...string) *exec.Cmd {
	c := b.Command()
	c.Path, c.Err = exec.LookPath(program)
	c.Args = append([]string{program}, args...)
	c.Env = append(c.Env, "PATH="+filepath.Dir(schedtest.Binary)+":"+os.Getenv("PATH"), "TERM=xterm",
		"LC_ALL=C.UTF-8", "ZDOTDIR="+b.Dir,
		"XDG_DATA_HOME="+b.Path(".local/share"), "XDG_CONFIG_HOME="+b.Path(".config"))
	return c
}

// typeIn starts a shell on a terminal, and waits for its prompt.
func (b *box) typeIn(command ...string) *schedtest.Terminal {
	b.Helper()
	term, tty, err := schedtest.NewTerminal(200)
	if err != nil {
		b.Fatal(err)
	}
	c := b.program(command[0], command[1:]...)
	if err := term.Start(c, tty); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if b.Failed() {
			b.Logf("seen: %q", term.Seen())
		}
		c.Process.Kill()
		c.Wait()
		term.Ctrl.Close()
	})
	b.Until("the shell has a prompt", func() bool { return strings.Contains(term.Seen(), "READY ") })
	return term
}
