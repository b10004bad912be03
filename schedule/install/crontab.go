package install

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// A Crontab is the crontab of a user, as crontab(1) reads and replaces it.
type Crontab struct {
	User string // "" for the user of this process; another one is for root
}

// A ProgramError is a program that failed, with what it printed.
type ProgramError struct {
	Program string
	Output  string
	Err     error
}

func (e *ProgramError) Error() string {
	if line, _, _ := strings.Cut(strings.TrimSpace(e.Output), "\n"); line != "" {
		return fmt.Sprintf("%s failed: %s", e.Program, line)
	}
	return fmt.Sprintf("%s failed: %v", e.Program, e.Err)
}

func (e *ProgramError) Unwrap() error { return e.Err }

// Read returns the text of the crontab. A user without one has "", and exists is false.
func (c Crontab) Read() (text string, exists bool, err error) {
	out, errs, err := c.run("", "-l")
	if err != nil {
		// No cron has an exit code of its own for it; all say "no crontab for maria".
		if strings.Contains(strings.ToLower(errs), "no crontab for") {
			return "", false, nil
		}
		return "", false, &ProgramError{"crontab -l", errs, err}
	}
	return out, true, nil
}

// Write makes the text the crontab.
func (c Crontab) Write(text string) error {
	if _, errs, err := c.run(text, "-"); err != nil {
		return &ProgramError{"crontab", errs, err}
	}
	return nil
}

// Remove takes the crontab away, so that the user has none.
func (c Crontab) Remove() error {
	if _, errs, err := c.run("", "-r"); err != nil {
		return &ProgramError{"crontab -r", errs, err}
	}
	return nil
}

// run calls crontab(1). Debian's lists lines of its own where CRONTAB_NOHEADER is N.
func (c Crontab) run(input string, arguments ...string) (out, errs string, err error) {
	if c.User != "" {
		arguments = append([]string{"-u", c.User}, arguments...)
	}
	cmd := exec.Command("crontab", arguments...)
	cmd.Env = append(cmd.Environ(), "CRONTAB_NOHEADER=Y", "LC_ALL=C")
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		err = fmt.Errorf("there is no program crontab: %w", err)
	}
	return stdout.String(), stderr.String(), err
}
