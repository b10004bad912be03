package process

// Unreaped are processes whose ends the kernel keeps until they are written down. If this process
// were killed in between, nobody would know how they ended.
type Unreaped []*Process

// Add adds a process that was started with Spec.KeepZombie.
func (u *Unreaped) Add(p *Process) { *u = append(*u, p) }

// Reap reaps the processes: how they ended is written down now.
func (u *Unreaped) Reap() {
	for _, p := range *u {
		p.Reap()
	}
	*u = nil
}
