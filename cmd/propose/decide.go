package propose

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/schedule/humanize"
	"sched/schedule/proposal"
	"sched/schedule/serve"
)

func NewProposals(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "proposals [ID]",
		Short: "Show the tasks that were proposed and wait for a person",
		Long: `proposals lists what sched propose has left on this machine, the oldest first. With an ID it says of
one what a careful colleague would, with the schedule as it is now.`,
		Example: `  sched proposals
  sched proposals 5c2f9a1b`,
		Args: flags.Arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error { return show(a, flags.Optional(args), o) },
	}
	o.addEdit(c)
	o.addJSON(c)
	return c
}

func show(a *app.App, id string, o options) error {
	if id != "" {
		d, err := openDesk(a, o.edit, serve.NewDesk)
		if err != nil {
			return err
		}
		p, err := proposal.Find(d.Schedule.StateDir, id, a.Now())
		if err != nil {
			return err
		}
		r, err := d.Review(context.Background(), p)
		if err != nil {
			return err
		}
		if o.json {
			return a.PrintJSON(r)
		}
		d.print(r)
		return nil
	}
	s, err := a.LoadToShow()
	if err != nil {
		return err
	}
	all, err := proposal.All(s.StateDir, a.Now())
	if err != nil {
		return err
	}
	if o.json {
		if all == nil {
			all = []proposal.Proposal{}
		}
		return a.PrintJSON(all)
	}
	t := a.Table()
	defer t.Flush()
	for _, p := range all {
		t.Row(p.ID, p.Task, "by "+humanize.Line(p.By), a.MinuteText(p.At, s.Location), humanize.Line(p.Reason))
	}
	return nil
}

func NewApprove(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "approve ID",
		Short: "Write a proposed task into the schedule",
		Long: `approve checks a proposal again, and writes its task into a file of its own, as the HTTP API does:
into the folder of x-proposals, or of --edit. Next ticks have it. The log of changes (sched history
--changes) names who proposed and who approved. A proposal whose task has changed since is refused.`,
		Example: `  sched approve 5c2f9a1b`,
		Args:    flags.Arguments(1, 1),
		RunE:    func(_ *cobra.Command, args []string) error { return decide(a, args[0], o, serve.NewDesk, approve) },
	}
	o.addEdit(c)
	flags.AddReason(c, &o.reason)
	return c
}

func NewReject(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:     "reject ID",
		Short:   "Forget a proposed task",
		Long:    `reject forgets a proposal. The log of changes names who proposed and who rejected, and why.`,
		Example: `  sched reject 5c2f9a1b --reason "the backup needs that hour"`,
		Args:    flags.Arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			return decide(a, args[0], o, serve.DeskToReject, reject)
		},
	}
	o.addEdit(c)
	flags.AddReason(c, &o.reason)
	return c
}

// decide finds the proposal with this whole id, and lets do decide about it. A part of an id may be
// another one's by now.
func decide(a *app.App, id string, o options, open serve.OpenDesk, do func(desk, string, string) error) error {
	d, err := openDesk(a, o.edit, open)
	if err != nil {
		return err
	}
	p, err := proposal.Find(d.Schedule.StateDir, id, a.Now())
	if err != nil {
		return err
	}
	if p.ID != id {
		return exit.Usage("`sched proposals` has the ids",
			"%s is a part of an id: write the whole of it", humanize.Line(id))
	}
	return do(d, p.ID, o.reason)
}

func approve(d desk, id, reason string) error {
	r, err := d.Approve(context.Background(), id, reason)
	if len(r.Problems) > 0 {
		d.print(r)
		return exit.Failed("`sched reject` forgets it", "%s cannot be written: see above", r.Task)
	}
	if err == nil {
		fmt.Fprintf(d.Out, "%s is written, and was proposed by %s\n", r.Task, humanize.Line(r.By))
	}
	return err
}

func reject(d desk, id, reason string) error {
	p, err := d.Reject(id, reason)
	if err == nil {
		fmt.Fprintf(d.Out, "the proposal for %s is forgotten\n", p.Task)
	}
	return err
}
