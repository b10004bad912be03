package importcmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule"
	"sched/schedule/foreign"
	"sched/schedule/humanize"
	"sched/schedule/load"
)

type options struct {
	file         string // of the crontab; - for stdin, "" for the crontab of the user or the machine
	output       string
	system, tidy bool
	user         string
	from         string // a kind of file; "" for crontabs
	as           string // the cron to which a crontab belongs: asDebian, asCronie, or "" if nobody says
	root         string // --root, for timers
}

// The values of --as.
const (
	asDebian = "debian"
	asCronie = "cronie"
)

// check refuses flags that do not go together, and a file to write that is there already.
func (o options) check() error {
	if err := o.checkSource(); err != nil {
		return err
	}
	if o.as != "" && o.as != asDebian && o.as != asCronie {
		return exit.Usage("", "--as takes %s or %s, not %q", asDebian, asCronie, o.as)
	}
	if o.user != "" && (o.file != "" || o.system) {
		return exit.Usage("", "--user names whose crontab is read, so it goes with no file and not with --system")
	}
	if _, err := os.Lstat(o.output); o.output != "" && err == nil {
		return exit.Usage(hintOnExisting(o.output), "%s is there already", o.output)
	}
	return nil
}

// hintOnExisting says what to do about a file that is there already. A first schedule of sched init
// is in the way of most imports.
func hintOnExisting(file string) string {
	const otherwise = "without -o the schedule is printed, to take from; " +
		"or name another file, or move that one away"
	if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), firstTask) {
		return "it has the task that `sched init` writes: if it is not in use, `rm " + humanize.ShellWord(file) +
			"` and import again; " + otherwise
	}
	return otherwise
}

// firstTask is in what `sched init` writes.
const firstTask = `echo "hello from $SCHED_TASK, due at $SCHED_SLOT"`

// timersSource is the value of --from for timers; foreignKinds are the others, for the help.
const (
	timersSource = "systemd"
	foreignKinds = "kubernetes, github-actions, laravel, ofelia, yacron, runwisp, supercronic, systemd-cron, " +
		"mcron, quartz or eventbridge"
)

// kindNames lists the values of --from.
func kindNames() string {
	names := []string{timersSource}
	for _, kind := range foreign.Kinds() {
		names = append(names, kind.Name)
	}
	return strings.Join(names, ", ")
}

// checkSource refuses another value of --from, and flags that are about crontabs.
func (o options) checkSource() error {
	switch {
	case o.from == "":
		return nil
	case o.system || o.tidy || o.user != "":
		return exit.Usage("", "--system, --tidy and --user are about crontabs, and do not go with --from")
	case o.as != "":
		return exit.Usage("", "--as is about crontabs, and does not go with --from")
	case o.from == timersSource:
		return nil
	}
	if _, known := foreign.Find(o.from); !known {
		return exit.Usage("without --from it reads a crontab", "--from takes %s, not %q", kindNames(), o.from)
	}
	return nil
}

// loadNew loads the schedule that is to be written. It refuses a schedule that is not valid.
func loadNew(a *app.App, yaml []byte, o options) (*schedule.Schedule, error) {
	opts := a.Options()
	opts.Root = false
	loaded, err := load.Text(yaml, cmp.Or(o.output, "schedule.yaml"), opts)
	if invalid, ok := errors.AsType[*load.InvalidError](err); ok {
		a.Out.Write(yaml)
		a.PrintProblems(invalid.Problems)
		return nil, exit.Failed("mend in it what is named above", "the schedule that was printed is not valid")
	}
	return loaded, err
}

// writeSchedule prints the schedule, or writes it to the file and says what comes next.
func writeSchedule(a *app.App, o options, yaml []byte, tasks int, mode os.FileMode, next string) error {
	if o.output == "" {
		a.Out.Write(yaml)
		return nil
	}
	if err := app.WriteNew(o.output, app.SchemaLine(o.output)+string(yaml), mode); err != nil {
		return exit.Failed("", "cannot write %s: %w", o.output, humanize.WithoutPath(err))
	}
	fmt.Fprintf(a.Out, "%s has %s\n", o.output, humanize.Count(tasks, "task"))
	fmt.Fprintln(a.Err, "hint: "+next)
	return nil
}

// thousands writes a number with commas: 14,727,000.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
