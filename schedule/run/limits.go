package run

import (
	"context"
	"fmt"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/process"
)

// startLimited starts the command of attempt n under the limits of the task: in a cgroup if it can
// start in one, else with the limits that each process keeps.
func (s *supervision) startLimited(n int, spec process.Spec) (*process.Process, error) {
	limits := s.task.Limits
	if limits == (schedule.Limits{}) {
		return spec.Start()
	}
	spec.Limits = limits
	var noCgroup error
	if limits.NeedsCgroup() {
		if s.cgroup, noCgroup = process.NewCgroup(s.row.ID, n, limits); noCgroup == nil {
			spec.Cgroup = s.cgroup
			p, err := spec.Start()
			if err == nil {
				s.result.Limits = process.LimitsText(limits, nil)
				return p, nil
			}
			s.closeCgroup()
			spec.Cgroup, noCgroup = nil, err
		}
	}
	p, err := spec.Start()
	if err == nil {
		s.result.Limits = process.LimitsText(limits, noCgroup)
		s.noteLimits(noCgroup)
	}
	return p, err
}

// noteLimits notes that the command has no cgroup, and why. It does so only in the first run of the
// task that has no cgroup for this reason.
func (s *supervision) noteLimits(noCgroup error) {
	if noCgroup == nil || s.result.Limits == s.row.Limits {
		return
	}
	last, ok, _ := s.run.DB.Runs().Previous(context.Background(), s.row.Task, s.row.ID)
	if !ok || last.Limits != s.result.Limits {
		s.result.Notes = append(s.result.Notes, "limits: "+s.result.Limits)
	}
}

// adoptCgroup takes the cgroup of an attempt that a killed supervisor has started.
func (s *supervision) adoptCgroup(n int) {
	if !s.task.Limits.NeedsCgroup() {
		return
	}
	if s.cgroup = process.CgroupOf(s.row.ID, n); s.cgroup != nil {
		s.result.Limits = process.LimitsText(s.task.Limits, nil)
	}
}

// blameMemory sets the reason of a failed command whose cgroup was at its limit of memory, because
// the kernel has ended a process of it.
func (s *supervision) blameMemory() {
	if s.result.Outcome == outcome.Failed && s.cgroup.OutOfMemory() {
		s.result.Reason = fmt.Sprintf("out of memory (limit %s)", humanize.Bytes(s.task.Limits.Memory))
	}
}

// closeCgroup removes the cgroup of the attempt, if there is one.
func (s *supervision) closeCgroup() {
	s.cgroup.Close()
	s.cgroup = nil
}
