package cmd

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/placement"
)

// serverVariable names this machine: two containers or clones may have one host name.
const serverVariable = "SCHED_SERVER"

// hostname is a variable because tests let one machine be several.
var hostname = os.Hostname

// serverName is $SCHED_SERVER if it is valid, else named (`server` in the schedule), else the host
// name; "" if the host has none.
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

// localZone is the zone under its IANA name, which time.Local lacks, from $TZ or /etc/localtime.
var localZone = sync.OnceValue(readLocalZone)

func readLocalZone() *time.Location {
	name, set := os.LookupEnv("TZ")
	name = strings.TrimPrefix(name, ":")
	if !set {
		link, _ := os.Readlink("/etc/localtime")
		_, name, _ = strings.Cut(link, "zoneinfo/")
	}
	if zone, err := time.LoadLocation(name); err == nil && name != "" {
		return zone
	}
	return time.Local
}

// asUser is the command line of this process as another user would type it.
func asUser(uid int) string {
	name := fmt.Sprintf("'#%d'", uid)
	if u, err := user.LookupId(fmt.Sprint(uid)); err == nil {
		name = u.Username
	}
	words := []string{"sudo", "-u", name, "sched"}
	for _, arg := range os.Args[1:] {
		words = append(words, humanize.ShellWord(arg))
	}
	return strings.Join(words, " ")
}

// callerName is the login name of the person who called sched, before sudo.
func callerName() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "user " + strconv.Itoa(os.Getuid())
}
