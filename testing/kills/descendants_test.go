//go:build linux

package kills_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"sched/testing/schedtest"
)

// escapes are commands that leave the environment and the session of their run. Each ends with a
// sleep, whose argument %s names it.
func escapes() map[string]string {
	all := map[string]string{
		"a session":        `env -i PATH="$PATH" setsid sleep %s &`,
		"deaf":             `env -i PATH="$PATH" setsid sh -c 'trap "" TERM; while :; do sleep %s; done' &`,
		"a grandchild":     `env -i PATH="$PATH" setsid sh -c 'setsid sleep %s & wait' &`,
		"without a parent": `(env -i PATH="$PATH" setsid sleep %s &)`,
		"a daemon":         `(env -i PATH="$PATH" setsid sleep %s > /dev/null 2>&1 &)`,
	}
	if os.Geteuid() == 0 {
		for name, command := range map[string]string{
			"su":             `su - daemon -s /bin/sh -c 'sleep %s' &`,
			"a daemon of su": `su - daemon -s /bin/sh -c 'nohup sleep %s > /dev/null 2>&1 &'`,
			"su, in itself":  `su - daemon -s /bin/sh -c 'sleep %s & wait' &`,
			"runuser":        `runuser -l daemon -s /bin/sh -c 'sleep %s' &`,
		} {
			if _, err := exec.LookPath(strings.Fields(command)[0]); err == nil {
				all[name] = command
			}
		}
	}
	return all
}

// sleeps counts the sleeps of all tests, so that each has an argument of its own.
var sleeps atomic.Int64

func newSleep() string { return fmt.Sprintf("3%d.%d", os.Getpid(), sleeps.Add(1)) }

