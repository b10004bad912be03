package preflight

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The cron of a container is not the cron of this machine; a cron of a unit with PrivateTmp= is.
func TestTheCronOfAContainerIsNotOurs(t *testing.T) {
	defer func(programs []string) { CronPrograms = programs }(CronPrograms)
	for i, tt := range []struct {
		name      string
		flags     uintptr
		elsewhere bool
	}{
		{"no namespace of its own", 0, false},
		{"a mount namespace of its own", unix.CLONE_NEWNS, false},
		{"a pid namespace of its own", unix.CLONE_NEWNS | unix.CLONE_NEWPID, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := "tested-cron-" + strconv.Itoa(i)
			CronPrograms = []string{name}
			command := startAs(t, name, tt.flags)
			found := FindCron()
			if isElsewhere := slices.Contains(found.Elsewhere, command.Process.Pid); isElsewhere != tt.elsewhere ||
				(found.Name == name) == tt.elsewhere || !found.Known || found.Unsure {
				t.Errorf("%+v of process %d", found, command.Process.Pid)
			}
			if text := found.ElsewhereText(); strings.Contains(text, strconv.Itoa(command.Process.Pid)) != tt.elsewhere {
				t.Error(text)
			}
		})
	}
}

// startAs starts a shell with the name and with namespaces of its own, which lives until the test
// ends.
func startAs(t *testing.T, name string, flags uintptr) *exec.Cmd {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	program := filepath.Join(t.TempDir(), name)
	if text, err := exec.Command("cp", "-L", shell, program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	command := exec.Command(program, "-c", "echo begun; read line")
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	if flags != 0 && unix.Geteuid() != 0 {
		command.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
	}
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	t.Cleanup(func() {
		input.Close()
		command.Wait()
	})
	if _, err := output.Read(make([]byte, 5)); err != nil {
		t.Skipf("the shell does not start under another name, like the one of busybox: %v", err)
	}
	return command
}
