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
	"golang.org/x/sys/unix"

	"sched/mutex/stores"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/statedir"
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
		RunE: func(*cobra.Command, []string) error { return initCommand{a}.writeFirst() },
	}
}

// writeFirst writes a first schedule, and says what comes next.
func (a initCommand) writeFirst() error {
	path := a.config
	if path == "" {
		path = "schedule.yaml"
	}
	if err := refuseExisting(path); err != nil {
		return err
	}
	folder := filepath.Dir(path)
	first := project{folder: os.DirFS(folder), zone: zoneName(), lookPath: exec.LookPath}.newSchedule()
	if err := writeNew(path, schemaLines+first.text, 0o644); err != nil {
		hint := ""
		if errors.Is(err, fs.ErrNotExist) {
			hint = "mkdir -p " + folder
		}
		return failed(hint, "%s cannot be written: %w", path, humanize.WithoutPath(err))
	}
	fmt.Fprintf(a.out, "%s is written: a task that runs every minute, "+
		"and one for the night that is switched off\n", path)
	if first.offered > 0 {
		fmt.Fprintf(a.out, "this looks like %s: %s for it, switched off, too\n",
			strings.Join(first.kinds, " and "), humanize.Count(first.offered, "task"))
	}
	ignored, err := ignoreState(folder)
	if err != nil {
		a.warn("add .sched/ to .gitignore, it cannot be written: %v", humanize.WithoutPath(err))
	} else if ignored {
		fmt.Fprintf(a.out, "%s has a line for .sched/, where sched keeps its state\n",
			filepath.Join(folder, ".gitignore"))
	}
	a.printNext()
	return nil
}

// printNext prints the commands that people usually call next.
func (a initCommand) printNext() {
	flag := a.configFlag()
	fmt.Fprintf(a.out, "\nnext:\n")
	t := a.stdout().Table()
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
			return failed("`sched check` reads it; init never overwrites", "%s is there already", spelling)
		}
	}
	return nil
}

// writeNew writes a file that must not be there yet, whole or not at all.
func writeNew(path, text string, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
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

// inGit reports whether the folder is in a git repository.
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

type schemaOptions struct {
	output   string
	database string // postgres or mysql: print the tables of a store instead
	prefix   string // of these tables
}

// A schemaCommand prints the schema that the files of init name.
type schemaCommand struct{ *app }

func newSchemaCommand(a *app) *cobra.Command {
	var o schemaOptions
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the schema of schedule.yaml, by which editors complete and check it",
		Long: `schema prints the JSON Schema (draft 2020-12) of schedule.yaml and of the files that it includes:
every key with what it means, its default and an example. Editors find it by a line at the top of
the file, which sched init and sched import write:

    ` + load.Modeline(load.SchemaFile) + `

After an upgrade, write it again. It accepts all that sched check accepts. Some mistakes only sched
check finds, such as a wrong cron expression.

With --sql it prints the statements that make the tables of a store in a database, for a store
whose user may not make them.`,
		Example: `  sched schema -o ` + load.SchemaFile + `
  sched schema > /tmp/sched.json
  sched schema --sql postgres | psql jobs`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return schemaCommand{a}.print(o) },
	}
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "", "write it to this file, over what is there")
	f.StringVar(&o.database, "sql", "", "print the tables of a store in a database: postgres or mysql")
	f.StringVar(&o.prefix, "prefix", "",
		"with --sql: what the names of the tables begin with, instead of sched_")
	return c
}

// print prints the schema or the tables, or writes them to the file of --output.
func (a schemaCommand) print(o schemaOptions) error {
	if o.prefix != "" && o.database == "" {
		return usage("add --sql postgres or --sql mysql", "--prefix is for the tables of --sql")
	}
	content := load.Schema()
	if o.database != "" {
		tables, ok := stores.Tables(o.database, o.prefix)
		if !ok {
			return usage("write `--sql postgres` or `--sql mysql`, and a prefix of small letters, digits and _",
				"there are no tables for --sql %q and the prefix %q", o.database, o.prefix)
		}
		content = []byte(tables)
	}
	if o.output == "" {
		_, err := a.out.Write(content)
		return err
	}
	if err := os.WriteFile(o.output, content, 0o644); err != nil {
		return failed("", "cannot write %s: %w", o.output, humanize.WithoutPath(err))
	}
	return nil
}

// schemaLines are the first lines of a schedule.yaml that sched writes.
var schemaLines = load.Modeline(load.SchemaFile) + "\n" +
	"# `sched schema -o " + load.SchemaFile + "` writes that file, for editors.\n"
