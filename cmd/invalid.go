package cmd

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/load"
	"sched/schedule/statedir"
)

// repeatInvalid limits how often ticks print the same problems: cron mails what they print.
const repeatInvalid = time.Hour

// printedInvalid reports whether a tick printed these problems in the last hour, or else notes them
// as printed now. It returns false for terminals, -v and --dry-run, and without a state folder.
func (a runCommand) printedInvalid(o runOptions, err error) bool {
	var invalid *load.InvalidError
	if !errors.As(err, &invalid) || o.dryRun || o.verbose || terminal.Is(a.err) || statedir.Check(invalid.StateDir) != nil {
		return false
	}
	path, digest, now := printedPath(invalid.StateDir), digestOf(invalid.Problems), a.now()
	if last, ok := readPrinted(path); ok && last.digest == digest && !now.Before(last.at) && now.Before(last.at.Add(repeatInvalid)) {
		return true
	}
	if _, err := os.Stat(invalid.StateDir); err == nil { // an invalid file makes no folder: it may name the wrong one
		statedir.Replace(path, fmt.Appendln(nil, digest, now.UTC().Format(time.RFC3339)))
	}
	return false
}

// leftOut is the error of the lines of a crontab that cannot run; nil for none.
func leftOut(s *schedule.Schedule) error {
	if len(s.Left) == 0 {
		return nil
	}
	return &load.InvalidError{Problems: s.Left, StateDir: s.StateDir}
}

// printedPath notes which problems were printed last, and when, until the schedule is valid again.
func printedPath(dir string) string { return filepath.Join(dir, "told-invalid") }

type printing struct {
	digest string
	at     time.Time
}

func readPrinted(path string) (last printing, ok bool) {
	text, err := statedir.ReadFile(path)
	if err != nil {
		return last, false
	}
	var at string
	if _, err := fmt.Sscan(string(text), &last.digest, &at); err != nil {
		return last, false
	}
	last.at, err = time.Parse(time.RFC3339, at)
	return last, err == nil
}

func digestOf(problems []schedule.Problem) string {
	hash := sha256.New()
	for _, p := range problems {
		fmt.Fprintln(hash, p)
	}
	return fmt.Sprintf("%x", hash.Sum(nil))
}

// forgetInvalid lets the next problems be printed at once, also if they are the same ones.
func forgetInvalid(s *schedule.Schedule) { os.Remove(printedPath(s.StateDir)) }
