package cmd

import (
	"os"

	"github.com/spf13/cobra"

	"sched/mutex/stores"
	"sched/schedule/humanize"
	"sched/schedule/load"
)

func newSchemaCommand(a *app) *cobra.Command {
	var output, database, prefix string
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the schema of schedule.yaml, by which editors complete and check it",
		Long: `schema prints the JSON Schema (draft 2020-12) of schedule.yaml and of the files that it includes:
every key with what it means, its default and an example. Editors find it by a line at the top of
the file, which sched init and sched import write:

    ` + load.Modeline(load.SchemaFile) + `

After an upgrade, write it again. It accepts what sched check accepts; what it cannot say, such as
whether a cron expression is right, sched check does.

With --sql it prints the statements that make the tables of a store in a database, for a store
whose user may not make them.`,
		Example: `  sched schema -o ` + load.SchemaFile + `
  sched schema > /tmp/sched.json
  sched schema --sql postgres | psql jobs`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			content := load.Schema()
			if database != "" {
				tables, ok := stores.Tables(database, prefix)
				if !ok {
					return usage("write `--sql postgres` or `--sql mysql`, and a prefix of small letters, digits and _",
						"there are no tables for --sql %q and the prefix %q", database, prefix)
				}
				content = []byte(tables)
			}
			if output == "" {
				_, err := a.out.Write(content)
				return err
			}
			if err := os.WriteFile(output, content, 0o644); err != nil {
				return failed("", "cannot write %s: %w", output, humanize.WithoutPath(err))
			}
			return nil
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write it to this file, over what is there")
	c.Flags().StringVar(&database, "sql", "", "print the tables of a store in a database: postgres or mysql")
	c.Flags().StringVar(&prefix, "prefix", "", "with --sql: what the names of the tables begin with, instead of sched_")
	return c
}

// schemaLines are the first lines of a schedule.yaml that sched writes.
var schemaLines = load.Modeline(load.SchemaFile) + "\n# `sched schema -o " + load.SchemaFile + "` writes that file, for editors.\n"
