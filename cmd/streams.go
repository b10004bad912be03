package cmd

import (
	"os"
	"time"

	"sched/cmd/terminal"
)

// stdout is where results go, with what can be shown there.
func (a *app) stdout() terminal.Stream { return terminal.Of(a.out, os.Getenv) }

// stderr is where problems and hints go, with what can be shown there.
func (a *app) stderr() terminal.Stream { return terminal.Of(a.err, os.Getenv) }

// liveLine puts a live line below all that the app writes from now on, until restore is called. It is nil where none
// can be shown. Nothing may have been written for as long as rest before it is drawn.
func (a *app) liveLine(rest time.Duration) (line *terminal.LiveLine, restore func()) {
	out, errs := a.out, a.err
	line, a.out, a.err = terminal.NewLiveLine(a.stdout(), a.stderr(), rest)
	return line, func() {
		line.Hide()
		a.out, a.err = out, errs
	}
}
