// Package joblist reads what the bench tells a driver written in Go: its flags and its jobs.
package joblist

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// LongestRun is longer than any run of the bench. Some libraries have to know it: a lock or a
// lease that ends before the run would let a second run in.
const LongestRun = 2 * time.Minute

// Options are the flags of a driver.
type Options struct {
	Best  bool   // row best: the documented settings; else the defaults of the library
	Store string // URL of the store, or empty
	Jobs  []Job
}

// Job is one line of the file of jobs.
type Job struct {
	Name    string
	Cron    string
	Single  bool // the job must never run beside itself
	Command string
}

// Parse reads the command line. It ends the program if that is wrong.
func Parse() Options {
	row := flag.String("row", "best", "best or default")
	jobs := flag.String("jobs", "", "`file` of lines NAME, CRON, SINGLE, COMMAND, with tabs between them")
	store := flag.String("store", "", "`URL` of the store")
	flag.Parse()
	text, err := os.ReadFile(*jobs)
	Check(err)
	options := Options{Best: *row == "best", Store: *store}
	for line := range strings.Lines(string(text)) {
		if columns := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 4); len(columns) == 4 {
			job := Job{Name: columns[0], Cron: columns[1], Single: columns[2] == "true", Command: columns[3]}
			options.Jobs = append(options.Jobs, job)
		}
	}
	return options
}

// Run runs the command to its end. When ctx ends first, it kills the shell.
func (j Job) Run(ctx context.Context) error {
	command := exec.CommandContext(ctx, "sh", "-c", j.Command)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	return command.Run()
}

// Schedule is the cron expression of a job, whose first of six fields is the second.
func (j Job) Schedule() cron.Schedule {
	fields := cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow
	schedule, err := cron.NewParser(fields).Parse(j.Cron)
	Check(err)
	return schedule
}

// HasSeconds reports whether the cron expression has six fields.
func (j Job) HasSeconds() bool { return len(strings.Fields(j.Cron)) == 6 }

// Check ends the program if there is an error.
func Check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
