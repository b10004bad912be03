package importcmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule/crontab"
	"sched/schedule/foreign"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/yamldoc"
)

// importForeign writes a file of another scheduler as a schedule, with a verdict for each job.
func importForeign(a *app.App, o options, arguments []string) error {
	kind, _ := foreign.Find(o.from)
	if len(arguments) != 1 {
		return exit.Usage("sched import --from "+kind.Name+" FILE", "--from %s takes one file, or - for stdin: %s",
			kind.Name, kind.What)
	}
	file, text, err := readForeign(a, arguments[0])
	if err != nil {
		return err
	}
	a.ReadOnly = true
	kind = kind.In(projectOf(arguments[0]))
	jobs, err := kind.Read(text, app.LocalZone())
	if err != nil {
		looksLike, _ := load.Foreign([]byte(text))
		looksLike, _, _ = strings.Cut(looksLike, ", and no schedule")
		if errors.Is(err, foreign.ErrOther) && looksLike != "" {
			err = errors.New(looksLike)
		}
		return exit.Usage("--from takes "+kindNames(), "%s is no file for --from %s (%s): %w",
			file, kind.Name, kind.What, err)
	}
	zone := foreign.TakeZone(jobs)
	var blocks []crontab.Block
	for _, j := range jobs {
		if j.Refused == "" {
			blocks = append(blocks, crontab.Block{Keys: j.Keys})
		}
	}
	top := "# Imported from " + humanize.Line(file) + " by `sched import --from " + kind.Name + "`.\n"
	if zone != "" {
		top += "\ntimezone: " + zone + "\n"
	}
	yaml := append([]byte(top), crontab.BlocksYAML(nil,
		[]crontab.Key{{Name: "background", Value: yamldoc.NewBool(!kind.InOrder())}}, blocks)...)
	if len(blocks) == 0 {
		printVerdicts(a, file, foreign.Prove(jobs, nil, a.Now()))
		return exit.Failed("", "%s has no job that can be a task: nothing is written", file)
	}
	loaded, err := loadNew(a, yaml, o)
	if err != nil {
		return err
	}
	allProven := printVerdicts(a, file, foreign.Prove(jobs, loaded, a.Now()))
	next := fmt.Sprintf("look at it with `sched list -c %s`, and stop the jobs there once it runs",
		humanize.ShellWord(o.output))
	if err := writeSchedule(a, o, yaml, len(blocks), 0o600, next); err != nil { // a variable may be a secret
		return err
	}
	if !allProven {
		return &exit.Error{Code: exit.Failure}
	}
	return nil
}

// projectOf returns the folder of the application of Laravel to which a file belongs: the nearest
// folder above it with artisan or config/app.php. It returns nil if no folder has them.
func projectOf(file string) fs.FS {
	full, err := filepath.Abs(file)
	if err != nil || file == "-" {
		return nil
	}
	for folder := filepath.Dir(full); ; folder = filepath.Dir(folder) {
		for _, name := range []string{"artisan", "config/app.php"} {
			if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
				return os.DirFS(folder)
			}
		}
		if folder == filepath.Dir(folder) {
			return nil
		}
	}
}

// maxForeign is the largest file that is read.
const maxForeign = 16 << 20

// readForeign reads the file, or stdin.
func readForeign(a *app.App, file string) (name, text string, err error) {
	name, in := "stdin", a.In
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return "", "", exit.Failed("", "cannot read %s: %w", file, humanize.WithoutPath(err))
		}
		defer opened.Close()
		name, in = file, opened
	}
	content, err := io.ReadAll(io.LimitReader(in, maxForeign+1)) // the size of a pipe is not known before
	switch {
	case err != nil:
		return "", "", exit.Failed("", "cannot read %s: %w", name, humanize.WithoutPath(err))
	case len(content) > maxForeign:
		return "", "", exit.Failed("", "%s is larger than %d MiB", name, maxForeign>>20)
	}
	return name, string(content), nil
}

// printVerdicts prints what became of each job, and below that what its task has not. It reports
// whether all are proven.
func printVerdicts(a *app.App, file string, verdicts []foreign.Verdict) (allProven bool) {
	allProven = true
	for _, v := range verdicts {
		allProven = allProven && v.Proven
		place := file
		if v.Job.Line > 0 {
			place = fmt.Sprintf("%s:%d", file, v.Job.Line)
		}
		fmt.Fprintf(a.Err, "%s: %s: %s\n", place, v.Job.Name, humanize.Line(v.Text))
		if v.Job.Refused != "" {
			continue
		}
		for _, note := range v.Job.Notes {
			fmt.Fprintf(a.Err, "  %s\n", humanize.Line(note))
		}
	}
	return allProven
}
