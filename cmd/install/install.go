// Package install has the commands `sched install` and `sched uninstall`: the second takes back
// what the first one wrote.
package install

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule"
	"sched/schedule/account"
	"sched/schedule/humanize"
	"sched/schedule/install"
	"sched/schedule/load"
	"sched/schedule/preflight"
	"sched/schedule/process"
	"sched/schedule/view"
)

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "install",
		Short: "Let cron or systemd call sched each minute, and see that the first tick comes",
		Long: `install adds one line for the schedule to your crontab, and changes no byte of your own lines.
It shows what it will write and asks; it keeps a copy of the old crontab, reads back what it wrote,
and puts the old one back if that differs. Then it waits for the first tick, for 70 seconds at most,
unless no cron runs.

As root the line goes into /etc/cron.d, or with --user into the crontab of that user. Lines of the
crontab, as root also of /etc/crontab and /etc/cron.d, that have the command of a task would run
twice: install refuses them. With --replace it comments out lines of the crontab whose command and
times are proven to be the same; root's own line then goes into root's crontab. --systemd writes a
timer and its service instead, and --systemd=work a service that is sched work; without root they
are for your own systemd.

sched uninstall takes back all of it.`,
		Example: `  sched install -c /srv/shop/schedule.yaml
  sched install --dry-run --replace
  sched install --systemd
  sched install --user shop --yes`,
		RunE: func(*cobra.Command, []string) error { return installTicks(a, o) },
	}
	o.flags(c)
	f := c.Flags()
	f.StringVar(&o.systemd, "systemd", "", "units of systemd instead of a line for cron: timer, or work")
	f.Lookup("systemd").NoOptDefVal = "timer"
	f.BoolVar(&o.replace, "replace", false,
		"comment out the lines of the crontab that are proven to be in the schedule")
	f.BoolVar(&o.noWait, "no-wait", false, "do not wait for the first tick")
	return c
}

func installTicks(a *app.App, o options) error {
	if err := o.check(a.System); err != nil {
		return err
	}
	if o.user != "" {
		if _, err := numberOf(o.user); err != nil {
			return err
		}
	}
	s, err := loadFor(a, o.user)
	if err != nil {
		return err
	}
	p, err := newPlaces(a, s.File, o)
	if err != nil {
		return err
	}
	p.schedule, p.cronLine.Name, p.units.Name = s, s.Name, s.Name
	installation, err := p.installation()
	if err != nil {
		return err
	}
	if err := checkUnitVariables(a, o); err != nil {
		return err
	}
	if len(installation.diff) == 0 {
		fmt.Fprintf(a.Out, "it is installed already in %s\n", installation.where)
		return nil
	}
	changes := []change{installation}
	if release := preflight.ReleaseOf(s); release != nil {
		a.WarnWithHint(release.Hint(), "%s", release.Problem().Text)
	}
	if cron := preflight.FindCron(); o.systemd == "" && cron.Known && cron.Name == "" {
		a.WarnWithHint("start it: systemctl start cron, or crond; "+
			"`sched install --systemd` and `sched work` need no cron",
			"no cron runs on this machine%s, and without one no tick comes", cron.ElsewhereText())
	}
	if write, err := shouldWrite(a, o, changes); !write || err != nil {
		return err
	}
	before := a.Now()
	if err := writeChanges(a, changes, "installed in"); err != nil || o.noWait {
		return err
	}
	if o.systemd == "" && !preflight.CronMayRun() {
		return exit.Failed(staysInstalled(a), "not waited for the first tick: no cron runs")
	}
	if o.user != "" { // only that user may open the state folder
		uid, err := numberOf(o.user)
		if err != nil {
			return err
		}
		if err := app.BecomeUser(uid); err != nil {
			return exit.Failed("", "root cannot look for the first tick as %s: %w", o.user, err)
		}
	}
	return awaitTick(a, s, before)
}

// staysInstalled is the hint after an installation whose first tick was not seen.
func staysInstalled(a *app.App) string {
	return "it stays installed; `sched uninstall" + a.ConfigFlag() + "` takes it back"
}

