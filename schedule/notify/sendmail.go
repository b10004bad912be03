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
)

// sendmails are where the program is looked for: cron's PATH has no sbin.
var sendmails = []string{"sendmail", "/usr/sbin/sendmail", "/usr/lib/sendmail"}

// refusals are the exit codes of sendmail that will be the same the next time: EX_USAGE, EX_DATAERR, EX_NOUSER and EX_NOHOST of
// sysexits(3).
var refusals = []int{64, 65, 67, 68}

// sendmail hands the message to the mail system of this machine, which then cares for it.
func (t Target) sendmail(ctx context.Context, e email) error {
	path := ""
	for _, name := range sendmails {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		return t.failed("this machine has no sendmail", "name a mail server: mail: {url: smtp://host}")
	}
	c := converse(ctx, nil)
	var said words
	command := exec.CommandContext(ctx, path, "-i", "-t") // -i: a line with a dot alone does not end the mail; -t: the addresses are in it
	command.Stdin = bytes.NewReader(bytes.ReplaceAll(e.text, []byte("\r\n"), []byte("\n")))
	command.Stderr = &said
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second // for what it left behind with our pipes
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil: // it has ended well, and left somebody behind
		return nil
	case ctx.Err() != nil:
		text, _ := c.silence(err)
		return t.failed(path+": "+text, "")
	case errors.As(err, &exit):
		how := exit.String() // `signal: killed`
		if exit.Exited() {
			how = fmt.Sprintf("exit code %d", exit.ExitCode())
		}
		e := t.failed(path+": "+how+said.quote(), "")
		e.Permanent = slices.Contains(refusals, exit.ExitCode())
		return e
	}
	return t.failed(line(err.Error()), "") // it could not be started
}

// words is the begin of what a program says.
type words struct{ bytes.Buffer }

func (w *words) Write(p []byte) (int, error) {
	w.Buffer.Write(p[:min(len(p), max(0, 1000-w.Len()))])
	return len(p), nil
}

func (w *words) quote() string {
	if said := head(line(w.String()), 200); said != "" {
		return ": " + said
	}
	return ""
}
