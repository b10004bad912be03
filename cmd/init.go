package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sched/schedule/humanize"
)

type initCommand struct{ *app }

func newInitCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write a first schedule.yaml that runs, and say what to do next",
		Long: `init asks nothing. It writes ./schedule.yaml (or the file of --config), with a task that runs every
minute, and with tasks for Laravel, Rails, Django, composer and Node, switched off, where the folder
looks like one of them. In a git repository it adds .sched/ to .gitignore. It never overwrites.`,
		Example: `  sched init
  sched init -c ops/schedule.yaml`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return initCommand{a}.init() },
	}
}

func (a initCommand) init() error {
	path := a.config
	if path == "" {
		path = "schedule.yaml"
	}
	if err := refuseExisting(path); err != nil {
		return err
	}
	folder := filepath.Dir(path)
	file := project{folder: os.DirFS(folder), zone: zoneName(), lookPath: exec.LookPath}.firstSchedule()
	if err := writeNew(path, schemaLines+file.text); err != nil {
		hint := ""
		if errors.Is(err, fs.ErrNotExist) {
			hint = "mkdir -p " + folder
		}
		return failed(hint, "%s cannot be written: %w", path, humanize.WithoutPath(err))
	}
	fmt.Fprintf(a.out, "%s is written: a task that runs every minute, and one for the night that is switched off\n", path)
	if file.offered > 0 {
		fmt.Fprintf(a.out, "this looks like %s: %s for it, switched off, too\n", strings.Join(file.found, " and "), humanize.Count(file.offered, "task"))
	}
	ignored, err := ignoreState(folder)
	if err != nil {
		a.problem("add .sched/ to .gitignore, it cannot be written: %v", humanize.WithoutPath(err))
	} else if ignored {
		fmt.Fprintf(a.out, "%s has a line for .sched/, where sched keeps its state\n", filepath.Join(folder, ".gitignore"))
	}
	a.printNext(path)
	return nil
}

func (a initCommand) printNext(path string) {
	flag := ""
	if a.config != "" {
		flag = " -c " + path
	}
	fmt.Fprintf(a.out, "\nnext:\n")
	t := a.stdout().Table()
	defer t.Flush()
	t.Row("  sched run"+flag, "one tick: what cron will start every minute")
	t.Row("  sched list"+flag, "what runs, and when next")
	t.Row("  sched install"+flag, "the line for cron, shown before it is written")
}

// refuseExisting refuses a path where something is already, and a schedule.yaml beside a
// schedule.yml.
func refuseExisting(path string) error {
	for _, spelling := range []string{path, strings.TrimSuffix(path, ".yaml") + ".yml"} {
		if _, err := os.Lstat(spelling); err == nil {
			return failed("`sched check` reads it; init never overwrites", "%s is there already", spelling)
		}
	}
	return nil
}

// writeNew writes a file that must not be there yet, whole or not at all.
func writeNew(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		os.Remove(path)
		return err
	}
	return nil
}

// zoneName is the zone of this machine for a schedule; UTC if it has no name.
func zoneName() string {
	if name := localZone().String(); name != "Local" {
		return name
	}
	return "UTC"
}

// ignoreState adds .sched/ to the .gitignore of a folder in a git repository. It reports whether
// that has the line now.
func ignoreState(folder string) (bool, error) {
	if !inGit(folder) {
		return false, nil
	}
	path := filepath.Join(folder, ".gitignore")
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	for line := range strings.Lines(string(before)) {
		if strings.Trim(strings.TrimSpace(line), "/") == ".sched" {
			return true, nil
		}
	}
	line := ".sched/\n"
	if len(before) > 0 && before[len(before)-1] != '\n' {
		line = "\n" + line
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return false, err
	}
	_, err = file.WriteString(line)
	return true, errors.Join(err, file.Close())
}

func inGit(folder string) bool {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return false
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, ".git")); err == nil {
			return true
		}
		above := filepath.Dir(folder)
		if above == folder {
			return false
		}
		folder = above
	}
}
