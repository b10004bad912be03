package doctor

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// mostCallers bounds how far up Callers looks.
const mostCallers = 6

// Callers returns the names of the processes above this one, the nearest first, without the first process of all.
func Callers() (names []string) {
	for pid := os.Getppid(); pid > 1 && len(names) < mostCallers; {
		name, parent, ok := stat(pid)
		if !ok {
			return names
		}
		names, pid = append(names, name), parent
	}
	return names
}

// stat returns the name and the parent of a process (proc_pid_stat(5)).
func stat(pid int) (name string, parent int, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if err != nil || open < 0 || end < open {
		return "", 0, false
	}
	var state string
	_, err = fmt.Sscan(string(text[end+1:]), &state, &parent)
	return strings.TrimSpace(string(text[open+1 : end])), parent, err == nil
}

// processes returns the names of the processes of this machine, as far as they can be seen.
func processes() map[string]bool {
	names := map[string]bool{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		var pid int
		if _, err := fmt.Sscan(entry.Name(), &pid); err != nil {
			continue
		}
		if name, _, ok := stat(pid); ok {
			names[name] = true
		}
	}
	return names
}
