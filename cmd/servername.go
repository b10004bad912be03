package cmd

import (
	"os"

	"sched/schedule/placement"
)

// serverVariable names this machine: two containers or clones may have one host name.
const serverVariable = "SCHED_SERVER"

// Tests set hostname to let one machine be several.
var hostname = os.Hostname

// serverName is $SCHED_SERVER, else named (`server` in the schedule), else the host name, maybe "".
func serverName(named string) string {
	if name := os.Getenv(serverVariable); placement.ValidName(name) {
		return name
	}
	if named != "" {
		return named
	}
	name, _ := hostname()
	return name
}

// checkServerName refuses an impossible name: ticks would use the host name instead.
func checkServerName() error {
	if name := os.Getenv(serverVariable); name != "" && !placement.ValidName(name) {
		return usage("use letters, digits and . _ -, and begin with a letter or a digit", "$%s %q is not a valid name", serverVariable, name)
	}
	return nil
}

// labelsVariable has the labels of this machine; if it is not set, labelsFile has them.
const labelsVariable = "SCHED_LABELS"

// labelsFile is a variable because tests have no /etc of their own.
var labelsFile = "/etc/sched/labels"

func machineLabels() (all []string, wrong string) {
	if text, set := os.LookupEnv(labelsVariable); set {
		return placement.Parse(text, "$"+labelsVariable)
	}
	return placement.Read(labelsFile, os.Geteuid()) // whoever only looks is told what ticks do
}
