package doctor

import (
	"context"
	"slices"

	"sched/schedule/account"
	"sched/schedule/cgroup"
	"sched/schedule/humanize"
	"sched/schedule/preflight"
)

// checkTasks looks for what active tasks lack on this machine.
func checkTasks(_ context.Context, s *Subject) (found findings) {
	machine := &preflight.Machine{Environ: s.Environ}
	var lacks []preflight.Lack
	var ofOtherUsers []string
	active := slices.Collect(s.Schedule.ActiveTasks())
	for i, ofTask := range machine.LacksOf(active) {
		t := active[i]
	eachLack:
		for _, lack := range ofTask {
			switch lack.Kind {
			case preflight.Root:
				ofOtherUsers = append(ofOtherUsers, t.Name)
				break eachLack // root would find other things
			case preflight.Account:
				hint := "create it, or change `user:` and `group:`"
				if near := account.Nearest(t.As); near != "" {
					hint = "did you mean " + near + "? Else " + hint
				}
				found.add(Bad, hint, "%s: %s", t.Name, lack.Text)
				break eachLack
			case preflight.EnvFile:
				found.add(Bad, "each run fails before its command starts", "%s: %s", t.Name, lack.Text)
			case preflight.Cgroup: // checkCgroups says it
			default:
				lacks = append(lacks, lack)
			}
		}
	}
	if len(ofOtherUsers) > 0 {
		found = append(found, needsRoot(s, ofOtherUsers)...)
	}
	for _, lack := range preflight.MergeSame(lacks) {
		level := Bad
		if lack.Kind == preflight.OutputFile {
			level = Warning // the task runs all the same
		}
		found.add(level, lack.Hint, "%s: %s", lack.Task, lack.Text)
	}
	return found.orFine("nothing is missing here for %s", humanize.Count(len(active), "active task"))
}

// needsRoot returns the finding for tasks of other users, which only root's ticks can run. It is a
// problem only if ticks have come: they came as this user, so the tasks fail.
func needsRoot(s *Subject, tasks []string) findings {
	text := "only root can run tasks as another user: " + humanize.Names(tasks, 3)
	if _, ok := s.tickNote(); ok {
		return finding(Bad, "let root's crontab call it: `sudo sched install`; or remove `user:` and `group:`",
			"%s; the ticks of this schedule are not root's", text)
	}
	return finding(Warning, "if root's cron calls this schedule: sudo sched doctor; else remove `user:` and `group:`",
		"%s; they are not looked at", text)
}

// checkCgroups looks at tasks with limits that only a cgroup keeps.
func checkCgroups(_ context.Context, s *Subject) findings {
	var tasks []string
	for t := range s.Schedule.ActiveTasks() {
		if t.Limits.NeedsCgroup() {
			tasks = append(tasks, t.Name)
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	folder, err := cgroup.Here()
	if err != nil {
		return finding(Warning, preflight.NoCgroupHint,
			"limits of %s: %v; each process keeps its memory, and nothing keeps its cpu",
			humanize.Names(tasks, 3), err)
	}
	return fine("limits of %s are kept by cgroups in %s", humanize.Names(tasks, 3), folder)
}
