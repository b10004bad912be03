package process

import (
	"context"
	"syscall"
	"time"
)

// EndGroup ends a process group, of children or of others: TERM, and KILL to what is left after killAfter or when ctx is
// done. It does not wait for the end of what it killed.
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

// groupAlive reports whether the group has a process that is no zombie. Zombies may stay for ever: a program that was not
// made to be PID 1 of a container never waits for its children.
func groupAlive(group int) bool { return syscall.Kill(-group, 0) == nil && !onlyZombies(group) }
