package doctor

import (
	"sched/schedule"
	"sched/schedule/process"
)

// Unfit returns why active tasks cannot start on this machine (problems), and what they do not find
// there now (warnings).
func Unfit(s *schedule.Schedule, environ []string) (problems, warnings []schedule.Problem) {
	if problem := StateDirProblem(s); problem != nil {
		warnings = append(warnings, *problem)
	}
	machine := &Machine{Environ: environ}
	for _, t := range s.Tasks {
		if !s.Active(t) {
			continue
		}
		at := schedule.Problem{Place: t.Place, Task: t.Name}
		if err := process.CheckAs(t.As); err != nil {
			at.Text, at.Hint = err.Error(), "the other tasks run, and each run of this one fails"
			problems = append(problems, at)
		} else if err := process.CheckEnvFiles(t, environ); err != nil {
			at.Text, at.Hint = err.Error(), "the task fails when it is not there in time"
			warnings = append(warnings, at)
		}
		if _, err := process.CgroupsHere(); t.Limits.CPU > 0 && err != nil {
			text := process.LimitsText(schedule.Limits{CPU: t.Limits.CPU}, err)
			warnings = append(warnings, t.Problem("limits.cpu", NoCgroupHint, "%s", text))
		}
		warnings = append(warnings, machine.Problems(t)...)
	}
	return problems, MergeSame(warnings)
}
