package cmd_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/testing/machine"
)

// fakeCrontab is a crontab(1) that replaces its file as the real one does: a draft, then a rename.
// If $KILL_AT names the moment, it kills sched, its parent, and goes on: the real one would not
// notice either.
const fakeCrontab = `#!/bin/sh
tab=$HOME/tab
touch "$HOME/busy.$$"
trap 'rm -f "$HOME/busy.$$"' EXIT
at() { if [ "$KILL_AT" = "$1" ]; then kill -9 $PPID; fi; }
if [ "$1" = -u ]; then shift 2; fi
case "$1" in
-l)
	echo >>"$HOME/lists"
	at "list $(wc -l <"$HOME/lists" | tr -d ' ')"
	[ -e "$tab" ] || { echo "no crontab for me" >&2; exit 1; }
	cat "$tab" ;;
-r) rm "$tab" ;;
-)
	at "write begins"
	cat >"$tab.draft"
	at "draft is there"
	mv "$tab.draft" "$tab"
	at "write ended" ;;
esac
`

// oddCrontab is 300 lines such as people have, and shouldn't.
func oddCrontab() string {
	random := rand.New(rand.NewPCG(3, 3))
	odd := []string{
		"", "   ", "\t# indented comment", "#5 4 * * * /bin/off", "MAILTO=\"\"",
		"PATH = \"/bin:$HOME/bin\"", "# Grüße 日本",
		"@reboot /bin/start", "0 5 * * * tar czf x-`date +%F`.tgz /srv", "5\t4  * *\t* /bin/tabs\tand  blanks  ",
		"5 4 * * FRI-SUN /bin/never", "*/30 * * * * echo \\r \\b \\\\ | cat%in%put",
		"# * * * * * /other/sched run -c /other/schedule.yaml # sched install 00000000",
	}
	var text strings.Builder
	for i := range 300 {
		line := odd[random.IntN(len(odd))]
		if i%2 == 0 {
			line = fmt.Sprintf("%d %d * * * /bin/job-%d --flag 'a b' >> /var/log/job.log 2>&1",
				random.IntN(60), random.IntN(24), i)
		}
		text.WriteString(line + "\n")
	}
	return text.String()
}

// installBox is an account with a crontab of 300 odd lines and a schedule that was imported from
// it.
func installBox(t *testing.T) (b *box, old string) {
	b = newBox(t, "tasks: []\n")
	old = oddCrontab()
	b.Write("tab", old)
	if err := os.Mkdir(b.Path("bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.Path("bin/crontab"), []byte(fakeCrontab), 0o755); err != nil {
		t.Fatal(err)
	}
	os.Remove(b.Path("schedule.yaml"))
	if out, err := b.installer("", "import", "-o", "schedule.yaml").CombinedOutput(); !bytes.Contains(out,
		[]byte("schedule.yaml has ")) {
		t.Fatalf("%v\n%s", err, out)
	}
	return b, old
}

// installer is sched with the fake crontab; as root it would write to /etc, which is in the box.
func (b *box) installer(killAt string, args ...string) *exec.Cmd {
	os.Remove(b.Path("lists"))
	c := b.Command(args...)
	c.Env = append(c.Env, "PATH="+b.Path("bin")+":"+os.Getenv("PATH"), "KILL_AT="+killAt,
		"SCHED_TEST_ETC="+b.Path("etc"), "XDG_STATE_HOME="+b.Path("state"))
	return c
}

// Killed at any moment, install leaves the old crontab or the new one, and uninstall then restores
// the old one. The first install wrote to a pipe: when it was killed, crontab(1) took the end of
// the pipe for the end of the crontab, and installed an empty one.
func TestInstallThatIsKilledLeavesTheOldCrontabOrTheNewOne(t *testing.T) {
	t.Parallel()
	b, old := installBox(t)
	install := []string{"install", "--replace", "--yes", "--no-wait"}
	b.install()
	installed := b.Read("tab")
	if n := strings.Count(installed, "# replaced by sched "); n < 140 || !strings.HasSuffix(installed, "\n") {
		t.Fatalf("%d lines are replaced:\n%s", n, installed)
	}
	check := func(when string) {
		t.Helper()
		if now := b.Read("tab"); now != old && now != installed {
			t.Errorf("killed %s, it is neither the old crontab nor the new one:\n%s", when, now)
		}
	}
	b.uninstall(old)
	for _, moment := range []string{"list 1", "list 2", "list 3", "write begins", "draft is there", "write ended"} {
		if err := b.installer(moment, install...).Run(); err == nil {
			t.Errorf("install was not killed at %q", moment)
		}
		b.settled()
		check("at " + moment)
		b.uninstall(old)
	}
	random := rand.New(rand.NewPCG(5, 5))
	for range machine.Sized(2, 8) {
		c := b.installer("", install...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		after := time.Duration(random.IntN(600)) * time.Millisecond
		kill := time.AfterFunc(after, func() { c.Process.Kill() })
		c.Wait()
		kill.Stop()
		b.settled()
		check(fmt.Sprint("after ", after))
		b.uninstall(old)
	}
}

// Removal is as safe: killed at any moment, uninstall leaves the crontab with the line or the
// crontab from before it.
func TestUninstallThatIsKilledLeavesOneOfTheTwoCrontabs(t *testing.T) {
	t.Parallel()
	b, old := installBox(t)
	b.install()
	installed := b.Read("tab")
	killed := 0
	for _, moment := range []string{"list 1", "list 2", "list 3", "write begins", "draft is there", "write ended"} {
		if err := b.installer(moment, "uninstall", "--yes").Run(); err != nil {
			killed++
		}
		b.settled()
		if now := b.Read("tab"); now != old && now != installed {
			t.Fatalf("killed at %q, it is neither the crontab with the line nor the old one:\n%s", moment, now)
		}
		if moment == "write begins" && b.Read("tab") == installed {
			t.Errorf("crontab(1) goes on without sched, and did not write")
		}
		b.install()
		if b.Read("tab") != installed {
			t.Fatalf("after a kill at %q and another install it is another crontab", moment)
		}
	}
	if killed < 5 { // it may list twice
		t.Errorf("%d of 6 were killed", killed)
	}
	b.uninstall(old)
}

// install installs the schedule with all the lines that it replaces. An installed schedule stays.
func (b *box) install() {
	b.Helper()
	if out, err := b.installer("", "install", "--replace", "--yes", "--no-wait").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}

// settled waits until crontab(1), which goes on without sched, has ended.
func (b *box) settled() {
	b.Helper()
	b.Until("crontab(1), which goes on, has ended",
		func() bool { busy, _ := filepath.Glob(b.Path("busy.*")); return len(busy) == 0 })
}

// uninstall takes the schedule out of the crontab, if it is in there, and checks that the old one
// is left, byte for byte.
func (b *box) uninstall(old string) {
	b.Helper()
	out, err := b.installer("", "uninstall", "--yes").CombinedOutput()
	if err != nil && !bytes.Contains(out, []byte("is not installed")) {
		b.Fatalf("%v\n%s", err, out)
	}
	if now := b.Read("tab"); now != old {
		b.Fatalf("after uninstall it is not the old crontab:\n%s", now)
	}
	copies, _ := filepath.Glob(b.Path("state/sched/crontabs/*"))
	rootCopies, _ := filepath.Glob(b.Path("etc/crontabs/*"))
	if len(copies)+len(rootCopies) == 0 {
		b.Fatal("there is no copy of the old crontab")
	}
}
