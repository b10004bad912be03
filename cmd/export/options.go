package export

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule/humanize"
	"sched/schedule/mask"
	"sched/schedule/systemd/export"
)

// The values of --to.
const (
	toCrontab    = "crontab"
	toKubernetes = "kubernetes"
	toSystemd    = "systemd"
)

type options struct {
	output, to, image, folder string
}

// check refuses a --to that there is not, and flags that do not go with it.
func (o options) check() error {
	switch {
	case o.to != toCrontab && o.to != toKubernetes && o.to != toSystemd:
		return exit.Usage("", "--to takes crontab, kubernetes or systemd, not %q", o.to)
	case o.to != toKubernetes && o.image != "":
		return exit.Usage("", "--image goes with --to kubernetes alone")
	case o.to == toKubernetes && o.image == "":
		return exit.Usage("sched export --to kubernetes --image registry.example.com/shop:1",
			"--to kubernetes needs --image: what the containers of the tasks are made of")
	case !path.IsAbs(o.folder):
		return exit.Usage("", "--folder %q is not absolute", o.folder)
	}
	return nil
}

// modeOf returns the mode of a file: only its user reads a file with what may be a secret.
func modeOf(text string) os.FileMode {
	if len(mask.SecretsIn(text)) > 0 {
		return 0o600
	}
	return 0o644
}

// write prints the text, or writes it to the file.
func (o options) write(a *app.App, text string) error {
	if o.output == "" {
		fmt.Fprint(a.Out, text)
	} else if err := app.WriteNew(o.output, text, modeOf(text)); err != nil {
		return exit.Failed("", "cannot write %s: %w", o.output, humanize.WithoutPath(err))
	}
	return nil
}

// writeFiles prints the units, or writes each to a file of a new folder.
func (o options) writeFiles(a *app.App, units *export.Units) error {
	if o.output == "" {
		fmt.Fprint(a.Out, units.Text())
		return nil
	}
	err := os.Mkdir(o.output, 0o755)
	for _, file := range units.Files {
		if err == nil {
			err = app.WriteNew(filepath.Join(o.output, file.Path), file.Text, modeOf(file.Text))
		}
	}
	if err != nil {
		return exit.Failed("", "cannot write %s: %w", o.output, humanize.WithoutPath(err))
	}
	return nil
}
