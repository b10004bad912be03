//go:build !linux

package process

import "syscall"

// awaitEnd reports that there is no descriptor for a process here.
func (p *Process) awaitEnd() bool { return false }

// look waits for the end of the process, and sets how it ended. It reports whether it has, or whether that cannot be known.
func (p *Process) look(options int) (ended bool) {
	_, err := syscall.Wait4(p.PID, &p.status, options, &p.Usage)
	return err != syscall.EINTR
}
