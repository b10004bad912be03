//go:build linux && amd64

package takeover_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/testing/schedtest"
)

// A rig is a machine in a mount namespace: its /etc, spool, /run and state are its own, and a cron
// runs there whose clock is fast.
type rig struct {
	*testing.T
	dir   string
	pid   int       // of the cron
	speed int       // how many seconds pass on the clock of cron and sched in one second
	real  time.Time // when the clock showed shown
	shown time.Time
}

// prepare is what the shell does in the new namespace before it becomes cron.
const prepare = `
set -e
cd "$1"
cp -a /etc etc
mount --bind etc /etc
for dir in /run /var/spool/cron/crontabs /etc/cron.d /etc/sched /var/lib /etc/cron.daily; do
	mkdir -p $dir
	mount -t tmpfs -o mode=755 tmpfs $dir
done
chgrp crontab /var/spool/cron/crontabs
chmod 1730 /var/spool/cron/crontabs
echo "SCHED_TEST_CLOCK_FILE=$1/clock" >/etc/environment
. ./setup
touch ready
while [ ! -e go ]; do sleep 0.01; done
export LD_PRELOAD="$2" FAKETIME="$(cat go)"
exec /usr/sbin/cron -f
`

// eachMinute are jobs that write down who they are, and the real time, in one write(2).
const eachMinute = `
printf 'SHELL=/bin/sh\n# a comment\n* *\t* * *\troot\t'"$1"'/job etc  \n* * * * * root cd / && run-parts --report /etc/cron.daily\n' >/etc/crontab
printf 'MAILTO=""\n* * * * * root '"$1"'/job one\n* * * * * root '"$1"'/job two\n\n*/2 * * * * root '"$1"'/job even\n' >/etc/cron.d/first
printf 'MAILTO=""\n* * * * * nobody '"$1"'/job three\n17 3 1 1 * root '"$1"'/job never\n' >/etc/cron.d/second
for name in a b never.sh; do
	printf '#!/bin/sh\nexec '"$1"'/job part-'$name'\n' >/etc/cron.daily/$name
	chmod 755 /etc/cron.daily/$name
done
printf '* * * * * '"$1"'/job daemon\n1-59/2 * * * * '"$1"'/job odd\n' | crontab -u daemon -
`

// jobs are the jobs, and in which minutes of the hour each starts.
var jobs = map[string]func(minute int) bool{
	"etc": always, "one": always, "two": always, "three": always, "daemon": always, "part-a": always, "part-b": always,
	"even": func(minute int) bool { return minute%2 == 0 },
	"odd":  func(minute int) bool { return minute%2 == 1 },

	"part-never.sh": func(int) bool { return false }, // run-parts passes it over
}

func always(int) bool { return true }

// newRig starts a cron whose clock shows a time, with the files that a script makes.
func newRig(t *testing.T, setup string, shown time.Time, speed int) *rig {
	if os.Getenv("SCHED_TEST_TAKEOVER") == "" {
		t.Skip("it takes minutes, in which the machine must keep up with a fast clock: SCHED_TEST_TAKEOVER=1 runs it")
	}
	libraries, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	_, err := os.Stat("/usr/sbin/cron")
	if os.Geteuid() != 0 || len(libraries) == 0 || err != nil || exec.Command("unshare", "--mount", "true").Run() != nil {
		t.Skip("it needs root, Debian's cron, libfaketime and mount namespaces")
	}
	dir, err := os.MkdirTemp(filepath.Dir(schedtest.Binary), "takeover") // where other users find their way
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, dir: dir, speed: speed}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o711)
	r.write("job", "#!/bin/sh\necho \"$(date +%s.%N) $1\" >>"+dir+"/records\n", 0o755)
	r.write("setup", setup, 0o644)
	r.write("records", "", 0o666)
	os.Chmod(filepath.Join(dir, "records"), 0o666)
	var out bytes.Buffer
	c := exec.Command("unshare", "--mount", "sh", "-c", prepare, "sh", dir, libraries[0])
	c.Env = append(os.Environ(), "TZ=UTC")
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	r.pid = c.Process.Pid
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	r.until("the files of the machine", func() bool { return r.has("ready") })
	// The clock of sched is a moment ahead: a tick must not take its minute for the one before.
	r.real, r.shown = time.Now(), shown
	r.write("clock", fmt.Sprintf("%s %s %d", r.real.UTC().Format(time.RFC3339Nano),
		r.shown.Add(2*time.Second).Format(time.RFC3339Nano), speed), 0o644)
	r.write("go.new", fmt.Sprintf("@%s x%d", r.shown.Format(time.DateTime), speed), 0o644)
	if err := os.Rename(filepath.Join(dir, "go.new"), filepath.Join(dir, "go")); err != nil {
		t.Fatal(err)
	}
	r.real = time.Now()
	return r
}

func (r *rig) write(name, text string, mode os.FileMode) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), mode); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) has(name string) bool {
	_, err := os.Stat(filepath.Join(r.dir, name))
	return err == nil
}

func (r *rig) until(what string, is func() bool) {
	r.Helper()
	for begun := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > schedtest.Patience {
			r.Fatalf("not %s", what)
		}
	}
}

// command returns a call of sched in the machine.
func (r *rig) command(ctx context.Context, arguments ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "nsenter", append([]string{
		"--mount=/proc/" + strconv.Itoa(r.pid) + "/ns/mnt", "--wd=/", schedtest.Binary}, arguments...)...)
	c.Env = append(os.Environ(), "TZ=UTC", "NO_COLOR=1", "SCHED_TEST_CRON=cron",
		"SCHED_TEST_CLOCK_FILE="+filepath.Join(r.dir, "clock"))
	return c
}

