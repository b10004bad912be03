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

// repeatInvalid is how often ticks print the same problems of an invalid schedule: cron mails what they print.
const repeatInvalid = time.Hour

// printedInvalid reports whether the problems of an invalid schedule, and no others, were printed by a tick in the last hour, and
// notes that they are printed now if they were not. A terminal gets them always, and so does -v. What cannot be noted, since no tick
// has made the state folder yet, is printed each time.
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

// printedPath is the file that says which problems were printed last, and when. It goes when the schedule is valid again.
func printedPath(dir string) string { return filepath.Join(dir, "told-invalid") }

// A printing is when which problems were printed.
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

// forgetInvalid has the next problems printed at once, also if they are those of an edit that was mended meanwhile.
func forgetInvalid(s *schedule.Schedule) { os.Remove(printedPath(s.StateDir)) }
