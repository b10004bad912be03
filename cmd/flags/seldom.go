package flags

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// seldom is the annotation of flags that only `sched help --all COMMAND` shows.
const seldom = "seldom"

// Seldom makes flags of a set seldom: its help leaves them out, as one person in a hundred needs
// them. They work, and docs/commands.md has them.
func Seldom(set *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f := set.Lookup(name)
		f.Hidden = true
		f.Annotations = map[string][]string{seldom: nil}
	}
}

// IsSeldom reports whether Seldom has made the flag seldom.
func IsSeldom(f *pflag.Flag) bool {
	_, is := f.Annotations[seldom]
	return is
}

// ShowSeldom makes the help of a command show its seldom flags, and the seldom flags of sched
// itself.
func ShowSeldom(c *cobra.Command) {
	show := func(f *pflag.Flag) { f.Hidden = f.Hidden && !IsSeldom(f) }
	c.Flags().VisitAll(show)
	c.InheritedFlags().VisitAll(show)
}

// HasHidden reports whether the help of the command leaves out seldom flags of its own.
func HasHidden(c *cobra.Command) (has bool) {
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { has = has || f.Hidden && IsSeldom(f) })
	return has
}
