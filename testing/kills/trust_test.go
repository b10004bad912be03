//go:build linux

package kills_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/load"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/run/handover"
	"sched/schedule/run/holding"
	"sched/schedule/state"
	"sched/testing/machine"
	"sched/testing/schedtest"
)

func onlyRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
}

// asAttacker runs a shell command as a user that is not root.
func (b *box) asAttacker(command string) {
	b.Helper()
	c := exec.Command("setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "/bin/sh", "-ec", command)
	if c.Err != nil {
		b.Skip("needs setpriv")
	}
	c.Dir = b.Dir
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// reachable lets other users come to the folder of the box.
func (b *box) reachable() {
	for dir := b.Dir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
}

// Root's schedule lies in a folder of another user, who can put something else in the place of the
// schedule, of its state folder, and of all that its commands name.
func TestRootRunsNothingBelowTheFolderOfAnotherUser(t *testing.T) {
	t.Parallel()
	onlyRoot(t)
	b := newBox(t, "tasks: [{name: each, cron: '* * * * *', command: ./job.sh}]")
	b.reachable()
	b.asRoot("mkdir -m 755 app state", "cp schedule.yaml app/", "printf '#!/bin/sh\n' > job.sh", "chmod 755 job.sh",
		"chown 12345:12345 app state")
	b.asAttacker("cd app; printf '#!/bin/sh\nid -u > ../state/pwned\n' > job.sh; chmod 755 job.sh; ln -s ../schedule.yaml link.yaml")
	b.Write("state.yaml", "state_dir: "+b.Path("state/sched")+"\ntasks: [{name: each, cron: '* * * * *', command: 'true'}]")
	b.asRoot("ln -s app/schedule.yaml rooted.yaml", "mkdir -p sub",
		"printf 'include: [../app/*.yaml]\n' > sub/schedule.yaml")
	for file, folder := range map[string]string{
		"app/schedule.yaml": "app", // the file is root's
		"app/link.yaml":     "app", // and it leads to a file of root in a folder of root
		"rooted.yaml":       "app", // a link of root
		"sub/schedule.yaml": "app", // an include
		"state.yaml":        "state",
	} {
		out, code := b.Sched("run", "-c", file)
		want := b.Path(folder) + " belongs to another user (uid 12345), and root would run what is put "
		if code != 2 || !strings.Contains(out, want) || !strings.Contains(out, "hint: keep the ") ||
			!strings.Contains(out, "/etc/sched for a schedule") ||
			!strings.Contains(out, "from the crontab of that user") {
			t.Errorf("%s: %d\n%s", file, code, out)
		}
	}
	if left, _ := filepath.Glob(b.Path("*/pwned")); len(left) > 0 {
		t.Error("the other user is root")
	}
	if left, _ := filepath.Glob(b.Path("*/.sched")); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
	if out, code := b.Sched("run"); code != 0 || !strings.Contains(out, "succeeded") {
		t.Errorf("below folders of root: %d\n%s", code, out)
	}
}

// The folder of the metrics belongs to the exporter's user, who puts something else in the place of
// the draft. A tick of root once hung, or wrote the metrics into a file of root and let everybody
// read that file.
func TestTheOwnerOfTheFolderOfTheTextfileGetsNothing(t *testing.T) {
	t.Parallel()
	onlyRoot(t)
	for name, plant := range map[string]string{
		"a named pipe":             "mkfifo drop/.sched.prom.new",
		"a link to a file of root": "ln -s ../secret drop/.sched.prom.new",
		"a link to a device":       "ln -s /dev/zero drop/.sched.prom.new",
		"a pipe for the file":      "mkfifo drop/sched.prom",
		"a link for the file":      "ln -s ../secret drop/sched.prom",
		"a file of theirs":         "echo theirs > drop/.sched.prom.new; chmod 666 drop/.sched.prom.new",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, "metrics: {textfile: drop/sched.prom}\ntasks: [{name: each, cron: '* * * * *', command: 'true'}]")
			b.reachable()
			b.asRoot("mkdir drop", "chown 12345:12345 drop", "echo secret > secret", "chmod 600 secret")
			b.asAttacker(plant)
			b.wantMetrics()
		})
	}
	// Only a kernel with fs.protected_hardlinks=0 lets others make this one.
	b := newBox(t, "metrics: {textfile: drop/sched.prom}\ntasks: [{name: each, cron: '* * * * *', command: 'true'}]")
	b.asRoot("mkdir drop", "chown 12345:12345 drop", "echo secret > secret", "chmod 600 secret",
		"ln secret drop/.sched.prom.new")
	b.wantMetrics()
}

// wantMetrics checks that a tick writes the metrics, and nothing into the secret.
func (b *box) wantMetrics() {
	b.Helper()
	out, code := b.bounded("run")
	if info, err := os.Lstat(b.Path("drop/sched.prom")); code != 0 || err != nil || !info.Mode().IsRegular() ||
		!strings.Contains(b.Read("drop/sched.prom"), "sched_") {
		b.Fatalf("%d, %v\n%s", code, err, out)
	}
	info, err := os.Stat(b.Path("secret"))
	if err != nil || info.Mode().Perm() != 0o600 || b.Read("secret") != "secret\n" {
		b.Errorf("the secret is %v: %q", info.Mode(), b.Read("secret"))
	}
}