// sched calls sched in the machine.
func (r *rig) sched(arguments ...string) string {
	r.Helper()
	out, err := r.command(r.Context(), arguments...).CombinedOutput()
	if err != nil {
		r.Fatalf("sched %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

// minute returns how many minutes of the clock have passed at a real time.
func (r *rig) minute(at time.Time) int {
	shown := r.shown.Add(time.Duration(float64(at.Sub(r.real)) * float64(r.speed)))
	return int(shown.Sub(r.shown.Truncate(time.Minute)) / time.Minute)
}

// pass waits until some whole minutes have passed.
func (r *rig) pass(minutes int) {
	for end := r.minute(time.Now()) + minutes + 1; r.minute(time.Now()) < end; {
		time.Sleep(10 * time.Millisecond)
	}
}

// starts returns how often each job started in each minute.
func (r *rig) starts() map[string]map[int]int {
	text, err := os.ReadFile(filepath.Join(r.dir, "records"))
	if err != nil {
		r.Fatal(err)
	}
	all := map[string]map[int]int{}
	for line := range strings.Lines(string(text)) {
		word, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		seconds, err := strconv.ParseFloat(word, 64)
		if err != nil {
			r.Fatalf("a record %q", line)
		}
		if all[name] == nil {
			all[name] = map[int]int{}
		}
		all[name][r.minute(time.UnixMicro(int64(seconds*1e6)))]++
	}
	return all
}

// checkStarts compares the starts with what is due. The first two minutes and the last one do not
// count: they are not whole.
func (r *rig) checkStarts() {
	r.Helper()
	all, last := r.starts(), r.minute(time.Now())-1
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		for minute := 2; minute < last; minute++ {
			want := 0
			if jobs[name](minute) {
				want = 1
			}
			if got := all[name][minute]; got != want {
				r.Errorf("%s started %d times in minute %d, and not %d", name, got, minute, want)
			}
		}
	}
	r.Logf("%d minutes, %d starts", last-2, strings.Count(string(must(os.ReadFile(filepath.Join(r.dir, "records")))), "\n"))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// files returns the sums, owners and modes of what cron reads.
func (r *rig) files() map[string]string {
	r.Helper()
	all := map[string]string{}
	root := "/proc/" + strconv.Itoa(r.pid) + "/root"
	for _, pattern := range []string{"/etc/crontab", "/etc/cron.d/*", "/etc/cron.d/.*", "/var/spool/cron/crontabs/*", "/etc/cron.daily/*",
		"/etc/sched/*"} {
		found, _ := filepath.Glob(root + pattern)
		for _, path := range found {
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			owner := info.Sys().(*syscall.Stat_t)
			all[strings.TrimPrefix(path, root)] = fmt.Sprintf("%x %s %d %d",
				sha256.Sum256(must(os.ReadFile(path))), info.Mode(), owner.Uid, owner.Gid)
		}
	}
	return all
}

func (r *rig) sameFiles(before map[string]string) {
	r.Helper()
	if after := r.files(); !maps.Equal(before, after) {
		r.Errorf("the files were\n%v\nand are\n%v", before, after)
	}
}

// A machine is taken over, and given back, while its jobs are due each minute: none is lost, none
// starts twice, and the files are as before.
func TestNoStartIsLostOrDoubledByATakeover(t *testing.T) {
	t.Parallel()
	r := newRig(t, eachMinute, time.Date(2026, 12, 1, 10, 0, 30, 0, time.UTC), 12)
	before := r.files()
	r.pass(2)
	if out := r.sched("takeover", "--yes"); !strings.Contains(out, "runs 9 lines that cron ran") {
		t.Errorf("%s", out)
	}
	r.pass(3)
	if out := r.sched("history", "--json"); !strings.Contains(out, `"succeeded"`) {
		t.Errorf("the schedule ran nothing: %s", out)
	}
	if out := r.sched("takeover", "--undo", "--yes"); !strings.Contains(out, "cron has 9 lines again") {
		t.Errorf("%s", out)
	}
	r.pass(3)
	r.checkStarts()
	r.sameFiles(before)
}

// The process that takes over is killed before each of its renames, goes on when it is called
// again, and so does the one that gives back.
func TestAKilledTakeoverLosesAndDoublesNoStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, eachMinute, time.Date(2026, 12, 1, 10, 0, 30, 0, time.UTC), 20)
	before := r.files()
	r.pass(1)
	for n, taken, given := 1, false, false; !taken || !given; n++ {
		if !taken {
			taken = schedtest.KilledBeforeRename(t, r.command(t.Context(), "takeover", "--yes"), n)
			r.pass(1)
		}
		if n%3 == 0 || given { // otherwise it is given back as far as it was taken
			r.sched("takeover", "--yes")
		}
		if !given {
			given = schedtest.KilledBeforeRename(t, r.command(t.Context(), "takeover", "--undo", "--yes"), n)
			r.pass(1)
		}
		out, err := r.command(t.Context(), "takeover", "--undo", "--yes").CombinedOutput()
		if err != nil && !strings.Contains(string(out), "nothing was taken over") {
			t.Fatalf("%v\n%s", err, out)
		}
		r.pass(1)
		r.sameFiles(before)
		if t.Failed() {
			t.Logf("after %d kills: minute %d", n, r.minute(time.Now()))
			break
		}
	}
	r.checkStarts()
}
