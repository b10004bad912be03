// Package initcmd is the command `sched init`.
package initcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule/humanize"
	"sched/schedule/statedir"
)

func New(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write a first schedule.yaml that runs, and say what to do next",
		Long: `init asks nothing. It writes ./schedule.yaml (or the file of --config), with a task that runs every
minute, and with tasks for Laravel, Rails, Django, composer and Node, switched off, where the folder
looks like one of them. In a git repository it adds .sched/ to .gitignore. It never overwrites.`,
		Example: `  sched init
  sched init -c ops/schedule.yaml`,
		RunE: func(*cobra.Command, []string) error { return writeFirst(a) },
	}
}

func writeFirst(a *app.App) error {
	path := a.Config
	if path == "" {
		path = "schedule.yaml"
	}
	if err := refuseExisting(path); err != nil {
		return err
	}
	folder := filepath.Dir(path)
	first := project{folder: os.DirFS(folder), zone: zoneName(), lookPath: exec.LookPath}.newSchedule()
	if err := app.WriteNew(path, app.SchemaLines+first.text, 0o644); err != nil {
		hint := ""
		if errors.Is(err, fs.ErrNotExist) {
			hint = "mkdir -p " + folder
		}
		return exit.Failed(hint, "%s cannot be written: %w", path, humanize.WithoutPath(err))
	}
	fmt.Fprintf(a.Out, "%s is written: a task that runs every minute, "+
		"and one for the night that is switched off\n", path)
	if first.offered > 0 {
		fmt.Fprintf(a.Out, "this looks like %s: %s for it, switched off, too\n",
			strings.Join(first.kinds, " and "), humanize.Count(first.offered, "task"))
	}
	ignored, err := ignoreState(folder)
	if err != nil {
		a.Warn("add .sched/ to .gitignore, it cannot be written: %v", humanize.WithoutPath(err))
	} else if ignored {
		fmt.Fprintf(a.Out, "%s has a line for .sched/, where sched keeps its state\n",
			filepath.Join(folder, ".gitignore"))
	}
	printNext(a)
	return nil
}

func printNext(a *app.App) {
	flag := a.ConfigFlag()
	fmt.Fprintf(a.Out, "\nnext:\n")
	t := a.Table()
	defer t.Flush()
	t.Row("  sched run"+flag, "one tick: what cron will start every minute")
	t.Row("  sched list"+flag, "what runs, and when next")
	t.Row("  sched install"+flag, "the line for cron, shown before it is written")
}

// refuseExisting refuses a path where something is already. It also refuses a schedule.yaml beside
// a schedule.yml, and a schedule.yml beside a schedule.yaml.
func refuseExisting(path string) error {
	spellings := []string{path}
	ending := filepath.Ext(path)
	name := strings.TrimSuffix(path, ending)
	switch ending {
	case ".yaml":
		spellings = append(spellings, name+".yml")
	case ".yml":
		spellings = append(spellings, name+".yaml")
	}
	for _, spelling := range spellings {
		if _, err := os.Lstat(spelling); err == nil {
			return exit.Failed("`sched check` reads it; init never overwrites", "%s is there already", spelling)
		}
	}
	return nil
}

// zoneName is the zone of this machine for a schedule; UTC if it has no name.
func zoneName() string {
	if name := app.LocalZone().String(); name != "Local" {
		return name
	}
	return "UTC"
}

// ignoreState adds .sched/ to the .gitignore of a folder in a git repository. It reports whether
// the .gitignore has that line now.
func ignoreState(folder string) (bool, error) {
	if !inGit(folder) {
		return false, nil
	}
	path := filepath.Join(folder, ".gitignore")
	before, err := statedir.ReadFile(path)
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
	flags := os.O_WRONLY | os.O_APPEND | os.O_CREATE
	if os.Geteuid() == 0 { // the owner of the folder may have made a link to a file of root
		flags |= unix.O_NOFOLLOW | unix.O_NONBLOCK
	}
	file, err := os.OpenFile(path, flags, 0o644)
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
