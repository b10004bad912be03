// Package importcmd is the command `sched import`.
package importcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/schedule/account"
	"sched/schedule/crontab"
	"sched/schedule/crontab/proof"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/machine"
	"sched/schedule/preflight"
	"sched/schedule/usercrontab"
	"sched/schedule/yamldoc"
)

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "import [FILE|-]",
		Short: "Write a crontab or timers as a schedule, and prove that both are due at the same times",
		Long: `import reads your crontab, or a FILE, and prints it as a schedule.yaml. As under cron each task
runs beside the others, in the home folder, with cron's PATH; its command is kept byte for byte.
With --system it reads /etc/crontab and the files of /etc/cron.d, in which lines have a user.

Then it compares each task with its line, minute for minute over 28 years and every change of the
clocks, by a second evaluator that does what Vixie cron as Debian has it does.

With --from systemd it reads timers with their services and drop-ins: all enabled ones of this
machine, or those named, as backup or ./backup.timer. It names each setting that is not in a task.

With --from KIND it reads a FILE of another scheduler, and says of each job whether it is proven,
taken with a first time that differs, or not taken, and why.

If a schedule cannot say what a line says, that is printed, and the exit code is 1. Nothing is
installed and no crontab changes: for that there is sched install.`,
		Example: `  sched import
  sched import -o schedule.yaml --tidy
  sched import --system -o /etc/sched/schedule.yaml
  sched import crontab.txt
  sched import --as debian crontab.txt
  sched import --from systemd [TIMER]...
  sched import --from kubernetes cronjobs.yaml`,
		Args: func(c *cobra.Command, args []string) error {
			most := 1
			if o.from != "" {
				most = flags.Unlimited
			}
			return flags.Arguments(0, most)(c, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if o.from != "" {
				return importOther(a, o, args)
			}
			o.file, o.output = flags.Optional(args), flags.File(o.output)
			return importCrontab(a, o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "", "write the schedule to this file, which must not be there yet")
	f.BoolVar(&o.system, "system", false,
		"lines have a user, as in /etc/crontab, which is read with /etc/cron.d unless a FILE is named")
	f.BoolVar(&o.tidy, "tidy", false,
		"turn flock, timeout, chronic, >> log 2>&1 and cd X && into keys, each shown as a diff")
	f.StringVar(&o.user, "user", "", "the crontab of this user, for root")
	f.StringVar(&o.from, "from", "",
		"read timers (systemd), or a FILE of this kind in place of a crontab: "+foreignKinds)
	f.StringVar(&o.as, "as", "", "whose crontab it is: below CRON_TZ, "+asCronie+" takes that zone, and "+
		asDebian+" the machine's\n(without it: "+asCronie+", and for crontabs of this machine its own cron)")
	f.StringVar(&o.root, "root", "/", "read the timers of the machine whose files are below this folder")
	_ = f.MarkHidden("root")
	return c
}

// importOther imports what --from names.
func importOther(a *app.App, o options, args []string) error {
	o.output = flags.File(o.output)
	if err := o.check(); err != nil {
		return err
	}
	if o.from != timersSource {
		return importForeign(a, o, args)
	}
	return importTimers(a, o, args)
}

// importCrontab prints the schedule to stdout or writes it to a file. Everything else goes to
// stderr.
func importCrontab(a *app.App, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	sources, from, err := readSources(a, o)
	if err != nil {
		return err
	}
	for _, source := range sources {
		if problem, hint := load.Foreign([]byte(source.Text)); problem != "" {
			return exit.Usage(hint, "%s: %s", source.Name, problem)
		}
	}
	a.ReadOnly = true
	a.System = o.system
	s := convert(a, sources, o)
	printFindings(a, s)
	if len(s.Tasks) == 0 {
		return exit.Failed("", "%s has no line that starts a command: nothing is written", from)
	}
	yaml := s.YAML(header(from, o, s))
	proof, err := prove(a, s, yaml, o)
	if err != nil {
		return err
	}
	printProof(a, proof)
	printMail(a, s)
	mode, whose := os.FileMode(0o644), ""
	if s.Secret {
		mode = 0o600
	}
	if o.user != "" {
		whose = " --user " + o.user
	}
	next := fmt.Sprintf("look at it with `sched list -c %[1]s`; "+
		"`sched install -c %[1]s%[2]s --replace` lets it take over from the lines", humanize.ShellWord(o.output), whose)
	if o.system && o.file == "" {
		next = fmt.Sprintf("look at it with `sched list -c %s`; `sched takeover` makes a schedule of the lines, "+
			"and takes them out of cron", humanize.ShellWord(o.output))
	}
	if err := writeSchedule(a, o, yaml, len(s.Tasks), mode, next); err != nil {
		return err
	}
	if s.OmitsLines() || len(proof.Differences) > 0 {
		return &exit.Error{Code: exit.Failure}
	}
	return nil
}

const (
	systemCrontab = "/etc/crontab"
	systemFolder  = "/etc/cron.d"
)

func readSources(a *app.App, o options) (sources []crontab.Source, from string, err error) {
	switch {
	case o.file == "-":
		text, err := io.ReadAll(a.In)
		if err != nil {
			return nil, "", exit.Failed("", "cannot read stdin: %w", err)
		}
		return []crontab.Source{{Name: "stdin", Text: string(text), System: o.system}}, "a crontab", nil
	case o.file != "":
		sources, err = sourcesIn(a, o.file, o.system)
		return sources, filepath.Base(o.file), err
	case o.system:
		ignored, err := machine.IgnoredFiles(context.Background(), machine.Here(a.Now(), app.LocalZone()))
		if err != nil {
			return nil, "", exit.Failed("", "cannot look at this machine: %w", err)
		}
		for _, path := range []string{systemCrontab, systemFolder} {
			inPath, err := sourcesIn(a, path, true)
			if err != nil && !os.IsNotExist(err) {
				return nil, "", err
			}
			for _, source := range inPath {
				if why := ignored[source.Name]; why != "" {
					a.Warn("%s is not read: cron ignores it: %s", source.Name, why)
					continue
				}
				sources = append(sources, source)
			}
		}
		if len(sources) == 0 {
			return nil, "", exit.Failed("", "there is neither %s nor a file in %s", systemCrontab, systemFolder)
		}
		return sources, systemCrontab + " and " + systemFolder, nil
	}
	return userCrontab(o.user)
}

// userCrontab reads the crontab of a user, and describes it. "" is the user of this process.
func userCrontab(name string) (sources []crontab.Source, from string, err error) {
	whose := name
	if whose == "" {
		whose = app.PersonName()
		if u, err := user.Current(); err == nil {
			whose = u.Username
		}
	}
	content, exists, err := usercrontab.Crontab{User: name}.Read()
	if err != nil {
		if _, err := user.Lookup(whose); errors.As(err, new(user.UnknownUserError)) {
			return nil, "", exit.Failed(account.UserHint(whose), "there is no user %q on this machine", whose)
		}
		return nil, "", exit.Failed("name a file, or - for stdin", "%w", err)
	}
	if !exists {
		return nil, "", exit.Failed(
			"`sched import --system` reads the crontabs of the machine; a FILE can be named, too",
			"%s has no crontab", whose)
	}
	return []crontab.Source{{Name: "crontab", Text: content}}, "the crontab of " + whose, nil
}

// sourcesIn reads a file, or the files of a folder whose names cron accepts.
func sourcesIn(a *app.App, path string, system bool) (sources []crontab.Source, err error) {
	entries, err := os.ReadDir(path)
	if err != nil { // it is no folder
		source, err := sourceOf(a, path, system)
		if err != nil {
			return nil, err
		}
		return []crontab.Source{source}, nil
	}
	for _, entry := range entries {
		inner := filepath.Join(path, entry.Name())
		info, err := os.Stat(inner)
		if err != nil || !info.Mode().IsRegular() || entry.Name() == ".placeholder" {
			continue
		}
		switch {
		case !crontab.IsFileName(entry.Name()):
			a.Warn("%s is not read: cron takes only names of letters, digits, _ and -", inner)
		default:
			source, err := sourceOf(a, inner, system)
			if err != nil {
				return nil, err
			}
			sources = append(sources, source)
		}
	}
	return sources, nil
}

// sourceOf reads a file. If system is false, it finds out whether the lines have users.
func sourceOf(a *app.App, path string, system bool) (crontab.Source, error) {
	content, err := os.ReadFile(path)
	if os.IsNotExist(err) && (path == systemCrontab || path == systemFolder) {
		return crontab.Source{}, err
	}
	if err != nil {
		return crontab.Source{}, exit.Failed("", "cannot read %s: %w", path, humanize.WithoutPath(err))
	}
	if !system {
		full, _ := filepath.Abs(path)
		isUser := func(name string) bool { _, ok := app.HomeOf(name); return ok }
		format, problem, _ := crontab.FormatOf(full, string(content), false, isUser)
		if format == crontab.Unclear && !yamldoc.IsMapping(content) {
			fmt.Fprintf(a.Err, "%s: %s\n  hint: if they are users, add --system\n", path, problem)
		}
		system = format == crontab.System
	}
	return crontab.Source{Name: path, Text: string(content), System: system}, nil
}

// convert makes a schedule of the crontabs. It says where the tasks keep their history if the
// crontab was run as it is.
func convert(a *app.App, sources []crontab.Source, o options) *crontab.Schedule {
	var tables []*crontab.Table
	for _, source := range sources {
		t := crontab.Parse(source)
		isDebians := o.as == asDebian || o.as == "" && isOfThisMachine(source.Name, o) && preflight.CronIsDebians()
		if isDebians {
			t.IgnoreCronTZ(app.LocalZone().String())
		}
		tables = append(tables, t)
	}
	stateDir := stateDirOf(a, o)
	if stateDir != "" {
		a.Warn("%s was run as it is: its tasks keep their history, in %s (state_dir)", o.file, stateDir)
	}
	return crontab.Convert(tables, crontab.Options{
		Tidy:     o.tidy,
		Home:     app.HomeOf,
		StateDir: stateDir,
		Zone:     app.LocalZone().String(),
	})
}

// isOfThisMachine reports whether the cron of this machine reads a crontab: no other cron has a say
// in what its lines mean.
func isOfThisMachine(name string, o options) bool {
	if o.file == "" { // it came from crontab -l, or from the places of --system
		return true
	}
	full, err := filepath.Abs(name)
	folder := filepath.Dir(full)
	return err == nil && o.file != "-" && (full == systemCrontab || folder == systemFolder ||
		strings.HasPrefix(folder, "/var/spool/cron"))
}

// stateDirOf returns the state folder of a crontab that was run as it is, or "" if it has no state
// folder. The path is relative to the folder of the new schedule if it is below that folder.
func stateDirOf(a *app.App, o options) string {
	if o.file == "" || o.file == "-" {
		return ""
	}
	s, err := load.File(o.file, a.Options())
	if err != nil {
		return ""
	}
	if _, err := os.Stat(s.StateDir); err != nil {
		return ""
	}
	folder, err := filepath.Abs(filepath.Dir(o.output))
	if err != nil {
		return s.StateDir
	}
	if below, err := filepath.Rel(folder, s.StateDir); err == nil && filepath.IsLocal(below) {
		return below
	}
	return s.StateDir
}

// printFindings prints what the schedule lacks or has otherwise than the crontab, and the lines
// that --tidy has changed.
func printFindings(a *app.App, s *crontab.Schedule) {
	for _, finding := range s.Findings {
		if finding.IsOmitted {
			finding.Text = "not imported: " + finding.Text
		}
		fmt.Fprintln(a.Err, finding)
	}
	for _, t := range s.Tasks {
		if t.Tidied {
			fmt.Fprintf(a.Err, "%s:%d: %s is tidied:\n", t.Source, t.Entry.Line, t.Name)
			a.PrintDiff(t.Diff())
		}
	}
}

// prove compares what cron starts with what the schedule would start.
func prove(a *app.App, s *crontab.Schedule, yaml []byte, o options) (*proof.Proof, error) {
	loaded, err := loadNew(a, yaml, o)
	if err != nil {
		return nil, err
	}
	return proof.Prove(s.Tasks, loaded, a.Now(), app.LocalZone()), nil
}

// printMail names the lines whose mail is lost.
func printMail(a *app.App, s *crontab.Schedule) {
	var places []string
	for _, t := range s.Tasks {
		if t.LosesMail {
			places = append(places, fmt.Sprintf("%s:%d", t.Source, t.Entry.Line))
		}
	}
	if len(places) > 0 {
		fmt.Fprintf(a.Err, "but for the mail: cron mails what a line without MAILTO prints to its user, "+
			"and the schedule to nobody: %s\n", humanize.Names(places, maxPlaces))
	}
}

// maxPlaces is how many lines are named at most.
const maxPlaces = 20

// header is the comment at the top of the schedule. from describes the crontab.
func header(from string, o options, s *crontab.Schedule) []string {
	lines := []string{
		"Imported from " + from + " by `sched import`.",
		"",
		"As under cron each task runs beside the others (background), in its home folder and with cron's PATH.",
		"sched keeps what it prints: `sched logs TASK` shows it.",
	}
	if s.MailsTo {
		lines = append(lines, "Cron mailed it to the user. For that add to the defaults:",
			"  after: {mail: you@example.com, when: output}")
	}
	if o.system {
		lines = append(lines, "Tasks of several users need root: its tick starts each as its own user.")
	}
	return lines
}

// printProof says how many minutes were compared, and where the schedule does not do as cron did.
func printProof(a *app.App, p *proof.Proof) {
	for _, d := range p.Differences {
		fmt.Fprintf(a.Err, "%s:%d: %s: %s\n", d.Task.Source, d.Task.Entry.Line, d.Task.Name, d.Text(app.LocalZone()))
	}
	if len(p.Boots) > 0 {
		fmt.Fprintf(a.Err, "proven: %s at a boot, as cron starts the line\n", humanize.Count(len(p.Boots), "task"))
	}
	if len(p.Uncompared) > 0 {
		var names []string
		for _, t := range p.Uncompared {
			names = append(names, t.Name)
		}
		fmt.Fprintf(a.Err, "not compared with Debian's cron, which takes no such lines or reads them otherwise: %s\n",
			strings.Join(names, ", "))
	}
	if p.Tasks == 0 {
		return
	}
	same := p.Tasks
	for _, d := range p.Differences {
		if !d.At.IsZero() {
			same--
		}
	}
	which := "Vixie's, as Debian has it"
	if p.HasCronTZ {
		which += ", with the CRON_TZ of cronie"
	}
	fmt.Fprintf(a.Err, "proven: %d of %s due in the minutes in which cron (%s) starts the line:\n",
		same, humanize.Count(p.Tasks, "task"), which)
	fmt.Fprintf(a.Err, "  %s minutes of each compared, until %s, with %s of the clocks in %s\n",
		thousands(p.Minutes), p.To.Format(time.DateOnly), humanize.Count(p.Changes, "change"),
		strings.Join(p.Zones, ", "))
}
