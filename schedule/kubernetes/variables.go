package kubernetes

import (
	"slices"
	"strings"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// A variable is one that the schedule expands.
type variable struct {
	name       string
	hasDefault bool // also without it the schedule is valid
	ofStore    bool
}

var reference = humanize.Pattern(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-)?`)

// commandKeys are the keys whose texts and lists are commands, beside schedule.TriggerKeys.
var commandKeys = [...]string{"command", "when", "skip", "before"}

// variablesOf returns the variables that the files expand, in their order. HOME is the container's.
func variablesOf(sources []*yamldoc.Source) (all []variable) {
	var read func(n *yamldoc.Node, ofStore bool)
	read = func(n *yamldoc.Node, ofStore bool) {
		switch {
		case n.IsMapping():
			for key, value := range n.Pairs() {
				isCommand := slices.Contains(commandKeys[:], key.Value) ||
					slices.Contains(schedule.TriggerKeys, key.Value)
				if !isCommand || value.IsMapping() { // commands are not expanded
					read(value, ofStore || key.Value == "store")
				}
			}
		case n.IsList():
			for _, item := range n.Items() {
				read(item, ofStore)
			}
		case n.IsScalar():
			all = addVariables(all, n.Value, ofStore)
		}
	}
	for _, source := range sources {
		if documents, err := yamldoc.Documents(source.Data); err == nil {
			for _, n := range documents {
				read(n, false)
			}
		}
	}
	return all
}

// addVariables adds the variables of a text. A variable that one text needs is needed.
func addVariables(all []variable, text string, ofStore bool) []variable {
	for _, found := range reference().FindAllStringSubmatch(strings.ReplaceAll(text, "$${", ""), -1) {
		name, hasDefault := found[1], found[2] != ""
		i := slices.IndexFunc(all, func(v variable) bool { return v.name == name })
		switch {
		case name == "HOME":
		case i < 0:
			all = append(all, variable{name, hasDefault, ofStore})
		default:
			all[i].hasDefault, all[i].ofStore = all[i].hasDefault && hasDefault, all[i].ofStore || ofStore
		}
	}
	return all
}
