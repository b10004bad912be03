package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"sched/schedule/process"
)

// sendmailPaths are the paths that are tried for the program, in this order: cron's PATH has no
// sbin.
var sendmailPaths = []string{"sendmail", "/usr/sbin/sendmail", "/usr/lib/sendmail"}

// permanentExitCodes are the exit codes of sendmail that another attempt would meet again:
// EX_USAGE, EX_DATAERR, EX_NOUSER and EX_NOHOST of sysexits(3).
var permanentExitCodes = []int{64, 65, 67, 68}

// sendmail hands the mail to the mail system of this machine. Nil means that the mail system has
// queued it. The mail system sends a bounce if the mail does not arrive.
func (t Target) sendmail(ctx context.Context, e email) error {
	path := findSendmail()
	if path == "" {
		return t.temporary("this machine has no sendmail", "name a mail server: mail: {url: smtp://host}")
	}
	a := beginAttempt(ctx, nil)
	var stderr firstBytes
	command := exec.CommandContext(ctx, path, "-i", "-t")                                                     // -i: a line with a dot alone does not end the mail; -t: the addresses are in it
	command.Env = process.OfMachine(command.Environ(), "HOME", "USER", "LOGNAME", "SHELL", "XDG_CONFIG_HOME") // and no secret of sched
	command.Stdin = bytes.NewReader(bytes.ReplaceAll(e.text, []byte("\r\n"), []byte("\n")))
	command.Stderr = &stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second // for processes that sendmail left behind with our pipes
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil: // exit code 0, and a process left behind
		return nil
	case ctx.Err() != nil:
		text, _ := a.explain(err)
		return t.temporary(path+": "+text, "")
	case errors.As(err, &exit):
		how := exit.String() // `signal: killed`
		if exit.Exited() {
			how = fmt.Sprintf("exit code %d", exit.ExitCode())
		}
		failure := t.temporary(path+": "+how+stderr.quote(), "")
		failure.Permanent = slices.Contains(permanentExitCodes, exit.ExitCode())
		return failure
	}
	return t.temporary(line(err.Error()), "") // it could not be started
}

func findSendmail() string {
	for _, name := range sendmailPaths {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// firstBytes keeps the first 1,000 bytes that are written to it, and accepts any number.
type firstBytes struct{ bytes.Buffer }

func (f *firstBytes) Write(p []byte) (int, error) {
	f.Buffer.Write(p[:min(len(p), max(0, 1000-f.Len()))])
	return len(p), nil
}

// quote returns what was written as one short line behind a colon; empty if nothing was written.
func (f *firstBytes) quote() string {
	if text := head(line(f.String()), 200); text != "" {
		return ": " + text
	}
	return ""
}
