//go:build linux

package kills_test

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sched/testing/schedtest"
)

// following starts sched logs -f, and waits until it has printed what the run said.
func following(b *box, task string) (c *exec.Cmd, out *shared, errs *bytes.Buffer) {
	b.Helper()
	c = b.Command("logs", "-f", task)
	out, errs = &shared{}, &bytes.Buffer{}
	c.Stdout, c.Stderr = out, errs
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Until("logs -f prints", func() bool { return strings.Contains(out.String(), "\n") })
	return c, out, errs
}

// shared is what a process prints while the test looks at it.
type shared struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

const talker = `
tasks:
  - name: talker
    cron: "* * * * *"
    background: true
    without_overlapping: true
    command: echo here I am; echo $$ > command.pid; echo $PPID > supervisor.pid; exec await go
`

func TestFollowEndsWhenTheWholeRunIsKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t, talker)
	b.Sched("run")
	c, out, errs := following(b, "talker")
	command, supervisor := b.PidIn("command.pid"), b.PidIn("supervisor.pid")
	for _, pid := range []int{schedtest.Parent(t, supervisor), supervisor, command} {
		b.Kill(pid)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("logs -f: %v", err)
	}
	if out.String() != "here I am\n" || !strings.Contains(errs.String(),
		"talker vanished; the next tick will finish its run") {
		t.Errorf("got %q and %q", out, errs)
	}
	b.Free("talker")
}

func TestFollowEndsWithASignalLikeTail(t *testing.T) {
	t.Parallel()
	b := newBox(t, talker)
	b.Sched("run")
	c, out, errs := following(b, "talker")
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := c.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("got %v", err)
	}
	if out.String() != "here I am\n" || errs.Len() > 0 {
		t.Errorf("got %q and %q", out, errs)
	}
	b.Write("go", "")
	if r := b.Outcome("talker", 1); r.Outcome != "succeeded" {
		t.Errorf("the run did not survive it: %+v", r)
	}
}

// More than one piece of output comes whole, and nothing of it twice.
func TestFollowPrintsALotOfOutput(t *testing.T) {
	t.Parallel()
	b := newBox(t, `
tasks:
  - name: many
    cron: "* * * * *"
    background: true
    command: echo first; await go; i=0; while [ $i -lt 200 ]; do head -c 5000 /dev/zero | tr '\0' x; i=$((i+1)); done; echo last
`)
	b.Sched("run")
	c, out, errs := following(b, "many")
	b.Write("go", "")
	if err := c.Wait(); err != nil {
		t.Errorf("logs -f: %v", err)
	}
	want := "first\n" + strings.Repeat("x", 1_000_000) + "last\n"
	if out.String() != want {
		t.Errorf("got %d bytes, want %d", len(out.String()), len(want))
	}
	if !strings.HasPrefix(errs.String(), "sched: many succeeded in ") {
		t.Errorf("got %q", errs)
	}
}

// The next attempt may be an hour and a tick away.
func TestFollowWaitsForADeferredAttempt(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	c, out, errs := following(b, "flaky")
	b.Write("good", "")
	b.Until("a tick goes on with it", func() bool {
		return strings.Contains(b.Tick(2*time.Hour, "--only", "flaky"), "attempt 2 started")
	})
	if err := c.Wait(); err != nil {
		t.Errorf("logs -f: %v", err)
	}
	if out.String() != "attempt 1\nsched: attempt 2\nattempt 2\n" || !strings.Contains(errs.String(), "sched: flaky succeeded in ") {
		t.Errorf("got %q and %q", out, errs)
	}
}

func TestWhyKnowsWhatWaits(t *testing.T) {
	t.Parallel()
	b := waiting(t)
	if out, _ := b.Sched("why", "flaky", "--at", schedtest.LeapDay); !strings.Contains(out, "\n  waiting for attempt 2 until ") {
		t.Errorf("of the slot:\n%s", out)
	}
	b.Sched("trigger", "flaky", "--in", "30m")
	out, _ := b.Sched("why", "flaky")
	if !strings.Contains(out, "\nflaky is waiting for attempt 2 until ") ||
		!strings.Contains(out, "\nflaky is waiting until ") || strings.Contains(out, "held") {
		t.Errorf("of the task:\n%s", out)
	}
	b.Sched("trigger", "--cancel", "flaky")
}
