// Package takeover is the command `sched takeover`.
package takeover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/install"
	"sched/schedule/load"
	"sched/schedule/machine"
	"sched/schedule/preflight"
	"sched/schedule/takeover"
	"sched/schedule/usercrontab"
	"sched/schedule/view"
)

type options struct {
	yes, dryRun, asCrontab, undo bool
	tick                         bool // be a tick of a schedule that does not have all its lines yet
}

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "takeover [PLACE]...",
		Short: "Let a schedule run what cron runs on this machine, without a lost or a double start",
		Long: `takeover makes a schedule of the jobs that cron starts: the crontabs of all users, /etc/crontab,
/etc/cron.d, cron.daily and its like, and anacrontab; without root your own crontab. A PLACE, as
sched machine shows it, takes a file, a folder or a line alone. It prints first what becomes of each
job, and asks.

Then it writes the schedule (the FILE of -c, else /etc/sched/schedule.yaml, without root
~/.config/sched/schedule.yaml) and one line that ticks it, and waits for the first tick. Cron keeps
each line until that tick has been seen; then the lines are commented out in place, between two
minutes, so that each is started by one of the two. After a kill call it again: it goes on.

With --undo cron has everything again, byte for byte, and the schedule goes; one that was edited
stays, and its edits are listed.`,
		Example: `  sched takeover --dry-run
  sched takeover /etc/cron.d/backup -c /etc/sched/backup.yaml
  sched takeover --undo`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, places []string) error {
			switch {
			case o.tick:
				return tick(a)
			case o.undo:
				return undo(a, o, places)
			}
			return take(a, o, places)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.dryRun, "dry-run", false, "print what becomes of each job, and do nothing")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.asCrontab, "as-crontab", false,
		"write a crontab with the lines as they are, in place of a schedule.yaml")
	f.BoolVar(&o.undo, "undo", false, "give everything back to cron")
	f.BoolVar(&o.tick, "tick", false, "")
	_ = f.MarkHidden("tick")
	return c
}

// isRoot reports whether this is about the whole machine.
func isRoot() bool { return os.Geteuid() == 0 }

// scheduleFile returns the path of the schedule to write.
func scheduleFile(a *app.App, o options) (string, error) {
	name := "schedule.yaml"
	if o.asCrontab {
		name = "crontab"
	}
	file := a.NamedConfig()
	if file == "" && isRoot() {
		file = filepath.Join("/etc/sched", name)
	}
	if file == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return "", exit.Failed("name a file with -c", "where is your folder of settings? %w", err)
		}
		file = filepath.Join(config, "sched", name)
	}
	isYAML := strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml")
	switch {
	case o.asCrontab && isYAML:
		return "", exit.Usage("call it crontab, or *.crontab", "%s is no name for a crontab", file)
	case !o.asCrontab && !isYAML:
		return "", exit.Usage("call it *.yaml; --as-crontab writes a crontab", "%s is no name for a schedule", file)
	}
	return filepath.Abs(file)
}

// lineOf returns the line of a schedule, and the folder of journals.
func lineOf(file string) (line install.Line, folder string, err error) {
	program, err := app.InstalledProgram()
	if err != nil {
		return line, "", err
	}
	folder, err = install.BackupFolder(app.StateHome)
	return install.Line{Program: program, File: file}, folder, err
}

// moverOf returns what moves the lines of a journal.
func moverOf(a *app.App, j *takeover.Journal, folder string) *takeover.Mover {
	m := &takeover.Mover{
		Journal: j, Backups: folder, Now: a.Now,
		LastTick: func() (time.Time, error) { return view.LastTick(j.StateDir) },
		CronRuns: preflight.CronMayRun(),
		Say:      func(format string, args ...any) { fmt.Fprintf(a.Err, format+"\n", args...) },
	}
	if isRoot() {
		m.CronFolder = install.CronFolder
	}
	return m
}

// take takes jobs over, or goes on where an earlier call was cut off.
func take(a *app.App, o options, places []string) error {
	file, err := scheduleFile(a, o)
	if err != nil {
		return err
	}
	a.Config = file
	line, folder, err := lineOf(file)
	if err != nil {
		return err
	}
	j, err := takeover.Open(folder, line)
	switch {
	case err == nil:
		defer j.Close()
		return goOn(a, o, j, folder)
	case !errors.Is(err, fs.ErrNotExist):
		return exit.Failed("", "%w", err)
	}
	plan, err := makePlan(a, o, file, places)
	if err != nil {
		return err
	}
	printPlan(a, plan)
	if plan.Text == "" {
		hint := ""
		if !isRoot() {
			hint = "root takes over what is not in your crontab"
		}
		return exit.Failed(hint, "there is nothing that a schedule can take")
	}
	if err := checkBefore(a, file, o); err != nil || o.dryRun {
		return err
	}
	yes, err := a.Confirm("write "+file+", and take them over?", o.yes)
	if err == nil && !yes {
		fmt.Fprintln(a.Err, "nothing was written")
		err = &exit.Error{Code: exit.Failure}
	}
	if err != nil {
		return err
	}
	j = &takeover.Journal{Line: line, Text: plan.Text, Secret: plan.Secret, Name: plan.Name, StateDir: plan.StateDir,
		Began: a.Now(), Files: plan.Files}
	if err := j.Create(folder); err != nil {
		return exit.Failed("", "cannot note what is taken over: %w", err)
	}
	defer j.Close()
	return move(a, j, folder)
}

