package cmd

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
)

type whyOptions struct {
	at   string
	json bool
}

type whyCommand struct{ *app }

func newWhyCommand(a *app) *cobra.Command {
	var o whyOptions
	c := &cobra.Command{
		Use:   "why [TASK]",
		Short: "Explain when a task ran, or why it did not, and what could stop it",
		Long: `why explains one minute of a task: whether it was due, and if not which field of which expression
said no; what became of it, and what it means if nothing was recorded; or, for a minute to come,
whether it will be due, and which condition will be in the way.

Without --at it explains the last minute at which the task was due and the next one, and says what
could stop it.`,
		Example: `  sched why nightly-report
  sched why nightly-report --at "2026-03-29 02:30"`,
		Args: arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error { return whyCommand{a}.why(strings.Join(args, ""), o) },
	}
	c.Flags().StringVar(&o.at, "at", "", "explain this minute: "+timeForms)
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return c
}

func (a whyCommand) why(name string, o whyOptions) error {
	a.look()
	s, err := a.loadAnyway()
	if err != nil {
		return err
	}
	if name == "" {
		if name, err = a.chooseTask(s, "why TASK"); err != nil {
			return err
		}
	}
	at, clock, err := a.parseMinute(o.at, s.Location)
	if err != nil {
		return err
	}
	if o.at == "" {
		at = time.Time{}
	}
	w, err := a.view(s).Why(ctx, name, at)
	if err != nil {
		return err
	}
	if clock != "" && w.Answer.Minute != nil {
		w.Answer.Minute.Clock = clock
	}
	if o.json {
		return a.printJSON(w.Answer)
	}
	a.printWhy(s, w)
	return nil
}
