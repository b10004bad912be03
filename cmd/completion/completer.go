package completion

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/cmd/app"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A completer finds words, with descriptions. It finds nothing if the schedule is broken.
type completer struct{ *app.App }

// schedule returns the schedule of --config, whose ~ no shell has expanded yet; the app keeps the
// expanded path. If no schedule can be read, it returns an empty one.
func (c completer) schedule() *schedule.Schedule {
	if rest, ok := strings.CutPrefix(c.Config, "~/"); ok {
		home, _ := os.UserHomeDir()
		c.Config = filepath.Join(home, rest)
	}
	if s, _, err := c.LoadLastValid(); err == nil {
		return s
	}
	return &schedule.Schedule{}
}

func (c completer) tasks() (words []string) {
	for _, t := range c.schedule().Tasks {
		words = append(words, described(t.Name, t.Description))
	}
	return words
}

func (c completer) tags() (words []string) {
	for _, t := range c.schedule().Tasks {
		words = append(words, t.Tags...)
	}
	return withoutTwins(words)
}

func (c completer) mutexes() (words []string) {
	for _, t := range c.schedule().Tasks {
		if t.WithoutOverlapping || t.Background {
			words = append(words, t.Mutex)
		}
	}
	return withoutTwins(words)
}

// params finds the params of the tasks among the arguments, or of all tasks if no task is there,
// with the values that they may have.
func (c completer) params(args []string) (words []string) {
	tasks := c.schedule().Tasks
	isNamed := func(t *schedule.Task) bool { return slices.Contains(args, t.Name) }
	all := !slices.ContainsFunc(tasks, isNamed)
	for _, t := range tasks {
		if !all && !isNamed(t) {
			continue
		}
		for _, p := range t.Params {
			if len(p.Values) == 0 {
				words = append(words, p.Name+"=")
			}
			for _, value := range p.Values {
				words = append(words, p.Name+"="+value)
			}
		}
	}
	return withoutTwins(words)
}

// runs finds the newest runs. If outcomes is not nil, it finds the newest runs with one of these
// outcomes, and their tasks.
func (c completer) runs(outcomes []outcome.Outcome) (words []string) {
	c.withRecords(func(ctx context.Context, s *schedule.Schedule, records *view.Records) {
		newest, _ := records.Find(ctx, state.Query{Limit: runsOffered, Outcomes: outcomes})
		for _, r := range newest {
			if outcomes != nil && !slices.Contains(words, r.Task) {
				words = append(words, r.Task)
			}
			text := fmt.Sprintf("%s, %s at %s", r.Task, r.OutcomeText(), c.MinuteText(r.Slot, s.Location))
			words = append(words, described(humanize.ShortRun(r.ID), text))
		}
	})
	return words
}

// live finds the runs that live, and their tasks.
func (c completer) live() (words []string) {
	c.withRecords(func(_ context.Context, s *schedule.Schedule, records *view.Records) {
		for _, row := range slices.DeleteFunc(records.Live, state.Row.Pending) {
			text := row.Task + " of " + c.MinuteText(row.Slot, s.Location)
			words = append(words, row.Task, described(humanize.ShortRun(row.ID), text))
		}
	})
	return withoutTwins(words)
}

// withRecords calls find with the records of the schedule, if they can be read in time.
func (c completer) withRecords(find func(context.Context, *schedule.Schedule, *view.Records)) {
	s := c.schedule()
	bounded, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	records, err := view.OpenRecords(bounded, s.StateDir)
	if err != nil {
		return
	}
	defer records.Close()
	find(bounded, s, records)
}

const (
	runsOffered       = 20
	completionTimeout = time.Second // the person waits for the key Tab
)

// described returns a candidate in the form that cobra wants.
func described(word, description string) string {
	if description == "" {
		return word
	}
	return word + "\t" + humanize.Line(description)
}

// withoutTwins sorts words, and returns each once.
func withoutTwins(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}