// goOn goes on with a takeover that was cut off.
func goOn(a *app.App, o options, j *takeover.Journal, folder string) error {
	undo := "`sched takeover" + a.ConfigFlag() + " --undo`"
	switch {
	case j.Back:
		return exit.Failed(undo+" goes on with it", "%s was giving its lines back when that was cut off", j.Line.File)
	case j.Done:
		fmt.Fprintf(a.Out, "nothing to do: %s has taken its lines already\n", j.Line.File)
		fmt.Fprintf(a.Err, "hint: %s gives them back; -c FILE takes more, into another schedule\n", undo)
		return nil
	case o.dryRun:
		fmt.Fprintf(a.Out, "a takeover by %s was cut off, and would go on\n", j.Line.File)
		return nil
	}
	a.Warn("a takeover by %s was cut off: it goes on", j.Line.File)
	return move(a, j, folder)
}

// checkBefore refuses what would stop the takeover in its middle.
func checkBefore(a *app.App, file string, o options) error {
	if _, err := os.Lstat(file); err == nil {
		return exit.Usage("-c FILE names another one", "%s is there already", file)
	}
	if isRoot() && preflight.CronIsBusybox() {
		return exit.Failed("`sched import` and `sched install` take one crontab at a time",
			"the cron of busybox does not see at once that a file was changed")
	}
	if !preflight.CronMayRun() {
		hint := "start it: systemctl start cron, or crond"
		if o.dryRun {
			a.WarnWithHint(hint, "no cron runs on this machine, and without one no tick comes")
			return nil
		}
		return exit.Failed(hint, "no cron runs on this machine: nothing would start the schedule")
	}
	return nil
}

// makePlan looks at the machine, and plans what becomes of its jobs.
func makePlan(a *app.App, o options, file string, places []string) (*takeover.Plan, error) {
	list, err := machine.Look(context.Background(), machine.Here(a.Now(), app.LocalZone()))
	if err != nil {
		return nil, exit.Failed("", "cannot look at this machine: %w", err)
	}
	own := ""
	if !isRoot() {
		if own, _, err = (usercrontab.Crontab{}).Read(); err != nil {
			return nil, exit.Failed("", "%w", err)
		}
	}
	plan, err := takeover.New(list, takeover.Options{
		Places: places, AsCrontab: o.asCrontab, Root: isRoot(), Own: own,
		Home: app.HomeOf, Zone: app.LocalZone(), Now: a.Now(),
		Load: func(text []byte) (*schedule.Schedule, error) {
			loading := a.Options()
			loading.Root = false // it is not written yet
			return load.Text(text, file, loading)
		},
	})
	if none, ok := errors.AsType[*takeover.NoJobError](err); ok {
		hint := "`sched machine` lists the places"
		if none.Near != "" {
			hint = "did you mean " + none.Near + "?"
		}
		return nil, exit.Failed(hint, "%w", err)
	}
	if invalid, ok := errors.AsType[*load.InvalidError](err); ok {
		a.PrintProblems(invalid.Problems)
		return nil, exit.Failed("name the places that it can take", "the schedule would not be valid")
	}
	return plan, err
}

var shrinks = []terminal.Shrink{{Column: 4, Least: 16}, {Column: 2, Least: 11}, {Column: 0, Least: 24},
	{Column: 3, Least: 24}, {Column: 4}, {Column: 3}}

// printPlan prints what becomes of each job.
func printPlan(a *app.App, plan *takeover.Plan) {
	out := a.Stdout()
	t := a.Table(shrinks...)
	t.Head("PLACE", "USER", "WHEN", "BECOMES", "DOES")
	taken := 0
	for _, v := range plan.Verdicts {
		text := out.Paint(terminal.Faint, "left: "+humanize.Line(v.Why))
		if v.IsTaken() {
			taken++
			tone := terminal.Good
			if strings.HasPrefix(v.Why, "with this difference") {
				tone = terminal.Caution
			}
			text = out.Paint(tone, "taken, "+humanize.Line(v.Why))
		}
		t.Row(humanize.Line(v.Job.Place), humanize.Line(v.Job.User), humanize.Line(v.Job.When), text,
			out.Paint(terminal.Faint, humanize.Line(v.Job.Command)))
	}
	t.Flush()
	fmt.Fprintf(a.Out, "%s taken, %d left\n", humanize.Count(taken, "job"), len(plan.Verdicts)-taken)
	if plan.MailsTo {
		a.WarnWithHint("`after: {mail: you@example.com, when: output}` in the defaults mails it",
			"\"but for its mail\": cron mails what a line without MAILTO prints to its user; "+
				"the schedule keeps it (`sched logs`), and mails it to nobody")
	}
}

