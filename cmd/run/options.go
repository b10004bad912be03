package run

import (
	"errors"
	"time"

	"sched/cmd/exit"
	"sched/cmd/report"
)

type options struct {
	report.Options
	at             string
	force          bool
	from           string // the begin of a span of slots
	to             string // the end of the span
	yes            bool   // run a span without a question
	dryRun, strict bool
	workMinute     string // the minute of a tick that `sched work` started; else empty

	held      []string // tasks that are not due, because cron still has their lines
	wait      bool     // the one task runs in the foreground
	triggered bool     // answer what hooks have triggered, and no more
}

// isSpan reports whether the flags name a span of slots.
func (o options) isSpan() bool { return o.from != "" || o.to != "" }

func (o options) check() error {
	if err := o.Options.Check(); err != nil {
		return err
	}
	if o.isSpan() && (o.from == "" || o.to == "" || o.Only == "" || o.at != "") {
		return exit.Usage(`sched run --only TASK --from "2026-01-05 00:00" --to "2026-01-06 00:00"`,
			"--from needs --to and --only, and excludes --at")
	}
	if o.wait && (o.Only == "" || o.isSpan()) {
		return exit.Usage("", "--wait is about one task of a tick: it goes with --only, and not with --from")
	}
	return nil
}

// An onlyTask is the flag --only. A second one would silently take the place of the first.
type onlyTask string

func (t *onlyTask) String() string { return string(*t) }

func (t *onlyTask) Type() string { return "string" }

func (t *onlyTask) Set(name string) error {
	if *t != "" {
		return errors.New("it may be given once")
	}
	*t = onlyTask(name)
	return nil
}

// maxAhead is how far ahead the minute of --at may be without --force: clocks differ.
const maxAhead = time.Minute
