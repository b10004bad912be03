package cmd

import (
	"slices"

	"github.com/spf13/cobra"
)

// commandGroups is the order of `sched --help`: every command that people see has its name here.
var commandGroups = []struct {
	title    string
	commands []string
}{
	{"Every day", []string{"run", "list", "check", "test", "logs", "why", "status", "show"}},
	{"The past", []string{"history"}},
	{"Steering", []string{"trigger", "retry", "stop", "pause", "resume", "interrupt"}},
	{"Setting up", []string{"init", "install", "uninstall", "import", "doctor", "forecast", "schema", "completion"}},
	{"Machines", []string{"servers", "serve", "work"}},
	{"Plumbing", []string{"finish", "unlock", "forget", "version", "help"}},
}

// addInGroups adds the commands to sched in the order of commandGroups; those that are hidden come last.
func addInGroups(root *cobra.Command, commands ...*cobra.Command) {
	cobra.EnableCommandSorting = false
	for _, group := range commandGroups {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, name := range group.commands {
			if i := slices.IndexFunc(commands, func(c *cobra.Command) bool { return c.Name() == name }); i >= 0 {
				commands[i].GroupID = group.title
				root.AddCommand(commands[i])
			}
		}
	}
	root.SetHelpCommandGroupID("Plumbing")
	for _, c := range commands {
		if c.GroupID == "" {
			root.AddCommand(c)
		}
	}
}
