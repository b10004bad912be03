//go:build linux

package cmd_test

import (
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"sched/testing/schedtest"
)

// slow waits for the file "go"; loud has an on_skip hook that waits for the file "loud".
const slowAndLoud = `
timezone: UTC
tasks:
  - name: loud
    cron: "0 0 29 2 *"
    days: [none of these]
    command: "true"
    on_skip: 'await loud'
  - name: slow
    cron: "0 0 29 2 *"
    command: 'await go'
    kill_after: 50ms
  - {name: next, cron: "0 0 29 2 *", command: "true"}
`

// onLeapDay runs what is due on the 29th of February.
var onLeapDay = []string{"run", "--at", "2028-02-29 00:00", "--force"}

// shows waits until what is seen matches.
func (b *box) shows(term *schedtest.Terminal, pattern string) {
	b.Helper()
	defer func() {
		if b.Failed() {
			b.Logf("the screen:\n%s", term.Screen())
		}
	}()
	compiled := regexp.MustCompile(pattern)
	b.Until(pattern, func() bool { return compiled.MatchString(term.Screen()) })
}

// ends waits for the end, and returns the exit code. The whole screen must match then.
func (b *box) ends(term *schedtest.Terminal, c *exec.Cmd, pattern string) int {
	b.Helper()
	c.Wait()
	<-term.Ended
	if !regexp.MustCompile(`^` + pattern + `$`).MatchString(term.Screen()) {
		b.Errorf("the screen does not match:\n%s\n%s", pattern, term.Screen())
	}
	return c.ProcessState.ExitCode()
}

func TestLiveLine(t *testing.T) {
	t.Parallel()
	b := newBox(t, strings.Replace(slowAndLoud, "none of these", "saturday", 1))
	term, c := b.Watch(80, []string{"NO_COLOR=1"}, onLeapDay...)
	b.shows(term, `^Tue 2028-02-29 00:00 UTC\n… slow  \d.* s$`)

	// what others print comes above it
	b.Write("loud", "")
	b.shows(term, `^Tue 2028-02-29 00:00 UTC\n– loud  skipped               not on Tuesday\n… slow  \d.* s$`)
	b.Write("go", "")
	b.ends(term, c, `Tue 2028-02-29 00:00 UTC
– loud  skipped               not on Tuesday
✓ slow  succeeded  .{9}
✓ next  succeeded  .{9}
1 skipped, 2 succeeded in \d.* m?s
`)
}

func TestLiveLineKnowsHowLongATaskUsuallyTakes(t *testing.T) {
	t.Parallel()
	b := newBox(t, strings.Replace(slowAndLoud, "none of these", "tuesday", 1))
	b.Write("go", "")
	b.Sched(onLeapDay...) // into the history
	if err := exec.Command("rm", b.Path("go")).Run(); err != nil {
		t.Fatal(err)
	}
	term, c := b.Watch(80, nil, onLeapDay...)
	b.shows(term, `\n\\e\[36m…\\e\[0m slow  \d.* s, usually \d.* m?s  \\e\[36m━{20}\\e\[0m$`)

	// The line has the width that the terminal has at this moment. If the line does not fit, the
	// bar goes first, then the end of the text.
	b.resize(term, 40)
	b.shows(term, `\n\\e\[36m…\\e\[0m slow  \d.* s, usually \d.* m?s$`)
	b.resize(term, 16)
	b.shows(term, `\n\\e\[36m…\\e\[0m slow  \d.{3}…$`)
	b.resize(term, 3)
	b.Write("go", "")
	b.ends(term, c, `(?s)\\e\[2mTue.*\\e\[32m✓.*\n`)
}

func (b *box) resize(term *schedtest.Terminal, width int) {
	b.Helper()
	if err := term.Resize(width); err != nil {
		b.Fatal(err)
	}
}

