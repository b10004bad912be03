package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"sched/schedule"
)

// CopyTo makes the copy for the key output, with the rights of this process.
func CopyTo(to schedule.Output, from io.Reader) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if to.Append {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	if err := os.MkdirAll(filepath.Dir(to.File), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(to.File, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return err
}

// copyTimeout is how long a copy may take.
const copyTimeout = 30 * time.Second

// CopyOutput makes the copy as the user of the task, since root would follow the links of anybody who can write in that
// folder (docs/decisions.md#the-copy-of-the-output-is-made-as-the-user). It takes copyTimeout at most.
func (spec Spec) CopyOutput(to schedule.Output, captured *os.File) error {
	p, err := spec.startAs(setup{Copy: to}, captured)
	if err != nil {
		return err
	}
	timer := time.NewTimer(copyTimeout)
	defer timer.Stop()
	select {
	case <-p.Done:
	case <-timer.C: // as with a named pipe without a reader
		syscall.Kill(-p.PID, syscall.SIGKILL)
		return fmt.Errorf("no end after %s", copyTimeout)
	}
	switch {
	case p.Refusal != "":
		return errors.New(p.Refusal)
	case p.ExitCode() != 0:
		return fmt.Errorf("exit code %d", p.ExitCode())
	}
	return nil
}
