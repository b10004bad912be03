package takeover

import (
	"context"
	"errors"
	"os"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
	"sched/schedule/oneserver"
	"sched/schedule/servers"
	"sched/schedule/text"
)

// A TakenError says that a deferred retry is not this server's: another one has taken it over, or may have long ago.
type TakenError struct {
	By   string // which server has it; empty where that is not known any more
	Over bool   // the attempt was started, or the run has ended: nobody is to take it over any more
}

func (e *TakenError) Error() string {
	if e.By == "" {
		return "another server may have taken it over"
	}
	return "it was taken over by " + text.Line(e.By)
}

// Turns are who goes on with a deferred attempt of a run, as the claims of them say.
type Turns struct {
	Store     *mutex.Redis
	Self      string    // the name of this server
	Run, Task string    // the id of the run, and the name of its task
	Attempt   int       // the number of the attempt
	Due       time.Time // when the attempt is due
}

// claim takes a turn. The error is *mutex.HeldError where another server has it.
func (t Turns) claim(turn int, kept time.Time) (unclaim func(), err error) {
	holder := mutex.Holder{Run: t.Self, PID: os.Getpid(), Host: t.Self, Task: t.Task, Since: clock.Now()}
	err = t.Store.ClaimInFull(context.Background(), t.key(turn), kept, holder)
	return func() { t.Store.Unclaim(context.Background(), t.key(turn), holder) }, err
}

func (t Turns) key(turn int) string {
	return oneserver.RetryKey(t.Run, t.Attempt, turn, t.Due)
}

// isFree reports whether nobody has claimed a turn.
func (t Turns) isFree(turn int) (bool, error) {
	claimed, err := t.Store.Claims(context.Background(), t.key(turn))
	_, taken := claimed[t.key(turn)]
	return !taken, err
}

// Own claims a turn that belongs to this server: then this server goes on with the attempt, and no other will, until it calls what is
// returned. Where another one had taken the attempt over and does not tick any more, it is taken back. The error is a *TakenError, or says
// that nobody knows.
func (t Turns) Own(turn int) (unclaim func(), err error) {
	_, unclaim, err = t.follow(t.Self, turn, false)
	return unclaim, err
}

// Take claims the turn of another server that does not tick, and returns the next one, which belongs to this server. The error is that of Own.
func (t Turns) Take(owner string, turn int) (next int, err error) {
	next, _, err = t.follow(owner, turn, true)
	return next, err
}

// follow follows the claims from the turn of the owner on, to the first that this server can make: it starts the attempt, or only takes it
// over, and returns its own turn.
func (t Turns) follow(owner string, turn int, take bool) (own int, unclaim func(), err error) {
	for ; ; turn++ {
		free := false
		if take || owner != t.Self {
			if free, err = t.isFree(turn); err != nil {
				return 0, nil, err
			}
		}
		switch {
		case free && owner == t.Self:
			return turn, nil, nil
		case free: // where somebody has the turn already it does not matter whether its owner ticks now
			if err := t.Silent(owner); err != nil {
				return 0, nil, err
			}
		}
		unclaim, err := t.claim(turn, t.keptUntil(turn, owner))
		var held *mutex.HeldError
		switch {
		case err == nil && owner == t.Self && take: // this server has gone on with it before
			return 0, nil, &TakenError{By: t.Self, Over: true}
		case err == nil && owner == t.Self:
			return turn, unclaim, nil
		case err == nil:
			owner = t.Self
		case !errors.As(err, &held):
			return 0, nil, err
		case held.Holder.Host == "" || held.Holder.Host == owner:
			return 0, nil, &TakenError{By: held.Holder.Host, Over: true}
		default:
			owner = held.Holder.Host
		}
	}
}

// keptUntil is how long the claim of a turn is kept: as long as somebody may come back and ask for it. Only the server on which the run
// began does that after servers.TakeableFor.
func (t Turns) keptUntil(turn int, owner string) time.Time {
	if turn == 0 && owner == t.Self {
		return t.Due.Add(servers.TakeableFor + time.Hour)
	}
	return clock.Now().Add(oneserver.RetryKeptFor)
}

// Silent returns a *TakenError where the server ticks, nil where it does not, and any other error where nobody knows.
func (t Turns) Silent(server string) error {
	ticks, err := servers.Ticks(context.Background(), t.Store, server)
	if err == nil && ticks {
		return &TakenError{By: server}
	}
	return err
}
