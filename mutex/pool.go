package mutex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A pool limits how many runs go on at once: a run needs one of its seats. A seat is a mutex, so
// all promises of mutexes hold for seats, on one machine and over servers. A seat lives as long as
// the processes of its run, or as long as its lease is renewed. No crash leaves a seat taken, and
// no two runs have the same seat.
//
// A pool has no order and no memory. The caller says how many seats it has. If the caller lowers
// the limit, a run with a seat above it keeps that seat, and does not count any more.

// Seat returns the name of the mutex that is seat n of a pool, from 1 on. No other mutex has such a
// name: the names of a schedule have no "#".
func Seat(pool string, n int) string { return fmt.Sprintf("%s#%d", pool, n) }

// PoolOf returns the pool of a seat, by the name of its mutex; false for a mutex that is no seat.
func PoolOf(name string) (pool string, ok bool) {
	i := strings.LastIndexByte(name, '#')
	return name[:max(0, i)], i > 0
}

// Seats returns the names of all seats of a pool with that number of seats.
func Seats(pool string, seats int) (names []string) {
	for n := 1; n <= seats; n++ {
		names = append(names, Seat(pool, n))
	}
	return names
}

// A FullError says that every seat of a pool is taken. It wraps the *mutex.HeldError of one of
// them.
type FullError struct {
	Pool    string
	Seats   int
	Holders []Holder // of the seats, in their order; at least one
}

// shownHolders is how many holders of seats a FullError names.
const shownHolders = 3

func (e *FullError) Error() string { return e.Text(time.Local) }

// Text is Error with the times in the zone.
func (e *FullError) Text(zone *time.Location) string {
	var who []string
	for _, holder := range e.Holders[:min(shownHolders, len(e.Holders))] {
		who = append(who, strings.TrimSpace(holder.Task+" "+holder.Text(zone)))
	}
	if more := len(e.Holders) - shownHolders; more > 0 {
		who = append(who, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("pool %s is full (%d of %d): %s", e.Pool, len(e.Holders), e.Seats, strings.Join(who, "; "))
}

func (e *FullError) Unwrap() error {
	return &HeldError{Name: Seat(e.Pool, 1), Holder: e.Holders[0]}
}

// A Need is what a run must hold to go on: a mutex, a seat of a pool, or both.
type Need struct {
	Mutex string // "" for none
	Pool  string // "" for none
	Seats int    // of the pool, at least 1

	// Taken returns the holder of a seat that is known to be taken, or that is taken in another
	// place than the store; may be nil. Acquire asks before and after it takes a seat. So if two
	// runs acquire one seat in two places, at least one of them finds out.
	Taken func(seat string) (Holder, bool)
}

// Names returns the names of the mutex and of all seats.
func (n Need) Names() []string {
	names := Seats(n.Pool, n.Seats)
	if n.Mutex != "" {
		names = append(names, n.Mutex)
	}
	return names
}

// SeatHolders picks the holders of seats from held, in the order of the seats.
func (n Need) SeatHolders(held map[string]Holder) (holders []Holder) {
	for _, seat := range Seats(n.Pool, n.Seats) {
		if holder, taken := held[seat]; taken {
			holders = append(holders, holder)
		}
	}
	return holders
}

// A Holding is what a run got.
type Holding struct {
	Lock  Lock   // stands for the mutex and the seat together; nil for a run that needs neither
	Mutex bool   // the run has its mutex
	Seat  string // "" for none
}

// Acquire takes the mutex and then a seat, or nothing. The error is *mutex.HeldError if another run
// has the mutex, and *FullError if all seats are taken. After any other error it is unknown who has
// them.
func (n Need) Acquire(ctx context.Context, store Locks, holder Holder) (h Holding, err error) {
	var locks []Lock
	if n.Mutex != "" {
		lock, err := store.Acquire(ctx, n.Mutex, holder)
		if err != nil {
			return Holding{}, err
		}
		locks, h.Mutex = append(locks, lock), true
	}
	if n.Pool != "" {
		lock, seat, err := n.takeSeat(ctx, store, holder)
		if err != nil {
			if h.Mutex {
				locks[0].Release(context.WithoutCancel(ctx))
			}
			return Holding{}, err
		}
		locks, h.Seat = append(locks, lock), seat
	}
	h.Lock = Join(locks...)
	return h, nil
}

// takeSeat takes the first free seat. The error is *FullError if all seats are taken.
func (n Need) takeSeat(ctx context.Context, store Locks, holder Holder) (lock Lock, seat string, err error) {
	full := &FullError{Pool: n.Pool, Seats: n.Seats}
	for _, seat := range Seats(n.Pool, n.Seats) {
		lock, err := n.acquireSeat(ctx, store, seat, holder)
		held, isHeld := errors.AsType[*HeldError](err)
		if !isHeld {
			return lock, seat, err
		}
		full.Holders = append(full.Holders, held.Holder)
	}
	return nil, "", full
}

// acquireSeat takes a seat, and asks Taken before and after. The error is *HeldError if another run
// has the seat, in the store or elsewhere.
func (n Need) acquireSeat(ctx context.Context, store Locks, seat string, holder Holder) (Lock, error) {
	if err := n.heldElsewhere(seat); err != nil {
		return nil, err
	}
	lock, err := store.Acquire(ctx, seat, holder)
	if err != nil {
		return nil, err
	}
	if err := n.heldElsewhere(seat); err != nil {
		lock.Release(context.WithoutCancel(ctx))
		return nil, err
	}
	return lock, nil
}

// heldElsewhere returns a *HeldError if Taken knows the holder of a seat.
func (n Need) heldElsewhere(seat string) error {
	if n.Taken == nil {
		return nil
	}
	if other, isTaken := n.Taken(seat); isTaken {
		return &HeldError{Name: seat, Holder: other}
	}
	return nil
}
