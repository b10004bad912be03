// Manpages writes the manual pages of sched into a folder: sched(1), one for each command as
// sched-run(1), and schedule.yaml(5). The pages are made of the same texts as --help and the
// schema.
//
//	manpages FOLDER VERSION DATE      the date as 2026-11-22
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"sched/cmd"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manpages:", err)
		os.Exit(1)
	}
}

func write(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: manpages FOLDER VERSION DATE")
	}
	date, err := time.Parse(time.DateOnly, args[2])
	if err != nil {
		return err
	}
	root := cmd.Commands()
	plain(root)
	header := &doc.GenManHeader{Section: "1", Source: "sched " + args[1], Manual: "sched", Date: &date}
	if err := doc.GenManTree(root, header, args[0]); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(args[0], "schedule.yaml.5"), schedulePage(args[1], date), 0o644)
}

// plain leaves out the line that says by what a page was made: it has the day of the build in it.
func plain(c *cobra.Command) {
	c.DisableAutoGenTag = true
	for _, sub := range c.Commands() {
		plain(sub)
	}
}
