//go:build linux

package kills_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"sched/testing/schedtest"
)

// Somebody copies the folder of an application, state folder and all, or restores its database from
// a backup. The live run belongs to the original: a tick of the copy neither ends it nor fires its
// hooks.
func TestATickOfACopyLeavesTheRunsOfTheOriginalAlone(t *testing.T) {
	t.Parallel()
	for _, how := range []string{
		"cp -a . ../new",
		`mkdir -p -m 700 ../new/.sched; cp schedule.yaml ../new; sqlite3 .sched/sched.db ".backup ../new/.sched/sched.db"`,
		`mkdir -p -m 700 ../new/.sched; cp schedule.yaml ../new; sqlite3 .sched/sched.db "VACUUM INTO '../new/.sched/sched.db'"`,
	} {
		t.Run(how, func(t *testing.T) {
			if _, err := exec.LookPath("sqlite3"); err != nil && strings.Contains(how, "sqlite3") {
				t.Skip("needs sqlite3")
			}
			b := newBox(t, `
tasks:
  - name: job
    cron: "* * * * *"
    background: true
    without_overlapping: true
    command: |
      [ ! -e ended ] || exit 0
      echo $$ > command.pid
      await go
    after: echo $SCHED_OUTCOME >> after.txt
`)
			b.Sched("run")
			command := b.PidIn("command.pid")
			b.untilWrittenDown(command)
			run := b.liveRun()
			if out, err := b.shell("umask 077; " + how); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			const copied = " is a copy of another state folder"
			config := b.Path("../new/schedule.yaml")
			if out, _ := b.Sched("doctor", "-c", config); !strings.Contains(out, copied) {
				t.Errorf("doctor: %s", out)
			}
			b.Write("../new/ended", "")
			if out, _ := b.Sched("run", "-c", config, "--at", schedtest.ThisMinute()); !strings.Contains(out, copied) ||
				!strings.Contains(out, "job "+run[len(run)-12:]) {
				t.Errorf("the tick of the copy: %s", out)
			}
			b.Until("the copy has run", func() bool { return strings.HasSuffix(b.Read("../new/after.txt"), "succeeded\n") })
			if got := b.Read("../new/after.txt"); got != "succeeded\n" {
				t.Errorf("hooks in the copy: %q", got)
			}
			out, _ := b.Sched("history", "job", "-c", config, "--json")
			if !strings.Contains(out, `"outcome": "lost"`) || !strings.Contains(out, "this state folder is a copy") {
				t.Errorf("history of the copy: %s", out)
			}
			if out, _ := b.Sched("doctor", "-c", config); strings.Contains(out, copied) {
				t.Errorf("doctor, afterwards: %s", out)
			}
			if !schedtest.Alive(command) {
				t.Fatal("the command of the original was ended")
			}
			b.Write("go", "")
			if r := b.Outcome("job", 1); r.Outcome != "succeeded" || b.Read("after.txt") != "succeeded\n" {
				t.Errorf("the original: %+v, after %q", r, b.Read("after.txt"))
			}
		})
	}
}

// The page about the state folder says how to make a backup and how to restore it. Ticks go on with
// the restored database.
func TestABackupIsRestoredAsThePageSays(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Skip("needs sqlite3")
	}
	page, err := os.ReadFile("../../docs/state-folder.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := func(after string) (all string) {
		_, section, _ := strings.Cut(string(page), after)
		for line := range strings.Lines(section) {
			if text, ok := strings.CutPrefix(line, "    "); ok {
				all += text
			} else if all != "" {
				break
			}
		}
		return all
	}
	b := newBox(t, `
tasks:
  - {name: job, cron: "* * * * *", command: echo done}
`)
	b.Sched("run", "--at", "2026-01-01T00:00:00Z")
	if out, err := b.shell(commands("## A backup of the state")); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b.Sched("run", "--at", "2026-01-01T00:01:00Z")
	if out, err := b.shell(commands("To restore it")); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := b.History("job"); len(got) != 1 || got[0].Outcome != "succeeded" {
		t.Errorf("%+v", got)
	}
	if out, code := b.Sched("run", "--at", "2026-01-01T00:02:00Z"); code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	if got := b.History("job"); len(got) != 2 {
		t.Errorf("%+v", got)
	}
}

// shell runs a line in the folder of the box.
func (b *box) shell(line string) ([]byte, error) {
	c := exec.Command("sh", "-ec", line)
	c.Dir = b.Dir
	return c.CombinedOutput()
}
