//go:build linux

package work_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/testing/machine"
	"sched/testing/schedtest"
)

// chatty prints more than a pipe holds, and notes that it has.
const chatty = `
tasks:
  - {name: first, cron: "* * * * *", command: seq 50000; echo done >> ran.txt}
  - {name: second, cron: "* * * * *", command: seq 50000; echo done >> ran.txt}
  - {name: behind, cron: "* * * * *", command: seq 50000; echo done >> ran.txt, background: true}
`

// A reader of --logs that hangs delays no task, and what it did not read is kept with the runs.
func TestALogReaderThatHangsDelaysNoTask(t *testing.T) {
	t.Parallel()
	machine.Slow(t)
	b := newBox(t, chatty)
	_, pipe := schedtest.HungReader(t)
	c := b.Command("run", "--logs")
	c.Stdout = pipe
	begun := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	b.Until("all tasks ran", func() bool { return b.Count("ran.txt") == 3 })
	if c.Wait(); time.Since(begun) > schedtest.Patience/2 {
		t.Errorf("the tick took %s", time.Since(begun))
	}
	if out, _ := b.Sched("logs", "second"); strings.Count(out, "\n") != 50_000 {
		t.Errorf("%d lines are kept", strings.Count(out, "\n"))
	}
}

// work prints what its runs print, in the foreground and in the background. It prints each line
// once, and also the lines of a run that it stops.
func TestWorkPrintsWhatRunsPrint(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
logs: true
tasks:
  - {name: front, cron: "45 10 * * *", command: echo says front}
  - {name: back, cron: "45 10 * * *", background: true, command: 'echo says back; trap "echo was told to end; exit 1" TERM; while :; do sleep 0.05; done'}
`)
	w := b.work("--grace", "0s")
	b.Until("both printed", func() bool {
		out := b.Read("work.out")
		return strings.Contains(out, "front | says front\n") && strings.Contains(out, "back  | says back\n")
	})
	w.signal(syscall.SIGTERM)
	if code := w.ended(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	out := b.Read("work.out")
	for _, line := range []string{"front | says front\n", "back  | says back\n", "back  | was told to end\n"} {
		if strings.Count(out, line) != 1 {
			t.Errorf("%q is there %d times:\n%s", line, strings.Count(out, line), out)
		}
	}
}

// A progress bar goes back to the start of its line, which ends when all is done. A row of dots has
// no end either.
func TestWorkPrintsHowFarALineIs(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
logs: true
tasks:
  - {name: bar, cron: "45 10 * * *", background: true, command: 'printf "10%%\r20%%\r30%%\r40"; await go; printf "%%\ndone\n"'}
  - {name: dots, cron: "45 10 * * *", background: true, command: 'printf "testing ..."; await go; echo " ok"'}
`)
	b.work()
	b.Until("both are shown before they end", func() bool {
		out := b.Read("work.out")
		return strings.Contains(out, "bar  | 30%\n") && strings.Contains(out, "dots | testing ...\n")
	})
	b.Write("go", "")
	b.Until("the rest is shown", func() bool {
		out := b.Read("work.out")
		return strings.Contains(out, "bar  | 40%\nbar  | done\n") && strings.Contains(out, "dots |  ok\n")
	})
}

// No further tick would print the background runs that failed after the last one, so work prints
// them, each once.
func TestWorkPrintsAtItsEndWhatFailedOrWasStopped(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{}, {"--logs"}, {"--logs", "--json"}, {"-q"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			b := newBox(t, `
tasks:
  - {name: fails, cron: "45 10 * * *", background: true, command: 'touch fails; await go; exit 3'}
  - {name: works, cron: "45 10 * * *", background: true, command: 'touch works; await go'}
  - {name: stays, cron: "45 10 * * *", background: true, command: 'touch stays; exec sleep 1000'}
`)
			w := b.work(append(flags, "--grace", "1h")...)
			b.Until("all run", func() bool {
				return schedtest.Exists(b.Path("fails")) && schedtest.Exists(b.Path("works")) && schedtest.Exists(b.Path("stays"))
			})
			w.signal(syscall.SIGTERM)
			b.Until("it ends", func() bool { return strings.Contains(b.Read("work.out"), "nothing more is started") })
			b.Write("go", "")
			b.Until("two have ended", func() bool { return strings.Count(b.OpenRuns(), "\n") == 1 })
			w.signal(syscall.SIGTERM)
			if code := w.ended(); code != 143 {
				t.Errorf("exit code %d", code)
			}
			out := b.Read("work.out")
			failed, stopped := "10:45  fails  failed in", "10:45  stays  stopped by SIG"
			if len(flags) == 2 {
				failed, stopped = `"outcome":"failed"`, `"outcome":"stopped"`
			}
			if strings.Count(out, failed) != 1 || strings.Count(out, stopped) != 1 ||
				strings.Contains(out, "works  succeeded") {
				t.Errorf("it printed:\n%s", out)
			}
			if r := b.History("fails"); len(r) != 1 || r[0].Outcome != "failed" {
				t.Errorf("%+v", r)
			}
		})
	}
}
