// Package propose has the commands `sched propose`, `proposals`, `approve` and `reject`.
package propose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/schedule/proposal"
	"sched/schedule/serve"
	"sched/schedule/view"
)

type options struct {
	edit, reason, agent string
	json                bool
}

func (o *options) addEdit(c *cobra.Command) {
	c.Flags().StringVar(&o.edit, "edit", "", "the folder of approved tasks, instead of the one of x-proposals")
}

func (o *options) addJSON(c *cobra.Command) { c.Flags().BoolVar(&o.json, "json", false, "print JSON") }

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "propose TASK",
		Short: "Propose a task, or a change of one, for a person to approve",
		Long: `propose reads the keys of one task from stdin, as YAML without its name, and says what a careful
colleague would: problems and warnings, which assertions hold, the next five times, who shares the
mutex, how the next 7 days change, and the difference. Without a problem the proposal waits for a
person, for 14 days; at most 50 wait. The schedule stays as it is.

Keys that choose as whom or where a task runs, or what runs besides its command (user, group, shell,
env, env_file, hooks, when and others), are refused. The schedule may allow more of them:

    x-proposals: {folder: schedule.d, keys: [env]}

Approved tasks are written into that folder, which the schedule includes. Tasks that are defined
elsewhere cannot be changed.`,
		Example: `  sched propose nightly-report < task.yaml
  sched propose nightly-report --reason "it overlaps the backup" < task.yaml`,
		Args: flags.Arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return propose(a, args[0], o) },
	}
	o.addEdit(c)
	flags.AddReason(c, &o.reason)
	o.addJSON(c)
	c.Flags().StringVar(&o.agent, "agent", "", "the agent that proposes it, for those who approve")
	flags.Seldom(c.Flags(), "agent")
	return c
}

const maxAgent = 40 // characters of --agent

func propose(a *app.App, name string, o options) error {
	d, err := openDesk(a, o.edit, serve.NewDesk)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(a.In, proposal.MostKeys+1))
	if err != nil {
		return err
	}
	p := proposal.Proposal{Task: name, Keys: strings.ReplaceAll(string(text), "\r\n", "\n"), By: app.PersonName(),
		Reason: o.reason, At: a.Now().UTC(), Digest: d.Schedule.Digest}
	if o.agent != "" {
		p.By += "/" + o.agent
	}
	if err := errors.Join(proposal.CheckText(o.agent), proposal.CheckText(o.reason)); err != nil {
		return err
	}
	if utf8.RuneCountInString(o.agent) > maxAgent {
		return exit.Usage("", "--agent is longer than %d characters", maxAgent)
	}
	if _, err := view.FindTask(d.Schedule, name); err == nil {
		written, err := d.Written(name)
		if err != nil {
			return err
		}
		p.Old, p.Tag = written.Keys, written.Tag
	}
	r, err := d.Review(context.Background(), p)
	if err != nil {
		return err
	}
	if len(r.Problems) == 0 {
		err = d.Audit("propose", name, o.reason, func() (err error) {
			r.Proposal, err = proposal.Add(d.Schedule.StateDir, p)
			return err
		})
		if err != nil {
			return err
		}
	}
	if o.json {
		err = a.PrintJSON(r)
	} else {
		d.print(r)
	}
	if err == nil && len(r.Problems) > 0 {
		return exit.Usage("correct it, and propose it again", "this cannot be proposed")
	}
	if err == nil && !o.json {
		fmt.Fprintf(a.Out, "it waits for `sched approve%s %s`\n", a.ConfigFlag(), r.ID)
	}
	return err
}
