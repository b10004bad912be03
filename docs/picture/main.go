//go:build linux

// Picture draws docs/picture.svg, the terminal in the README, from what sched really prints: it
// builds sched, runs `sched run` and `sched list` on a terminal (pty(7)), and turns text and
// colours into SVG.
//
//	go run ./docs/picture           writes docs/picture.svg
//	go run ./docs/picture --check   exits with 1 if the file there is another one
//
// It draws the same picture at any time on any machine: the clock of sched is set (the build tag
// schedtest), and what still differs, durations and the ids of runs, is replaced by text of the
// same width.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	columns = 100 // of the terminal
	picture = "docs/picture.svg"
)

// session has the commands that are typed, each with the time that the clock shows. The background
// task of the first command has ended before the second command begins.
var session = []struct{ clock, command string }{
	{"2026-11-21T09:10:00Z", "run"},
	{"2026-11-21T09:10:24.3Z", "list"},
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("picture: ")
	check := len(os.Args) == 2 && os.Args[1] == "--check"
	if len(os.Args) > 1 && !check {
		log.Fatal("usage: go run ./docs/picture [--check]")
	}
	svg, err := draw()
	if err == nil && check {
		err = compare(svg)
	} else if err == nil {
		err = os.WriteFile(picture, svg, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// compare returns an error if the file has another picture.
func compare(svg []byte) error {
	old, err := os.ReadFile(picture)
	if err != nil || bytes.Equal(old, svg) {
		return err
	}
	return fmt.Errorf("%s is not what sched prints now: go run ./docs/picture\n%s",
		picture, difference(string(old), string(svg)))
}

// draw runs the session in a new folder and returns it as SVG.
func draw() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sched-picture")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "sched")
	if out, err := exec.Command("go", "build", "-tags", "schedtest", "-o", binary, ".").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	schedule, err := os.ReadFile("docs/picture/schedule.yaml")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "schedule.yaml"), schedule, 0o644)
	}
	if err != nil {
		return nil, err
	}
	var rows [][]cell
	for i, step := range session {
		if i > 0 {
			rows = append(rows, nil)
			if err := awaitBackgroundRun(dir, binary, step.clock); err != nil {
				return nil, err
			}
		}
		printed, err := onTerminal(command(dir, binary, step.clock, step.command))
		if err != nil {
			return nil, fmt.Errorf("sched %s: %w", step.command, err)
		}
		rows = append(rows, prompt("sched "+step.command))
		rows = append(rows, screen(withoutVariableParts(printed))...)
	}
	return render(rows), nil
}

// command is sched in dir at a time. Nothing of the environment but the PATH comes through.
func command(dir, binary, clock string, args ...string) *exec.Cmd {
	c := exec.Command(binary, args...)
	c.Dir = dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TZ=UTC", "TERM=xterm", "LC_ALL=C.UTF-8",
		"SCHED_TEST_CLOCK=" + clock, "SCHED_TEST_SERVER=web-1"}
	return c
}

// awaitBackgroundRun waits until the background run is in the history.
func awaitBackgroundRun(dir, binary, clock string) error {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		out, err := command(dir, binary, clock, "history", "mail-queue").Output()
		if err != nil {
			return fmt.Errorf("sched history: %w", err)
		}
		if strings.Contains(string(out), "succeeded") {
			return nil
		}
	}
	return errors.New("the background run did not end")
}

// onTerminal runs a program on a terminal and returns the bytes that it printed. Its exit code does
// not matter: a task of the session fails.
func onTerminal(c *exec.Cmd) (string, error) {
	ctrl, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return "", err
	}
	defer ctrl.Close()
	n, err := unix.IoctlGetInt(int(ctrl.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ctrl.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(ctrl.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err != nil {
		return "", err
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return "", err
	}
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = c.Start()
	tty.Close()
	if err != nil {
		return "", err
	}
	var printed bytes.Buffer
	printed.ReadFrom(ctrl) // ends with EIO when the last process has closed its side
	var exit *exec.ExitError
	if err := c.Wait(); err != nil && !errors.As(err, &exit) {
		return "", err
	}
	return printed.String(), nil
}

// difference returns the first line in which two texts differ, of both.
func difference(old, new string) string {
	a, b := strings.Split(old, "\n"), strings.Split(new, "\n")
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] != b[i] {
			return "- " + a[i] + "\n+ " + b[i]
		}
	}
	return fmt.Sprintf("%d lines, not %d", len(b), len(a))
}