// checkUnitVariables refuses a schedule that needs a variable which a service of the system lacks:
// its ticks would not have what the shell of this user has.
func checkUnitVariables(a *app.App, o options) error {
	if o.systemd == "" || os.Geteuid() != 0 {
		return nil // the manager of a user may have been given more
	}
	file, err := a.FindConfig()
	if err != nil {
		return err
	}
	loadWith := func(env []string) {
		options := a.Options()
		options.Getenv = process.Lookup(env)
		_, err = load.File(file, options)
	}
	unit := []string{"PATH=", "LANG="} // systemd sets them, whatever they are
	if o.user != "" {
		uid, lookupErr := numberOf(o.user)
		if lookupErr == nil {
			lookupErr = account.AsUser(uid, unit, nil, loadWith)
		}
		err = cmp.Or(lookupErr, err)
	} else {
		variables, _ := account.Variables(os.Getuid())
		loadWith(append(variables, unit...))
	}
	invalid, isInvalid := errors.AsType[*load.InvalidError](err)
	if !isInvalid {
		return err
	}
	a.PrintProblems(invalid.Problems)
	return exit.Usage("write the values into the schedule, or into a file that `env_file` or ${file:PATH} names; "+
		"for credentials write the units yourself, see docs/systemd.md",
		"the ticks of a unit have no variables of this shell: nothing is installed")
}

// loadFor loads the schedule as the ticks of a user will; "" is the user of this process. Root
// reads what another user can change with the rights of the named user.
func loadFor(a *app.App, name string) (*schedule.Schedule, error) {
	s, err := a.Load()
	if name == "" && err == nil {
		err = app.CheckState(s)
	}
	_, isInvalid := errors.AsType[*load.InvalidError](err)
	if name == "" || err != nil && !isInvalid {
		return s, err
	}
	uid, userErr := numberOf(name)
	if userErr != nil {
		return nil, userErr
	}
	if isInvalid {
		if s, err, userErr = a.LoadAs(uid); userErr != nil {
			return nil, exit.Failed("", "root cannot read it as %s: %w", name, userErr)
		}
	}
	if err != nil {
		return nil, err
	}
	return s, checkStateDir(s.StateDir, name, uid)
}

// checkStateDir refuses a state folder that the ticks of a user cannot have: it belongs to another,
// or they cannot make it.
func checkStateDir(stateDir, name string, uid int) error {
	info, err := os.Lstat(stateDir)
	if err != nil {
		return checkMakes(stateDir, name, uid)
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if owner == uid {
		return nil
	}
	return exit.Usage("chown -R "+humanize.ShellWord(name)+" "+humanize.ShellWord(stateDir),
		"the state folder %s belongs to %s, and the ticks of %s would refuse it", stateDir, view.UserName(owner), name)
}

func numberOf(name string) (int, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, exit.Failed(account.UserHint(name), "there is no user %q on this machine", name)
	}
	return strconv.Atoi(u.Uid)
}

