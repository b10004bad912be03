// Package schema is the command `sched schema`.
package schema

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/mutex/stores"
	"sched/schedule/humanize"
	"sched/schedule/load"
)

type options struct {
	output   string
	database string // postgres or mysql: print the tables of a store instead
	prefix   string // of these tables
}

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the schema of schedule.yaml, by which editors complete and check it",
		Long: `schema prints the JSON Schema (draft 2020-12) of schedule.yaml and of the files that it includes:
every key with what it means, its default and an example. Editors find it by a line at the top of
the file:

    ` + load.Modeline(load.SchemaFile) + `

sched init and sched import write the line if the schema is there. After an upgrade, write the
schema again. It accepts all that sched check accepts. Some mistakes only sched
check finds, such as a wrong cron expression.

With --sql it prints the statements that make the tables of a store in a database, for a store
whose user may not make them.`,
		Example: `  sched schema -o ` + load.SchemaFile + `
  sched schema > /tmp/sched.json
  sched schema --sql postgres | psql jobs`,
		RunE: func(*cobra.Command, []string) error {
			o.output = flags.File(o.output)
			return printSchema(a, o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "", "write it to this file, over what is there")
	f.StringVar(&o.database, "sql", "", "print the tables of a store in a database: postgres or mysql")
	f.StringVar(&o.prefix, "prefix", "",
		"with --sql: what the names of the tables begin with, instead of sched_")
	return c
}

// printSchema prints the schema or the tables, or writes them to the file of --output.
func printSchema(a *app.App, o options) error {
	if o.prefix != "" && o.database == "" {
		return exit.Usage("add --sql postgres or --sql mysql", "--prefix is for the tables of --sql")
	}
	content := load.Schema()
	if o.database != "" {
		tables, ok := stores.Tables(o.database, o.prefix)
		if !ok {
			return exit.Usage("write `--sql postgres` or `--sql mysql`, and a prefix of small letters, digits and _",
				"there are no tables for --sql %q and the prefix %q", o.database, o.prefix)
		}
		content = []byte(tables)
	}
	if o.output == "" {
		_, err := a.Out.Write(content)
		return err
	}
	if err := os.WriteFile(o.output, content, 0o644); err != nil {
		return exit.Failed("", "cannot write %s: %w", o.output, humanize.WithoutPath(err))
	}
	if o.database == "" {
		fmt.Fprintf(a.Err, "hint: editors find it by this first line of a schedule beside it:\n%s\n",
			load.Modeline(filepath.Base(o.output)))
	}
	return nil
}
