package cmd

import (
	"slices"

	"github.com/spf13/cobra"
)

// commandGroups is the order of `sched --help`: every command that people see has its name here or
// in seldom.
var commandGroups = []struct {
	title    string
	commands []string
}{
	{"Every day", []string{"run", "list", "check", "test", "logs", "why", "status", "show"}},
	{"The past", []string{"history"}},
	{"Steering", []string{"trigger", "retry", "stop", "pause", "resume"}},
	{"Setting up", []string{"init", "install", "uninstall", "import", "export", "doctor", "forecast"}},
	{"Machines", []string{"servers", "serve", "work"}},
	{"About sched", []string{"version", "help"}},
}

// seldom are the commands that only `sched help --all` lists.
var seldom = []string{"interrupt", "unlock", "forget", "finish", "schema", "completion"}

const seldomTitle = "Seldom needed"

// addInGroups adds commands in the order of commandGroups, then seldom, then the hidden ones.
func addInGroups(root *cobra.Command, commands ...*cobra.Command) {
	cobra.EnableCommandSorting = false
	commands = append(commands, newHelpCommand(root))
	add := func(name, group string) {
		if i := slices.IndexFunc(commands, func(c *cobra.Command) bool { return c.Name() == name }); i >= 0 {
			commands[i].GroupID = group
			root.AddCommand(commands[i])
			commands = slices.Delete(commands, i, i+1)
		}
	}
	for _, group := range commandGroups {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, name := range group.commands {
			add(name, group.title)
		}
	}
	for _, name := range seldom {
		add(name, "")
	}
	root.AddCommand(commands...)
}

func newHelpCommand(root *cobra.Command) *cobra.Command {
	all := false
	c := &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show what a command does, or with --all every command",
		Example: `  sched help run
  sched help --all`,
		ValidArgsFunction: func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
			for _, c := range root.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || c == root && len(rest) > 0 {
				return knownCommand(root, args)
			}
			return c.Help()
		},
	}
	c.Flags().BoolVar(&all, "all", false, "list the commands, too, that are seldom needed")
	root.SetHelpCommand(c)
	show := root.HelpFunc()
	root.SetHelpFunc(func(of *cobra.Command, args []string) {
		if all {
			root.AddGroup(&cobra.Group{ID: seldomTitle, Title: seldomTitle + ":"})
		}
		for _, c := range root.Commands() {
			if slices.Contains(seldom, c.Name()) {
				if c.Hidden = !all; all {
					c.GroupID = seldomTitle
				}
			}
		}
		show(of, args)
	})
	return c
}