// checkMakes refuses a folder that is not there, and that a user may not make.
func checkMakes(folder, name string, uid int) (err error) {
	above := preflight.FirstExisting(folder)
	userErr := account.AsUser(uid, nil, nil, func([]string) {
		err = unix.Faccessat(unix.AT_FDCWD, above, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	})
	if userErr != nil || err == nil {
		return nil // without the rights to ask, the first tick says it
	}
	hint := "chown " + humanize.ShellWord(name) + " " + humanize.ShellWord(above) +
		", or name another folder with `state_dir`"
	return exit.Usage(hint, "%s may not make the state folder %s, so nothing would be recorded", name, folder)
}

// shouldWrite shows the changes and asks on a terminal whether to write them. If the person says
// no, it returns an exit without a text.
func shouldWrite(a *app.App, o options, changes []change) (bool, error) {
	for _, c := range changes {
		// A diff of one file begins with its path already.
		if c.diff[0] != c.where+":" {
			fmt.Fprintf(a.Err, "%s:\n", c.where)
		}
		a.PrintDiff(c.diff)
	}
	if o.dryRun {
		fmt.Fprintln(a.Err, "nothing was written: --dry-run")
		return false, nil
	}
	yes, err := a.Confirm("write this?", o.yes)
	if err == nil && !yes {
		fmt.Fprintln(a.Err, "nothing was written")
		err = &exit.Error{Code: exit.Failure}
	}
	return yes, err
}

// writeChanges writes the changes, and prints each with what was done.
func writeChanges(a *app.App, changes []change, done string) error {
	for _, c := range changes {
		if err := c.apply(); err != nil {
			return withHint(err)
		}
		fmt.Fprintf(a.Out, "%s %s\n", done, c.where)
	}
	return nil
}

// withHint adds what to do about an error of a change.
func withHint(err error) error {
	switch {
	case errors.Is(err, install.ErrChanged):
		return exit.Failed("call it again", "%w", err)
	case errors.Is(err, install.ErrCarriageReturn):
		return exit.Failed("remove the CR with `crontab -e`, so that no byte of it is lost", "%w", err)
	}
	return err
}

// These limits are for the wait for the first tick. Cron starts it within a second of the next
// minute, or later on a machine with much to do.
const (
	tickPatience = 70 * time.Second
	tickPoll     = 200 * time.Millisecond
)

// awaitTick waits until a tick covers a minute that began after since. A signal ends the wait.
func awaitTick(a *app.App, s *schedule.Schedule, since time.Time) error {
	next := since.Truncate(time.Minute).Add(time.Minute)
	terminate, _, release := app.CatchSignals()
	defer release()
	fmt.Fprintf(a.Err, "waiting for the first tick, at %s\n", humanize.MinuteNearZone(next, a.Now(), s.Location))
	ticker := time.NewTicker(tickPoll)
	defer ticker.Stop()
	for end := time.Now().Add(tickPatience); time.Now().Before(end); {
		if last, err := view.LastTick(s.StateDir); err == nil && !last.Before(next) {
			fmt.Fprintf(a.Out, "the first tick came at %s\n", humanize.MinuteNearZone(last, a.Now(), s.Location))
			fmt.Fprintf(a.Err, "hint: `sched status%[1]s` says whether all is well, "+
				"`sched list%[1]s` what is due when\n", a.ConfigFlag())
			return nil
		}
		select {
		case <-terminate.Done():
			hint := "it stays installed; `sched status" + a.ConfigFlag() + "` says when the last tick came"
			return exit.Failed(hint, "not waited for the first tick")
		case <-ticker.C:
		}
	}
	hint := "is cron running (`systemctl status cron`), and what does its log say (`journalctl -u cron`)? " +
		staysInstalled(a)
	return exit.Failed(hint, "no tick came within %s", humanize.Duration(tickPatience))
}

func NewUninstall(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Undo sched install: no more ticks, and the lines that it replaced as they were",
		Long: `uninstall takes the line of the schedule out of your crontab and gives the lines that --replace
has commented out back as they were; as root it removes the file in /etc/cron.d; and it removes
units of systemd if they were installed. Runs go on to their ends. The schedule, its state and other
schedules stay.`,
		Example: `  sched uninstall -c /srv/shop/schedule.yaml
  sched uninstall --dry-run`,
		RunE: func(*cobra.Command, []string) error { return uninstall(a, o) },
	}
	o.flags(c)
	return c
}

// hasTakenOver reports whether a schedule has jobs that cron had (sched takeover).
func hasTakenOver(file string) bool {
	folder, err := install.BackupFolder(app.StateHome)
	if err != nil {
		return false
	}
	_, err = os.Stat(install.Line{File: file}.Journal(folder))
	return err == nil
}

// uninstall takes the schedule out of every place that has it. The schedule may be invalid, or
// gone.
func uninstall(a *app.App, o options) error {
	if err := o.check(a.System); err != nil {
		return err
	}
	file, err := a.FindConfig()
	if err != nil {
		return err
	}
	if file, err = filepath.Abs(file); err != nil {
		return err
	}
	if hasTakenOver(file) {
		return exit.Failed("`sched takeover"+a.ConfigFlag()+" --undo` gives them back and takes the line out",
			"this schedule has taken jobs over from cron: nothing would start them")
	}
	p, err := newPlaces(a, file, o)
	if err != nil {
		return err
	}
	changes, err := p.removals()
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		return exit.Failed(p.notInstalledHint(), "%s is not installed", filepath.Base(file))
	}
	if write, err := shouldWrite(a, o, changes); !write || err != nil {
		return err
	}
	return writeChanges(a, changes, "removed from")
}
