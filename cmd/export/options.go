package export

import (
	"fmt"
	"path"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule/humanize"
)

// The values of --to.
const (
	toCrontab    = "crontab"
	toKubernetes = "kubernetes"
)

type options struct {
	output, to, image, folder string
}

// check refuses a --to that there is not, and flags that do not go with it.
func (o options) check() error {
	switch {
	case o.to == "systemd":
		return exit.Usage("`sched install --systemd` writes a timer and a service for the whole schedule",
			"--to takes crontab or kubernetes, not systemd")
	case o.to != toCrontab && o.to != toKubernetes:
		return exit.Usage("", "--to takes crontab or kubernetes, not %q", o.to)
	case o.to == toCrontab && o.image != "":
		return exit.Usage("", "--image goes with --to kubernetes alone")
	case o.to == toKubernetes && o.image == "":
		return exit.Usage("sched export --to kubernetes --image registry.example.com/shop:1",
			"--to kubernetes needs --image: what the containers of the tasks are made of")
	case !path.IsAbs(o.folder):
		return exit.Usage("", "--folder %q is not absolute", o.folder)
	}
	return nil
}

// write prints the text, or writes it to the file.
func (o options) write(a *app.App, text string) error {
	if o.output == "" {
		fmt.Fprint(a.Out, text)
	} else if err := app.WriteNew(o.output, text, 0o644); err != nil {
		return exit.Failed("", "cannot write %s: %w", o.output, humanize.WithoutPath(err))
	}
	return nil
}
