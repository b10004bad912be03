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

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule/humanize"
)

func New(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write a first schedule.yaml that runs, and say what to do next",
		Long: `init asks nothing. It writes ./schedule.yaml (or the file of --config), with a task that runs every
minute, and with tasks for Laravel, Rails, Django, composer, Node and agents (CLAUDE.md, AGENTS.md),
switched off, where the folder looks like one of them. It never overwrites.`,
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
	first := project{folder: os.DirFS(folder), at: folder, zone: zoneName(), lookPath: exec.LookPath}.newSchedule()
	if err := app.WriteNew(path, app.SchemaLine(path)+first.text, 0o644); err != nil {
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
	printNext(a, first.others)
	return nil
}

// printNext says what comes next, and which files say what others schedule.
func printNext(a *app.App, others []otherSchedule) {
	flag := a.ConfigFlag()
	fmt.Fprintf(a.Out, "\nnext:\n")
	t := a.Table()
	defer t.Flush()
	t.Row("  sched run"+flag, "one tick: what cron will start every minute")
	t.Row("  sched list"+flag, "what runs, and when next")
	t.Row("  sched install"+flag, "the line for cron, shown before it is written")
	for _, other := range others {
		t.Row("  "+other.command, "what "+other.program+" has, as tasks, to take from")
	}
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