func (b *box) asRoot(commands ...string) {
	b.Helper()
	c := exec.Command("/bin/sh", "-ec", strings.Join(commands, "\n"))
	c.Dir = b.Dir
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}

// While a background run lives, another user replaces the run's state folder. The new folder has a
// row of the run with hooks of that user. The run ends with the hooks that it inherited.
func TestARunEndsWithItsOwnHooksWhateverIsInItsPlace(t *testing.T) {
	t.Parallel()
	machine.Slow(t)
	onlyRoot(t)
	b, witness, _, _ := start(t)
	b.reachable()
	row := schedtest.OpenRows(b.Path(".sched"))[0]
	b.asRoot("mv .sched moved", "mkdir -m 700 .sched")
	task := schedule.Task{Name: "victim", Mutex: "victim", Dir: b.Dir}
	task.Hooks.After = []schedule.Hook{{Run: schedule.Command{Line: "id -u > pwned.txt",
		Shell: []string{"/bin/sh", "-c"}}}}
	snapshot, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := state.Open(b.Path(".sched"), state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	row.Snapshot = snapshot
	if _, err := theirs.Runs().Request(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	b.asRoot("chown -R 12345:12345 .sched")
	b.Write("go", "")
	b.Until("the run is finished", func() bool { return b.Count("after.txt") == 1 && b.Count("success.txt") == 1 })
	if pwned := b.Read("pwned.txt"); pwned != "" {
		t.Errorf("the hook of another user ran as %s", pwned)
	}
	b.asRoot("rm -r .sched", "mv moved .sched")
	b.Gone(witness) // it has waited for its own folder
	b.Write("schedule.yaml", strings.Replace(victim, `"* * * * *"`, `"0 0 1 1 *"`, 1))
	b.Sched("run", "--at", "2026-03-03T03:03:00Z")
	if r := b.Outcome("victim", 1); r.Outcome != "succeeded" {
		t.Errorf("%+v", r)
	}
}

// Somebody deletes the state folder: "it loses history and nothing else".
func TestTheStateFolderIsDeletedWhileARunLives(t *testing.T) {
	t.Parallel()
	b, _, _, _ := start(t)
	if err := os.RemoveAll(b.Path(".sched")); err != nil {
		t.Fatal(err)
	}
	b.Write("go", "")
	b.Until("the run is finished", func() bool { return b.Count("after.txt") == 1 })
	if r := b.Outcome("victim", 1); r.Outcome != "succeeded" || b.Read("success.txt") != "succeeded\n" {
		t.Errorf("%+v, success %q", r, b.Read("success.txt"))
	}
	b.Free("victim")
}

// It is deleted when the run has begun, and its supervisor has not got it yet.
func TestTheStateFolderIsDeletedBeforeTheCommandOfARunStarts(t *testing.T) {
	t.Parallel()
	b := newBox(t, "tasks: [{name: early, cron: '* * * * *', background: true, command: echo came >> came.txt, after: echo after >> after.txt}]")
	s, err := load.File(b.Path("schedule.yaml"), load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := b.Command()
	storage := holding.StorageAt(b.Path(".sched"), nil)
	defer storage.DB.Close()
	handover := &handover.Supervisors{Self: c.Path, Environ: c.Env}
	handover.StartAhead(storage)
	row := state.Row{ID: outcome.NewID(), Task: "early", Mutex: "early",
		Slot: time.Now().UTC().Truncate(time.Minute), Background: true}
	begun, err := run.NewCaller(storage, state.Tick, c.Env).Begin(row, s.Tasks[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(storage.Dir); err != nil {
		t.Fatal(err)
	}
	if err := handover.HandOver(begun); err != nil {
		t.Fatal(err)
	}
	handover.Close()
	if r := b.Outcome("early", 1); r.Outcome != "succeeded" {
		t.Errorf("%+v", r)
	}
	if came, after := b.Read("came.txt"), b.Read("after.txt"); came != "came\n" || after != "after\n" {
		t.Errorf("came %q, after %q", came, after)
	}
}

// The disk of the state folder is not mounted: the folder is a link to nowhere. Ticks do the same
// as with a read-only folder.
func TestAStateFolderThatIsALinkToNowhere(t *testing.T) {
	t.Parallel()
	b := newBox(t, "state_dir: link\ntasks:\n- {name: front, cron: '* * * * *', without_overlapping: true, command: echo front >> ran.txt}\n"+
		"- {name: back, cron: '* * * * *', background: true, command: echo back >> ran.txt, after: echo after >> ran.txt}")
	if err := os.Symlink(b.Path("mnt/sched"), b.Path("link")); err != nil {
		t.Fatal(err)
	}
	out, code := b.Sched("run")
	if code != 1 || strings.Count(out, "link is a link that leads nowhere") != 1 ||
		!strings.Contains(out, "nothing of it is recorded") {
		t.Errorf("%d\n%s", code, out)
	}
	b.Until("both tasks and the hook ran", func() bool { return b.Count("ran.txt") == 3 })
}
