// Package usercrontab reads and replaces the crontab of a user with crontab(1).
package usercrontab

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// A Crontab is the crontab of a user, as crontab(1) reads and replaces it.
type Crontab struct {
	User string // "" for the user of this process; only root may name another
}

// Read returns the text of the crontab. If the user has no crontab, the text is "" and exists is
// false.
func (c Crontab) Read() (text string, exists bool, err error) {
	out, errs, err := c.run(nil, "-l")
	if err != nil {
		// No cron has a special exit code for a missing crontab; all say "no crontab for maria".
		if strings.Contains(strings.ToLower(errs), "no crontab for") {
			return "", false, nil
		}
		return "", false, &ProgramError{"crontab -l", errs, err}
	}
	return out, true, nil
}

// Write makes the text the crontab. crontab(1) reads the text from a file, and not from a pipe. If
// the writer of a pipe is killed, crontab(1) would take the beginning of the text, or nothing, for
// the whole crontab.
func (c Crontab) Write(text string) error {
	file, err := unnamed(text)
	if err != nil {
		return fmt.Errorf("the new crontab could not be written to a file: %w", err)
	}
	defer file.Close()
	if _, errs, err := c.run(file, "-"); err != nil {
		return &ProgramError{"crontab", errs, err}
	}
	return nil
}

// Remove removes the crontab of the user.
func (c Crontab) Remove() error {
	if _, errs, err := c.run(nil, "-r"); err != nil {
		return &ProgramError{"crontab -r", errs, err}
	}
	return nil
}

// run calls crontab(1). Debian's crontab lists lines of its own if CRONTAB_NOHEADER is N.
func (c Crontab) run(input *os.File, arguments ...string) (out, errs string, err error) {
	if c.User != "" {
		arguments = append([]string{"-u", c.User}, arguments...)
	}
	cmd := exec.Command("crontab", arguments...)
	cmd.Env = append(cmd.Environ(), "CRONTAB_NOHEADER=Y", "LC_ALL=C")
	if input != nil {
		cmd.Stdin = input
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		err = errors.New("there is no program crontab on the PATH")
	}
	return stdout.String(), stderr.String(), err
}

// unnamed returns a file with the text, open at its beginning, that has no name any more.
func unnamed(text string) (*os.File, error) {
	file, err := os.CreateTemp("", "crontab-")
	if err != nil {
		return nil, err
	}
	os.Remove(file.Name())
	_, err = file.WriteString(text)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// A ProgramError says that a program failed. It has the output of the program.
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
