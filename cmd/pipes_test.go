package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// eight is a minute of six tasks in the foreground and two in the background.
const eight = `
tasks:
  - {name: f1, cron: "* * * * *", command: echo f1 | tee -a ran.txt}
  - {name: f2, cron: "* * * * *", command: echo f2 >> ran.txt}
  - {name: f3, cron: "* * * * *", command: echo f3 >> ran.txt}
  - {name: f4, cron: "* * * * *", command: echo f4 >> ran.txt}
  - {name: f5, cron: "* * * * *", command: echo f5 >> ran.txt; exit 3}
  - {name: f6, cron: "* * * * *", command: echo f6 >> ran.txt}
  - {name: b1, cron: "* * * * *", command: echo b1 >> ran.txt, background: true}
  - {name: b2, cron: "* * * * *", command: echo b2 >> ran.txt, background: true}
`

// deadReader is a pipe whose reader is gone.
func deadReader(t *testing.T) *os.File {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	t.Cleanup(func() { writer.Close() })
	return writer
}

// The first line that a tick printed to a logger that had died ended it: two of eight tasks ran, and those of the background
// were not even forked.
func TestAReaderThatGoesAwayEndsNoTick(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for name, redirect := range map[string]func(*exec.Cmd){
		"stdout":             func(c *exec.Cmd) { c.Stdout = deadReader(t) },
		"stderr":             func(c *exec.Cmd) { c.Stderr = deadReader(t) },
		"both":               func(c *exec.Cmd) { c.Stdout = deadReader(t); c.Stderr = c.Stdout },
		"a full disk":        func(c *exec.Cmd) { c.Stdout, c.Stderr = full, full },
		"an invalid edit":    func(c *exec.Cmd) { c.Stderr = deadReader(t) },
		"test, whose output": func(c *exec.Cmd) { c.Stdout = deadReader(t) },
	} {
		t.Run(name, func(t *testing.T) {
			b, args, want, code := newBox(t, eight), []string{"run", "-v"}, 8, 1
			switch {
			case strings.HasPrefix(name, "test"):
				args, want, code = []string{"test", "f1"}, 1, 0
			case name == "an invalid edit":
				b.sched("run", "--at", "2020-01-01 00:00", "--only", "f1")
				b.write("schedule.yaml", eight+"  - {name: broken}\n")
				args, want, code = []string{"run"}, 9, 2
			}
			c := b.command(args...)
			redirect(c)
			err := c.Run()
			if got := c.ProcessState.ExitCode(); got != code {
				t.Errorf("exit code %d (%v), not %d", got, err, code)
			}
			b.until(fmt.Sprintf("%d tasks ran", want), func() bool { return b.count("ran.txt") == want })
		})
	}
}

// A shell may close what it does not need.
func TestATickWithClosedDescriptors(t *testing.T) {
	for _, closed := range []string{"<&-", ">&-", "2>&-", "<&- >&- 2>&-"} {
		b := newBox(t, eight)
		c := exec.Command("/bin/sh", "-c", `exec "$0" run `+closed, binary)
		c.Dir, c.Env = b.dir, b.command().Env
		c.Run()
		if got := c.ProcessState.ExitCode(); got != 1 {
			t.Errorf("%s: exit code %d", closed, got)
		}
		b.until("all tasks ran with "+closed, func() bool { return b.count("ran.txt") == 8 })
	}
}

// Commands have SIGPIPE as every program expects it, whatever the caller of sched made of it: `yes | head -1` ends.
func TestCommandsEndByABrokenPipe(t *testing.T) {
	b := newBox(t, `
tasks:
  - {name: fore, cron: "* * * * *", command: kill -PIPE $$; echo survived >> survived.txt}
  - {name: back, cron: "* * * * *", command: kill -PIPE $$; echo survived >> survived.txt, background: true}
`)
	c := exec.Command("/bin/sh", "-c", `trap "" PIPE; exec "$0" run`, binary)
	c.Dir, c.Env = b.dir, b.command().Env
	c.Run()
	for _, task := range []string{"fore", "back"} {
		if r := b.outcome(task, 1); r.ExitCode == nil || *r.ExitCode != 141 {
			t.Errorf("%s: %s %v", task, r.Outcome, r.ExitCode)
		}
	}
}

// A full disk behind `sched list --json > tasks.json` was a success with half a file.
func TestResultsThatCannotBePrintedAreAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	b := newBox(t, eight)
	b.sched("run", "--at", "2020-01-01 00:00")
	for _, args := range []string{
		"list", "list --json", "history", "history --json", "history --csv", "history --summary", "status", "status --json", "why f1", "why f1 --json",
		"run --dry-run", "run --dry-run --json", "run --only f1", "run --only f1 --json", "logs f1", "version", "--help", "servers --json",
	} {
		c := b.command(strings.Fields(args)...)
		var problems strings.Builder
		c.Stdout, c.Stderr = full, &problems
		c.Run()
		if code := c.ProcessState.ExitCode(); code == 0 {
			t.Errorf("sched %s > /dev/full: exit code 0", args)
		}
		if strings.Count(problems.String(), "no space left on device") != 1 && args != "servers --json" {
			t.Errorf("sched %s > /dev/full printed %q", args, problems.String())
		}
	}
}