// The line is gone after sched has ended, whatever ends it.
func TestLiveLineIsErasedWhenSchedIsStopped(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"SIGINT", "SIGTERM"} {
		t.Run(how, func(t *testing.T) {
			b := newBox(t, strings.Replace(slowAndLoud, "none of these", "tuesday", 1))
			term, c := b.Watch(80, []string{"NO_COLOR=1"}, onLeapDay...)
			b.shows(term, `… slow  \d.* s$`)
			if how == "SIGINT" {
				term.Press("\x03")
			} else if err := c.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			code := b.ends(term, c, `Tue 2028-02-29 00:00 UTC
✓ loud  succeeded  .{9}
– slow  stopped    .{9}  by `+how+`
– next  skipped               sched run was stopped by `+how+`
1 succeeded, 1 stopped, 1 skipped in \d.* m?s
sched: stopped by `+how+`
`)
			if code != 143 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// While a command that does not want to end is being stopped, the line says what to do.
func TestLiveLineSaysThatSchedIsStopping(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: deaf, cron: "0 0 29 2 *", kill_after: 1h, command: 'trap "" TERM; echo > deaf.txt; while [ ! -e go ]; do sleep 0.02; done'}
`)
	term, c := b.Watch(80, []string{"NO_COLOR=1"}, onLeapDay...)
	b.LineIn("deaf.txt")
	b.shows(term, `… deaf  \d.* s$`)
	term.Press("\x03")
	b.shows(term, `… deaf  \d.* s, stopping; once more kills it$`)
	term.Press("\x03")
	b.ends(term, c, `(?s).*\n– deaf  stopped .*\nsched: stopped by SIGINT\n`)
}

func TestLiveLineOfTest(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: slow, every: minute, command: 'echo one; await go; printf two'}
`)
	term, c := b.Watch(80, []string{"NO_COLOR=1"}, "test", "slow")
	b.shows(term, `^one\n… slow  \d.* s$`)
	b.Write("go", "")
	b.ends(term, c, `one\ntwo\n✓ slow succeeded in \d.* m?s\n`)
}

// Half a line belongs to the command.
func TestNoLiveLineBehindHalfALine(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: half, every: minute, command: 'printf "half "; sleep 1.5; echo a line'}
`)
	term, c := b.Watch(80, []string{"NO_COLOR=1"}, "test", "half")
	b.ends(term, c, `half a line\n✓ half succeeded in \d.* m?s\n`)
	// On a slow machine there is one before the command has printed anything.
	if !strings.Contains(term.Seen(), "half a line") {
		t.Errorf("a live line: %q", term.Seen())
	}
}

// There is no live line if the terminal cannot erase, if others print to it as well, or if people
// want to see only what went wrong. There is also no line when a shell has sent sched to the
// background, and people type at its prompt.
func TestNoLiveLine(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, script string
		drawn        bool
	}{
		{"in the foreground", `"$@"`, true},
		{"in the background of a shell", `set -m; "$@" & wait`, false},
		{"TERM is dumb", `TERM=dumb "$@"`, false},
		{"TERM is missing", `env -u TERM "$@"`, false},
		{"stdout is a pipe", `"$@" | cat`, false},
		{"stderr is a pipe", `"$@" 2>&1 >/dev/tty | cat`, false},
		{"--quiet", `"$@" --quiet`, false},
		{"--json", `"$@" --json`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, `
tasks:
  - {name: slow, cron: "0 0 29 2 *", command: sleep 0.5}
`)
			term, tty, err := schedtest.NewTerminal(80)
			if err != nil {
				t.Fatal(err)
			}
			defer term.Ctrl.Close()
			c := exec.Command("/bin/sh", append([]string{"-c", row.script, "sh", schedtest.Binary}, onLeapDay...)...)
			c.Dir, c.Env = b.Dir, append(b.Command().Env, "TERM=xterm")
			if err := term.Start(c, tty); err != nil {
				t.Fatal(err)
			}
			c.Wait()
			<-term.Ended
			if drawn := strings.Contains(term.Seen(), "\x1b"); drawn != row.drawn {
				t.Errorf("%q", term.Seen())
			}
		})
	}
}
