package run

import "sched/schedule/process"

// unreapedProcesses are commands and hooks whose ends the kernel keeps until they are written down.
// If this process were killed in between, nobody would know how they ended.
type unreapedProcesses []*process.Process

func (u *unreapedProcesses) add(p *process.Process) { *u = append(*u, p) }

// reap reaps the processes: how they ended is written down now.
func (u *unreapedProcesses) reap() {
	for _, p := range *u {
		p.Reap()
	}
	*u = nil
}
