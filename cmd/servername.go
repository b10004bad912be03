package cmd

import (
	"os"

	"sched/schedule/labels"
)

// serverVariable names this machine where its host name does not tell it from others: two containers or clones may have one.
const serverVariable = "SCHED_SERVER"

// hostname returns the host name of this machine. It is a variable since tests let one machine be several.
var hostname = os.Hostname

// serverName returns the name of this machine: that of $SCHED_SERVER, else the one that the schedule has for it (`server`; empty: none),
// else its host name. It may be empty.
func serverName(named string) string {
	if name := os.Getenv(serverVariable); labels.ValidName(name) {
		return name
	}
	if named != "" {
		return named
	}
	name, _ := hostname()
	return name
}

// checkServerName refuses a name for this machine that cannot be one: it would tick under its host name instead.
func checkServerName() error {
	if name := os.Getenv(serverVariable); name != "" && !labels.ValidName(name) {
		return usage("use letters, digits and . _ -, and begin with a letter or a digit", "$%s %q is not a valid name", serverVariable, name)
	}
	return nil
}

// labelsVariable has the labels of this machine; where it is not set, labelsFile has them.
const labelsVariable = "SCHED_LABELS"

// labelsFile is a variable since tests have no /etc of their own.
var labelsFile = "/etc/sched/labels"

// machineLabels returns the labels of this machine, and what is wrong with them.
func machineLabels() (all []string, wrong string) {
	if text, set := os.LookupEnv(labelsVariable); set {
		return labels.Parse(text, "$"+labelsVariable)
	}
	return labels.Read(labelsFile, os.Geteuid()) // whoever only looks is told what ticks do
}
