package cmd

import (
	"encoding/json"
	"os"
	"time"

	"sched/cmd/terminal"
	"sched/schedule/text"
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

// printJSON prints one value, indented: people read it, too.
func (a *app) printJSON(v any) error {
	encoder := json.NewEncoder(a.out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// clock writes a time around now, with the date and the zone only where it is not today.
func (a *app) clock(t time.Time, zone *time.Location) string {
	if now := a.now(); text.SameDay(t, now, zone) {
		return text.MinuteNear(t, now, zone)
	}
	return text.MinuteZone(t, zone)
}

// ago writes how long ago a time was; 0 for one in the future, since the clock of another server may be ahead.
func (a *app) ago(t time.Time) string { return text.Duration(max(0, a.now().Sub(t))) }
