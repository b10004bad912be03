package process

import (
	"context"
	"slices"
	"syscall"
	"time"
)

// End ends the processes of a family, which may be children of other processes. It sends TERM, and
// after killAfter, or when ctx is done, KILL to the processes that are left; killed says so. It
// returns when all have ended. Processes that have not ended killPatience after KILL are left
// behind.
func End(ctx context.Context, f Family, killAfter time.Duration) (survivors []Survivor, killed bool) {
	ctx, cancel := context.WithTimeout(ctx, killAfter)
	defer cancel()
	h := hunt{family: f}
	h.find() // before the first signal, because a process that ends is no parent any more
	if h.endBy(ctx, syscall.SIGTERM, f.Groups) {
		return nil, false
	}
	ctx, cancel = context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	if h.endBy(ctx, syscall.SIGKILL, nil) {
		return nil, true
	}
	for _, m := range h.found {
		survivors = append(survivors, m.Survivor)
	}
	return survivors, true
}

// A hunt is what is known of a family that is being ended.
type hunt struct {
	family Family
	looked bool     // at least once
	found  []member // the members that lived when this process looked last
}

// find finds the members that live now.
func (h *hunt) find() {
	h.found = membersOf(h.family, h.found, h.looked)
	h.looked = true
}

// endBy sends the signal to the groups and to each member, and waits for the end of all; ctx bounds
// the wait. It reports whether all have ended. It looks through all processes of the machine only
// when the members that it has found have ended, because they may have started others meanwhile.
func (h *hunt) endBy(ctx context.Context, signal syscall.Signal, groups []int) (ended bool) {
	h.signalFound(signal, groups)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		alive := slices.DeleteFunc(slices.Clone(h.found), func(m member) bool { return !m.Alive() })
		if len(alive) > 0 {
			h.found = alive
		} else if h.find(); len(h.found) == 0 {
			return true
		} else {
			h.signalFound(signal, nil)
		}
		select {
		case <-ctx.Done():
			h.find()
			return len(h.found) == 0
		case <-time.After(pause):
		}
	}
}

// signalFound signals the groups, and the members that live. Members in groups of the family get
// the signal by their group, all at once, so that none forks meanwhile.
func (h *hunt) signalFound(signal syscall.Signal, groups []int) {
	groups = slices.Clone(groups)
	for _, m := range h.found {
		switch {
		case !m.Alive():
		case !slices.Contains(h.family.Groups, m.group):
			send(m.PID, signal)
		case !slices.Contains(groups, m.group):
			groups = append(groups, m.group)
		}
	}
	for _, group := range groups {
		send(-group, signal)
	}
}

// killPatience is how long a process may take to end after KILL. A process that takes longer hangs
// in the kernel, as for a disk that does not answer, or belongs to a user whose processes this one
// may not signal: nothing that we do can end it.
const killPatience = 5 * time.Second

// send signals a process or, by its negative number, a group. After TERM it lets stopped processes
// go on, so that they can obey.
func send(id int, signal syscall.Signal) {
	syscall.Kill(id, signal)
	if signal == syscall.SIGTERM {
		syscall.Kill(id, syscall.SIGCONT)
	}
}
