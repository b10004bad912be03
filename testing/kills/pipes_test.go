package kills_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sched/testing/schedtest"
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

// A tick once ended with the first line that it printed to a dead logger: two of eight tasks ran,
// and the background tasks were not even forked.
func TestAReaderThatGoesAwayEndsNoTick(t *testing.T) {
	t.Parallel()
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
				b.Sched("run", "--at", "2020-01-01 00:00", "--only", "f1")
				b.Write("schedule.yaml", eight+"  - {name: broken}\n")
				args, want, code = []string{"run"}, 9, 2
			}
			c := b.Command(args...)
			redirect(c)
			err := c.Run()
			if got := c.ProcessState.ExitCode(); got != code {
				t.Errorf("exit code %d (%v), not %d", got, err, code)
			}
			b.Until(fmt.Sprintf("%d tasks ran", want), func() bool { return b.Count("ran.txt") == want })
		})
	}
}

// A shell may close what it does not need.
func TestATickWithClosedDescriptors(t *testing.T) {
	t.Parallel()
	for _, closed := range []string{"<&-", ">&-", "2>&-", "<&- >&- 2>&-"} {
		b := newBox(t, eight)
		c := exec.Command("/bin/sh", "-c", `exec "$0" run `+closed, schedtest.Binary)
		c.Dir, c.Env = b.Dir, b.Command().Env
		c.Run()
		if got := c.ProcessState.ExitCode(); got != 1 {
			t.Errorf("%s: exit code %d", closed, got)
		}
		b.Until("all tasks ran with "+closed, func() bool { return b.Count("ran.txt") == 8 })
	}
}

// Commands have SIGPIPE as every program expects it, whatever the caller of sched made of it: `yes
// | head -1` ends.
func TestCommandsEndByABrokenPipe(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - {name: fore, cron: "* * * * *", command: kill -PIPE $$; echo survived >> survived.txt}
  - {name: back, cron: "* * * * *", command: kill -PIPE $$; echo survived >> survived.txt, background: true}
`)
	c := exec.Command("/bin/sh", "-c", `trap "" PIPE; exec "$0" run`, schedtest.Binary)
	c.Dir, c.Env = b.Dir, b.Command().Env
	c.Run()
	for _, task := range []string{"fore", "back"} {
		if r := b.Outcome(task, 1); r.ExitCode == nil || *r.ExitCode != 141 {
			t.Errorf("%s: %s %v", task, r.Outcome, r.ExitCode)
		}
	}
}

// A full disk behind `sched list --json > tasks.json` was a success with half a file.
func TestResultsThatCannotBePrintedAreAFailure(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	b := newBox(t, eight)
	b.Sched("run", "--at", "2020-01-01 00:00")
	for _, args := range []string{
		"list", "list --json", "history", "history --json", "history --csv", "history --summary", "status",
		"status --json", "why f1", "why f1 --json",
		"run --dry-run", "run --dry-run --json", "run --only f1", "run --only f1 --json", "logs f1", "version",
		"--help", "servers --json",
	} {
		c := b.Command(strings.Fields(args)...)
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

// The logger behind a crontab line hung. Its pipe was full, so the first line that a tick printed
// stopped it, with what it had locked then: the mutex of a task, or last-tick, on which the ticks
// of all later minutes waited.
func TestAReaderThatHangsStopsNoTick(t *testing.T) {
	t.Parallel()
	for name, redirect := range map[string]func(*exec.Cmd, *os.File){
		"stdout": func(c *exec.Cmd, pipe *os.File) { c.Stdout = pipe },
		"stderr": func(c *exec.Cmd, pipe *os.File) { c.Stderr = pipe },
		"both":   func(c *exec.Cmd, pipe *os.File) { c.Stdout, c.Stderr = pipe, pipe },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, eight)
			b.Sched("run", "--at", "2020-01-01 00:00", "--only", "f1")
			// so that there is something on stderr before the first task
			b.Write("schedule.yaml", eight+"  - {name: broken}\n")
			_, pipe := schedtest.HungReader(t)
			c := b.Command("run", "-v")
			var said strings.Builder
			c.Stdout, c.Stderr = &said, &said
			redirect(c, pipe)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			b.Until("all tasks ran", func() bool { return b.Count("ran.txt") == 1+8 })
			if out, code := b.Sched("run", "--at", "2020-01-01 00:00", "--only", "f2"); code != 2 ||
				b.Count("ran.txt") != 1+8+1 {
				t.Errorf("another tick: exit code %d\n%s", code, out)
			}
			begun := time.Now()
			c.Wait()
			if got := c.ProcessState.ExitCode(); got != 2 || time.Since(begun) > schedtest.Patience/2 {
				t.Errorf("exit code %d after %s", got, time.Since(begun))
			}
			if name == "stdout" && !strings.Contains(said.String(),
				"sched: 8 lines of this report are lost: nobody read them\n") {
				t.Errorf("it does not say what was lost:\n%s", said.String())
			}
		})
	}
}

// A reader that is only slow gets everything, in its order.
func TestAReaderThatIsSlowGetsTheWholeReport(t *testing.T) {
	t.Parallel()
	tasks := "tasks:\n"
	for i := range 1500 {
		tasks += fmt.Sprintf("  - {name: t%04d, cron: '* * * * *', command: 'true', enabled: true, unless_between: ['0:00', '23:59']}\n", i)
	}
	b := newBox(t, tasks)
	reader, pipe := schedtest.HungReader(t)
	c := b.Command("run", "--json", "--at", "2020-01-01 00:00")
	c.Stdout = pipe
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pipe.Close()
	b.Until("the tick is over", func() bool { _, err := os.Stat(b.Path(".sched/sched.db")); return err == nil && b.OpenRuns() == "" })
	text, err := io.ReadAll(bufio.NewReaderSize(reader, 512))
	if err = errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
	var report struct{ Tasks []struct{ Name string } }
	if err := json.Unmarshal(bytes.TrimLeft(text, "\x00"), &report); err != nil || len(report.Tasks) != 1500 {
		t.Errorf("%d tasks, %v", len(report.Tasks), err)
	}
}
