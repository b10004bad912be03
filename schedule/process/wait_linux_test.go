package process

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// A process that becomes the parent of a kept process learns how it ended, as this process has.
func TestAProcessIsKeptUntilItIsReleased(t *testing.T) {
	for _, row := range []struct {
		command string
		want    int
	}{
		{"exit 7", 7},
		{"kill -TERM $$", 143},
		{"kill -ABRT $$", 134}, // with a core if the machine writes one
	} {
		p := kept(t, row.command)
		<-p.Done
		if got := p.ExitCode(); got != row.want {
			t.Errorf("%s: exit code %d, not %d", row.command, got, row.want)
		}
		if !isZombie(p.PID) {
			t.Errorf("%s: the kernel does not know of it any more", row.command)
		}
		p.Reap()
		p.Reap()
		if isZombie(p.PID) {
			t.Errorf("%s: the kernel keeps it", row.command)
		}
	}
}

func TestAProcessThatIsReleasedIsForgottenWhenItEnds(t *testing.T) {
	p := kept(t, "read line; exit 3") // its stdin is empty
	p.Reap()
	<-p.Done
	if got := p.ExitCode(); got != 3 {
		t.Errorf("exit code %d, not 3", got)
	}
	for end := time.Now().Add(time.Minute); isZombie(p.PID); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the kernel keeps it")
		}
	}
}

// The usage of a kept process is the same as with wait4(2).
func TestWhatAKeptProcessHasUsed(t *testing.T) {
	p := kept(t, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
	<-p.Done
	looked := p.Usage
	var waited syscall.Rusage
	if _, err := syscall.Wait4(p.PID, nil, 0, &waited); err != nil {
		t.Fatal(err)
	}
	if looked.Utime.Nano() == 0 || looked.Utime != waited.Utime || looked.Stime != waited.Stime ||
		looked.Maxrss != waited.Maxrss {
		t.Errorf("%+v, and not %+v", looked, waited)
	}
}

// A command that ended beside its supervisor keeps its exit code for the supervisor's witness.
func TestAWitnessReapsNoCommandOfAKilledSupervisor(t *testing.T) {
	start := func(command string) int {
		t.Helper()
		pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", command},
			&syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	command, supervisor := start("exit 7"), start("kill -KILL $$")
	if AwaitChild(supervisor) {
		t.Error("the supervisor has succeeded")
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(command, &status, 0, nil); err != nil || status.ExitStatus() != 7 {
		t.Errorf("the command has exit code %d, %v", status.ExitStatus(), err)
	}
}

func kept(t *testing.T, command string) *Process {
	t.Helper()
	p, err := Program{Argv: []string{"/bin/sh", "-c", command}, Dir: "/",
		Env: []string{"PATH=/usr/bin:/bin"}, keepZombie: true}.spawn()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// isZombie reports whether the process has ended, and its parent has not waited for it.
func isZombie(pid int) bool {
	return ReadStat(pid).State == 'Z'
}
