//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A process is a process of sched, or of a command or hook that sched started, as it was when
// processes looked.
type process struct {
	pid  int
	kind string
	run  string
	more []string // of a finish: the other runs that it finishes
	tick string
	hook string // the name, of a hook
	line string // the command line
}

// The kinds of processes. A fork is about to become another program, and still looks like its
// parent.
const (
	tickProcess = "tick"
	requesting  = "request" // sched trigger, sched retry
	witness     = "witness"
	supervisor  = "supervisor"
	successor   = "successor" // a witness in the place of its supervisor
	finish      = "finish"
	hook        = "hook"
	command     = "command"
	child       = "child" // of a command or a hook
	forked      = "fork"
	daemon      = "daemon"
)

// victim chooses from kinds, each as often as it stands here. Daemons are killed only with all
// others.
var kinds = []string{
	tickProcess, requesting, witness, supervisor, supervisor, supervisor, successor, command, command, child,
	finish, finish, finish, hook, hook, hook, forked, forked, forked, forked,
}

// processes returns the processes that have our journal in their environment, by pid.
func (c *campaign) processes() (all []process) {
	mine := []byte("\x00CRASH_JOURNAL=" + c.journal.file.Name() + "\x00")
	lines := map[int]string{}
	parents := map[int]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		environ, _ := os.ReadFile(dir + "/environ")
		if !bytes.Contains(append([]byte{0}, environ...), mine) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		line, _ := os.ReadFile(dir + "/cmdline")
		stat, _ := os.ReadFile(dir + "/stat")
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 || len(line) == 0 || fields[0] == "Z" {
			continue
		}
		parents[pid], _ = strconv.Atoi(fields[1])
		lines[pid] = string(line)
		all = append(all, describe(pid, strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"), environ))
	}
	for i, p := range all {
		if lines[p.pid] == lines[parents[p.pid]] {
			all[i].kind = forked
		}
	}
	slices.SortFunc(all, func(a, b process) int { return a.pid - b.pid })
	return all
}

// describe finds the kind of a process, by its arguments and its environment.
func describe(pid int, argv []string, environ []byte) process {
	p := process{pid: pid, kind: child, tick: variable(environ, "CRASH_TICK"), run: variable(environ, "SCHED_RUN"),
		line: strings.Join(argv, " ")}
	arg := func(i int) string { return append(argv, make([]string, 8)...)[i] }
	switch {
	case arg(0) == "sched" && arg(1) == "run": // as start calls it
		p.kind = tickProcess
	case arg(0) == "sched":
		p.kind = requesting
	case strings.HasSuffix(arg(0), "/sched") && arg(1) == "witness":
		p.kind = witness
	case strings.HasSuffix(arg(0), "/sched") && arg(1) == "start":
		p.kind = supervisor
	case strings.HasSuffix(arg(0), "/sched") && arg(1) == "finish" && arg(2) == "--tick":
		p.kind = successor
	case strings.HasSuffix(arg(0), "/sched") && arg(1) == "finish":
		p.kind, p.run = finish, arg(5)
		for i := 9; i < len(argv); i += 4 {
			p.more = append(p.more, argv[i])
		}
	case arg(1) == "./hook":
		p.kind, p.hook = hook, arg(2)
	case strings.HasPrefix(arg(2), `exec ./hook "`): // in a moment
		p.kind, p.hook = hook, strings.Split(arg(2), `"`)[1]
	case arg(1) == "./task", strings.HasPrefix(arg(2), "exec ./task"):
		p.kind = command
	case arg(0) == "setsid", arg(0) == "sleep" && arg(1) == daemonSleeps:
		p.kind = daemon
	}
	return p
}

func variable(environ []byte, name string) string {
	for pair := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(pair, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// busy leaves out the daemons.
func busy(all []process) []process {
	return slices.DeleteFunc(slices.Clone(all), func(p process) bool { return p.kind == daemon })
}

func (p process) String() string {
	return fmt.Sprintf("%d %s of run %s, tick %s: %.200s", p.pid, p.kind, short(p.run), p.tick, p.line)
}

// with reports whether the other process is of a run of this process.
func (p process) with(other process) bool {
	return p.run != "" && p.run == other.run || slices.Contains(p.more, other.run) || slices.Contains(other.more, p.run)
}

// watches reports whether the process watches the background runs of its tick.
func (p process) watches() bool {
	return p.kind == witness || p.kind == supervisor || p.kind == successor
}