// move hands the lines of a journal over.
func move(a *app.App, j *takeover.Journal, folder string) error {
	terminate, _, release := app.CatchSignals()
	defer release()
	from, err := moverOf(a, j, folder).Take(terminate)
	again := "call it again: it goes on; `sched takeover" + a.ConfigFlag() + " --undo` gives everything back"
	switch {
	case errors.Is(err, context.Canceled):
		return exit.Failed(again, "stopped: cron has what is not commented out")
	case errors.Is(err, takeover.ErrNoTick):
		return exit.Failed("is cron running, and what does its log say (`journalctl -u cron`)? "+again,
			"no tick came, so cron keeps every line that it has")
	case errors.Is(err, takeover.ErrChanged):
		return exit.Failed("`sched takeover"+a.ConfigFlag()+" --undo`, and then once more", "%w", err)
	case err != nil:
		return exit.Failed(again, "%w", err)
	}
	fmt.Fprintf(a.Out, "from %s on %s runs %s that cron ran\n",
		humanize.MinuteNearZone(from, a.Now(), app.LocalZone()), j.Line.File, humanize.Count(linesOf(j), "line"))
	hint := "hint: `sched list%[1]s` shows what is due when; `sched takeover%[1]s --undo` gives it back\n"
	fmt.Fprintf(a.Err, hint, a.ConfigFlag())
	return nil
}

// undo gives everything back.
func undo(a *app.App, o options, places []string) error {
	if len(places) > 0 || o.asCrontab {
		return exit.Usage("-c FILE names the schedule", "--undo gives back all that a schedule has taken")
	}
	file, err := takenFile(a)
	if err != nil {
		return err
	}
	a.Config = file
	line, folder, err := lineOf(file)
	if err != nil {
		return err
	}
	j, err := takeover.Open(folder, line)
	if errors.Is(err, fs.ErrNotExist) {
		return exit.Failed("`sched uninstall` undoes sched install", "%s has taken nothing over", file)
	}
	if err != nil {
		return exit.Failed("", "%w", err)
	}
	defer j.Close()
	lines := humanize.Count(linesOf(j), "line")
	if o.dryRun {
		fmt.Fprintf(a.Out, "%s would go back to cron\n", lines)
		return nil
	}
	yes, err := a.Confirm("give "+lines+" back to cron?", o.yes)
	if err == nil && !yes {
		err = &exit.Error{Code: exit.Failure}
	}
	if err != nil {
		return err
	}
	terminate, _, release := app.CatchSignals()
	defer release()
	changed, err := moverOf(a, j, folder).GiveBack(terminate, lastRun(a))
	for _, note := range changed {
		a.Warn("%s", note)
	}
	if err != nil {
		return exit.Failed("call it again: it goes on", "%w", err)
	}
	fmt.Fprintf(a.Out, "cron has %s again\n", lines)
	fmt.Fprintf(a.Err, "hint: the history stays in %s\n", j.StateDir)
	return nil
}

// takenFile returns the schedule to undo: the one that is named, or the only one that took
// something over.
func takenFile(a *app.App) (string, error) {
	if file := a.NamedConfig(); file != "" {
		return filepath.Abs(file)
	}
	_, folder, err := lineOf("")
	if err != nil {
		return "", err
	}
	switch found := takeover.Find(folder); len(found) {
	case 0:
		return "", exit.Failed("`sched uninstall` undoes sched install", "nothing was taken over")
	case 1:
		return found[0], nil
	default:
		return "", exit.Usage("name one with -c", "several schedules took jobs over: %s", humanize.Names(found, 9))
	}
}

func linesOf(j *takeover.Journal) (lines int) {
	for _, t := range j.Files {
		lines += len(t.Lines)
	}
	return lines
}

// lastRun returns a function that says when a task began last; the zero time if that is not known.
func lastRun(a *app.App) func(task string) time.Time {
	s, _, err := a.LoadLastValid()
	return func(task string) time.Time {
		if err != nil {
			return time.Time{}
		}
		row, err := view.NewestRun(context.Background(), a.View(s), task)
		if err != nil {
			return time.Time{}
		}
		return row.Slot.In(app.LocalZone())
	}
}

// tick is a tick of a schedule that does not have all its lines: it becomes `sched run`.
func tick(a *app.App) error {
	file, err := a.FindConfig()
	if err != nil {
		return err
	}
	if file, err = filepath.Abs(file); err != nil {
		return err
	}
	line, folder, err := lineOf(file)
	if err != nil {
		return err
	}
	arguments := []string{"sched", "run", "-q", "-c", file}
	j, err := takeover.Read(folder, line)
	switch {
	case err == nil:
		for _, name := range j.Held(a.Now().Truncate(time.Minute)) {
			arguments = append(arguments, "--held", name)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return exit.Failed("", "%w", err)
	}
	program, err := app.Executable()
	if err != nil {
		return err
	}
	return exit.Failed("", "cannot start %s: %w", program, syscall.Exec(program, arguments, os.Environ()))
}