// sleeping returns the processes that sleep that long.
func sleeping(argument string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if text, _ := os.ReadFile(file); string(text) == "sleep\x00"+argument+"\x00" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// escaping returns the lines of a command with all escapes, and their sleeps by name.
func escaping(t *testing.T) (lines string, bySleep map[string]string) {
	bySleep = map[string]string{}
	for name, command := range escapes() {
		sleep := newSleep()
		bySleep[sleep] = name
		lines += "      " + fmt.Sprintf(command, sleep) + "\n"
		t.Cleanup(func() {
			for _, pid := range sleeping(sleep) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
	return lines, bySleep
}

// Crontabs are full of `su - app -c`, which clears the environment and begins a session.
func TestWhatClearedItsEnvironmentEndsWithItsRun(t *testing.T) {
	t.Parallel()
	for _, background := range []bool{false, true} {
		for _, how := range []string{"timeout", "stop", "replace"} {
			t.Run(fmt.Sprintf("%s, background %t", how, background), func(t *testing.T) {
				if how == "replace" && !background {
					t.Skip("only background tasks replace")
				}
				lines, bySleep := escaping(t)
				timeout, overlapping := "1h", "true"
				if how == "replace" {
					overlapping = how
				}
				if how == "timeout" {
					timeout = "8s"
				}
				b := newBox(t, fmt.Sprintf(`
tasks:
  - name: job
    cron: "* * * * *"
    background: %t
    without_overlapping: %s
    timeout: %s
    kill_after: 500ms
    command: |
      [ ! -e second ] || exit 0
%s      echo > started
      sleep 300
    after: echo $SCHED_OUTCOME >> after.txt
`, background, overlapping, timeout, lines))
				tick := b.Command("run")
				if err := tick.Start(); err != nil {
					t.Fatal(err)
				}
				if how != "timeout" {
					b.Until("all have escaped", func() bool {
						for sleep := range bySleep {
							if len(sleeping(sleep)) == 0 {
								return false
							}
						}
						return true
					})
				}
				want := "stopped\n"
				switch how {
				case "timeout":
					want = "timed out\n"
				case "stop":
					if out, code := b.Sched("stop", "job"); code != 0 {
						t.Errorf("exit code %d: %s", code, out)
					}
				case "replace":
					b.Write("second", "")
					b.Sched("run", "--at", schedtest.ThisMinute())
					want = "stopped\nsucceeded\n"
				}
				tick.Wait()
				b.Until("it has ended", func() bool { return b.Read("after.txt") == want })
				for sleep, name := range bySleep {
					if pids := sleeping(sleep); len(pids) > 0 {
						t.Errorf("%s lives on: %v", name, pids)
					}
				}
				if b.Count("started") != 1 {
					t.Error("its command did not come to its end")
				}
			})
		}
	}
}

// A daemon that a command starts on purpose stays when the command has ended by itself. While the
// command lives, what it left behind is reaped when it ends.
func TestAnOrphanStaysAfterItsRunAndLeavesNoZombie(t *testing.T) {
	t.Parallel()
	for _, background := range []bool{false, true} {
		short, daemon := newSleep(), newSleep()
		b := newBox(t, fmt.Sprintf(`
tasks:
  - name: job
    cron: "* * * * *"
    background: %t
    command: |
      echo $PPID > watcher.pid
      (env -i PATH="$PATH" setsid sleep %s &)
      (env -i PATH="$PATH" setsid sleep %s &)
      await go
`, background, short, daemon))
		tick := b.Command("run")
		if err := tick.Start(); err != nil {
			t.Fatal(err)
		}
		watcher := b.PidIn("watcher.pid")
		b.Until("they have lost their parents", func() bool {
			orphans := append(sleeping(short), sleeping(daemon)...)
			return len(orphans) == 2 && schedtest.Parent(t, orphans[0]) == watcher && schedtest.Parent(t, orphans[1]) == watcher
		})
		orphan := sleeping(short)[0]
		b.Kill(orphan)
		b.Until("it is reaped", func() bool {
			_, err := os.Stat(fmt.Sprintf("/proc/%d", orphan))
			return os.IsNotExist(err)
		})
		b.Write("go", "")
		tick.Wait()
		if r := b.Outcome("job", 1); r.Outcome != "succeeded" {
			t.Errorf("%+v", r)
		}
		if pids := sleeping(daemon); len(pids) != 1 {
			t.Errorf("the daemon was ended: %v", pids)
		} else {
			b.Kill(pids[0])
		}
	}
}

// The command itself has no environment. `sched stop` finds it all the same, and so does the tick
// after its supervisor and its witness were killed.
func TestACommandWithoutAnEnvironmentIsFound(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"stop", "lost"} {
		sleep := newSleep()
		b := newBox(t, fmt.Sprintf(`
tasks:
  - name: job
    cron: "* * * * *"
    background: true
    without_overlapping: true
    before: echo $PPID > supervisor.pid
    command: exec env -i PATH="$PATH" sleep %s
    after: echo $SCHED_OUTCOME >> after.txt
`, sleep))
		b.Sched("run")
		b.Until("it runs", func() bool { return len(sleeping(sleep)) == 1 })
		b.untilWrittenDown(sleeping(sleep)[0])
		want := "stopped\n"
		if how == "stop" {
			if out, code := b.Sched("stop", "job"); code != 0 {
				t.Errorf("exit code %d: %s", code, out)
			}
		} else {
			want = "lost\n"
			supervisor := b.PidIn("supervisor.pid")
			witness := schedtest.Parent(t, supervisor)
			b.Kill(witness)
			b.Kill(supervisor)
			b.Gone(supervisor)
			b.Sched("run", "--at", "2026-01-01T00:00:00Z")
		}
		b.Until("it has ended", func() bool { return strings.HasPrefix(b.Read("after.txt"), want) })
		if pids := sleeping(sleep); how == "stop" && len(pids) > 0 || len(pids) > 1 {
			t.Errorf("%s: it lives on", how)
		}
		for _, pid := range sleeping(sleep) { // of the tick's own slot
			b.Kill(pid)
		}
	}
}

// A command may become another user, as with sudo(8), whose processes this user cannot signal. They
// are named, and nothing overlaps them.
func TestTheMutexIsTakenWhileSomethingSurvivesKILL(t *testing.T) {
	t.Parallel()
	onlyRoot(t)
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip("needs setpriv")
	}
	for _, background := range []bool{false, true} {
		sleep := newSleep()
		b := newBox(t, fmt.Sprintf(`
tasks:
  - name: job
    cron: "* * * * *"
    background: %t
    mutex: one
    timeout: 5s
    kill_after: 100ms
    retry: {attempts: 2}
    command: |
      echo >> begun
      [ ! -e free ] || exit 0
      ./sudo --reuid=0 --clear-groups sleep %s &
      exec env -i sleep 300
    after: echo $SCHED_OUTCOME >> after.txt
`, background, sleep))
		b.reachable()
		b.asRoot("cp "+setpriv+" sudo", "chmod 4755 sudo", "chown 12345 .")
		b.asAttacker(schedtest.Binary + " run 2> tick.txt || true")
		b.Until("it has timed out", func() bool { return b.Read("after.txt") == "timed out\n" })
		pids := sleeping(sleep)
		if len(pids) == 0 {
			t.Skip("this system lets nobody become root")
		}
		note := fmt.Sprintf("process %d survived KILL (it belongs to another user), and was left behind", pids[0])
		if r := b.Outcome("job", 1); r.Attempts != 1 || !slices.Contains(r.Notes, note) {
			t.Errorf("%+v", r)
		}
		again := schedtest.Binary + " run --at " + schedtest.ThisMinute() + " > again.txt 2>&1 || true"
		b.asAttacker(again)
		if text := b.Read("again.txt"); !strings.Contains(text, "still running") || b.Count("begun") != 1 {
			t.Errorf("it ran beside what survived: %s", text)
		}
		b.Kill(pids[0])
		b.Write("free", "")
		b.asAttacker(again)
		b.Until("the next run has begun", func() bool { return b.Count("begun") == 2 })
	}
}

// Two tasks of one tick leave daemons behind. The one whose time is over loses its own, which has
// its lock open, and the daemon of the other stays.
func TestADaemonEndsWithItsRunAndNotWithTheRunBesideIt(t *testing.T) {
	t.Parallel()
	ours, theirs := newSleep(), newSleep()
	b := newBox(t, fmt.Sprintf(`
defaults: {background: true, without_overlapping: true, kill_after: 500ms}
tasks:
  - name: job
    cron: "* * * * *"
    timeout: 6s
    command: |
      (env -i PATH="$PATH" setsid sleep %s > /dev/null 2>&1 &)
      sleep 300
    after: echo $SCHED_OUTCOME > job.txt
  - name: beside
    cron: "* * * * *"
    command: |
      (env -i PATH="$PATH" setsid sleep %s > /dev/null 2>&1 &)
      echo > begun
      await go
    after: echo $SCHED_OUTCOME > beside.txt
`, ours, theirs))
	b.Sched("run")
	b.Until("the daemons live", func() bool { return len(sleeping(ours)) == 1 && len(sleeping(theirs)) == 1 })
	b.Until("its time is over", func() bool { return b.Read("job.txt") == "timed out\n" })
	if pids := sleeping(ours); len(pids) > 0 {
		t.Errorf("its daemon lives on: %v", pids)
	}
	b.Write("go", "")
	b.Until("the other has ended", func() bool { return b.Read("beside.txt") == "succeeded\n" })
	if pids := sleeping(theirs); len(pids) != 1 {
		t.Errorf("the daemon of the other was ended: %v", pids)
	} else {
		b.Kill(pids[0])
	}
}
