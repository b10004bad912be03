package process

import (
	"context"
	"slices"
	"syscall"
	"time"
)

// A Family is a command and all that it started.
type Family struct {
	Groups []int // process groups
	// Run and Attempt name the processes that were started for this attempt of the run, or for a
	// later attempt, and that have left the groups, as with setsid(1). Only Linux can find them. If
	// Run is empty, the family has only the groups.
	Run     string
	Attempt int
}

// killPatience is how long a process may take to end after KILL. A process that takes longer hangs
// in the kernel, as for a disk that does not answer: nothing can end it.
const killPatience = 5 * time.Second

// End ends the processes, which may be children of other processes. It sends TERM, and after
// killAfter, or when ctx is done, KILL to the processes that are left. It returns when all have
// ended. Processes that have not ended killPatience after KILL are left behind: survivors has their
// ids.
func (f Family) End(ctx context.Context, killAfter time.Duration) (survivors []int) {
	ctx, cancel := context.WithTimeout(ctx, killAfter)
	defer cancel()
	f.signalGroups(syscall.SIGTERM)
	if f.endBy(ctx, syscall.SIGTERM) == nil {
		return nil
	}
	ctx, cancel = context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	f.signalGroups(syscall.SIGKILL)
	for _, m := range f.endBy(ctx, syscall.SIGKILL) {
		survivors = append(survivors, m.pid)
	}
	return survivors
}

func (f Family) signalGroups(signal syscall.Signal) {
	for _, group := range f.Groups {
		SignalGroup(group, signal)
	}
}

// endBy sends the signal to each member that is not in one of the groups, and waits for the end of
// all; ctx bounds the wait. It returns the members that are left. It looks through all processes of
// the machine only when the members that it has found have ended, because they may have started
// others meanwhile.
func (f Family) endBy(ctx context.Context, signal syscall.Signal) (left []member) {
	groupsHaveIt := true // the processes that were in the groups when signalGroups was called have it
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left = slices.DeleteFunc(left, func(m member) bool { return !m.alive() })
		if len(left) == 0 {
			if left = f.members(); len(left) == 0 {
				return nil
			}
			for _, m := range left {
				if !groupsHaveIt || !slices.Contains(f.Groups, m.group) {
					send(m.pid, signal)
				}
			}
		}
		groupsHaveIt = false
		select {
		case <-ctx.Done():
			return f.members()
		case <-time.After(pause):
		}
	}
}

// SignalGroup signals a process group. After TERM it lets stopped processes go on, so that they can
// obey.
func SignalGroup(group int, signal syscall.Signal) { send(-group, signal) }

// send signals a process or, by its negative number, a group.
func send(id int, signal syscall.Signal) {
	syscall.Kill(id, signal)
	if signal == syscall.SIGTERM {
		syscall.Kill(id, syscall.SIGCONT)
	}
}
