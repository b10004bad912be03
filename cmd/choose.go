package cmd

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/view"
)

// chooseTask returns the name of the task whose number or name a person types, for a command that
// was called without one. If nobody can be asked, the error says how the command is called.
func (a *app) chooseTask(s *schedule.Schedule, use string) (string, error) {
	if !terminal.Is(a.in) || !terminal.Is(a.err) {
		return "", usage("`sched list` has the names", "name a task: sched %s", use)
	}
	if len(s.Tasks) == 0 {
		return "", failed("", "the schedule has no tasks")
	}
	for i, t := range s.Tasks {
		fmt.Fprintf(a.err, "%3d  %s\n", i+1, t.Name)
	}
	fmt.Fprint(a.err, "which one? ")
	line, _ := bufio.NewReader(a.in).ReadString('\n') // all of it: the shell would take the rest for a command
	line = strings.TrimSpace(line)
	if line == "" {
		return "", usage("type a number or a name", "that is none of them")
	}
	t, err := view.FindTask(s, line)
	if err == nil {
		return t.Name, nil
	}
	if n, nerr := strconv.Atoi(line); nerr == nil {
		if n < 1 || n > len(s.Tasks) {
			return "", usage(fmt.Sprintf("type a number from 1 to %d, or a name", len(s.Tasks)), "that is none of them")
		}
		return s.Tasks[n-1].Name, nil
	}
	return "", err
}
