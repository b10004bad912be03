//go:build !linux

package process

// awaitEnd reports that there is no descriptor for a process here.
func (p *Process) awaitEnd() bool { return false }
