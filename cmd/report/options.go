package report

import (
	"github.com/spf13/pflag"

	"sched/cmd/exit"
	"sched/schedule"
)

// Options say what a report of ticks has, and in which form.
type Options struct {
	JSON, Quiet, Verbose, Logs bool
	Only                       string // the only task that the ticks run; empty for all
	SeveralDays                bool   // the slots are of several days
}

// AddFlags adds the flags that each report has.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "print only what went wrong")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "say more: what each run is called, and when nothing was due")
}

// Check refuses flags that do not go together.
func (o Options) Check() error {
	if o.Quiet && o.Verbose {
		return exit.Usage("", "--quiet and --verbose exclude each other")
	}
	return nil
}

// maxNameWidth is how wide the column of the names may become in a report.
const maxNameWidth = 40

// NameWidth is how wide the column of the names of tasks is.
func NameWidth(s *schedule.Schedule) (width int) {
	for _, t := range s.Tasks {
		width = min(max(width, len(t.Name)), maxNameWidth)
	}
	return width
}
