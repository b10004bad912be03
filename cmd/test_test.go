//go:build linux

package cmd_test

import (
	"os/exec"
	"strings"
	"testing"

	"sched/testing/schedtest"
)

// sched test took the number from what was typed and left the rest of the line to the shell, which
// said "m-x: command not found".
func TestTestTakesANumberOrANameAndAllOfTheLine(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"2":       "ran second",
		" second": "ran second",
		"1 ":      "ran m-x",
		"m-x":     "ran m-x",
		"2m-x":    `sched: there is no task "2m-x" in schedule.yaml`,
		"secnd":   `hint: did you mean "second"?`,
		"3":       "hint: type a number from 1 to 2, or a name",
		"":        "sched: no task has that name or number",
	} {
		b := newBox(t, `
tasks:
  - {name: m-x, every: day, command: echo ran m-x}
  - {name: second, every: day, command: echo ran second}
`)
		term, tty, err := schedtest.NewTerminal(80)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command("/bin/sh", "-c", `"$0" test; read rest; echo "the shell got <$rest>"`, schedtest.Binary)
		c.Dir, c.Env = b.Dir, b.Command().Env
		if err := term.Start(c, tty); err != nil {
			t.Fatal(err)
		}
		b.Until("it asks", func() bool { return strings.Contains(term.Seen(), "which one? ") })
		term.Press(typed + "\n")
		term.Press("pwd\n")
		c.Wait()
		<-term.Ended
		term.Ctrl.Close()
		if screen := term.Screen(); !strings.Contains(screen, want) ||
			!strings.Contains(screen, "the shell got <pwd>") {
			t.Errorf("%q:\n%s", typed, screen)
		}
	}
}

// Each command that is about one task asks which, as test does.
func TestCommandsWithoutATaskAskWhich(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: first, every: day, command: "true"}
  - {name: second, every: minute, command: 'echo says second; exit 3'}
`)
	b.Sched("run", "--only", "second")
	for command, want := range map[string]string{
		"why": "second will be due at", "logs": "says second", "retry": "second will run with",
		"trigger": "second will run with",
	} {
		term, tty, err := schedtest.NewTerminal(80)
		if err != nil {
			t.Fatal(err)
		}
		if err := term.Start(b.Command(command), tty); err != nil {
			t.Fatal(err)
		}
		b.Until("it asks", func() bool { return strings.Contains(term.Seen(), "which one? ") })
		term.Press("2\n")
		<-term.Ended
		term.Ctrl.Close()
		if screen := term.Screen(); !strings.Contains(screen, want) {
			t.Errorf("%s:\n%s", command, screen)
		}
	}
}
