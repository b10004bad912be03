package process

import (
	"context"
	"syscall"
	"time"
)

// EndGroup ends a process group that may not be ours: TERM, and KILL to what is left after killAfter.
func EndGroup(ctx context.Context, group int, killAfter time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, killAfter)
	defer cancel()
	syscall.Kill(-group, syscall.SIGTERM)
	syscall.Kill(-group, syscall.SIGCONT) // a stopped process cannot obey
	for pause := time.Millisecond; groupAlive(group); pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-ctx.Done():
			syscall.Kill(-group, syscall.SIGKILL)
			return
		case <-time.After(pause):
		}
	}
}

// groupAlive reports whether the group has processes that are not just waiting to be waited for: as
// PID 1 of a container, a program that was not made for it never does.
func groupAlive(group int) bool { return syscall.Kill(-group, 0) == nil && !onlyZombies(group) }
