package install

import (
	"os"

	"github.com/spf13/cobra"

	"sched/cmd/exit"
)

type options struct {
	systemd                      string // "", "timer" or "work"
	user                         string
	replace, yes, dryRun, noWait bool
}

// flags adds the flags that install and uninstall share.
func (o *options) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.user, "user", "", "as whom ticks run, for root")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be written, and do nothing")
}

// check refuses flags of install and uninstall that are not known, not allowed, or do not go
// together.
func (o options) check(isSystem bool) error {
	switch {
	case isSystem:
		return exit.Usage("write `# sched: system` at the top of the crontab, and an empty line below it",
			"what is installed has no --system")
	case o.systemd != "" && o.systemd != "timer" && o.systemd != "work":
		return exit.Usage("write --systemd or --systemd=work", "--systemd %q is not known", o.systemd)
	case o.systemd != "" && o.replace:
		return exit.Usage("install the line in the crontab, or comment the lines out by hand",
			"--replace is for crontabs, and --systemd writes none")
	case o.user != "" && os.Geteuid() != 0:
		return exit.Usage("call it as that user", "only root may install for another user")
	}
	return nil
}
