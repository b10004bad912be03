package process

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"sched/schedule"
	"sched/schedule/humanize"
)

// LimitsText says how limits are kept: by a cgroup, or, if noCgroup says why it has no cgroup, by
// the limits of each process (setrlimit(2)), which know no part of a processor.
func LimitsText(l schedule.Limits, noCgroup error) string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	switch memory := humanize.Bytes(l.Memory); {
	case l.Memory == 0:
	case noCgroup == nil:
		add("memory %s (cgroup)", memory)
	case memoryResource != 0:
		add("memory %s for each process (rlimit)", memory)
	default:
		add("memory %s cannot be kept", memory)
	}
	switch {
	case l.CPU == 0:
	case noCgroup == nil:
		add("cpu %d%% (cgroup)", l.CPU)
	default:
		add("cpu %d%% cannot be kept", l.CPU)
	}
	if most := mostFiles(l.Files); most < l.Files {
		add("files %d (rlimit; only root may have %d)", most, l.Files)
	} else if l.Files > 0 {
		add("files %d (rlimit)", l.Files)
	}
	text := strings.Join(all, ", ")
	if noCgroup != nil && l.NeedsCgroup() {
		text += "; no cgroup: " + noCgroup.Error()
	}
	return text
}

// mostFiles returns the limit of open files that this process may set: n, or less.
func mostFiles(n int) int {
	var own syscall.Rlimit
	if os.Geteuid() == 0 || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own) != nil {
		return n
	}
	return int(min(uint64(n), own.Max))
}

// limitFiles sets how many files this process, and what it becomes, may have open; 0 changes
// nothing.
func limitFiles(n int) {
	if n > 0 {
		setLimit(syscall.RLIMIT_NOFILE, uint64(mostFiles(n)))
	}
}

// limitMemory sets how much memory of its own this process may have; 0 changes nothing. It comes
// last before the command: this process itself may need more.
func limitMemory(bytes int64) {
	if bytes > 0 && memoryResource != 0 {
		setLimit(memoryResource, uint64(bytes))
	}
}

// setLimit sets a limit for good. A lower one that holds already stays.
func setLimit(resource int, value uint64) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(resource, &limit) == nil && os.Geteuid() != 0 {
		value = min(value, limit.Max)
	}
	syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value})
}
