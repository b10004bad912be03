package mutex

import (
	"context"
	"time"

	"sched/mutex/redisserver"
)

// RenewAll renews locks as their Renew does, those on one store with one round trip, and returns the error of each.
func RenewAll(ctx context.Context, locks []Lock) []error {
	var single []Lock
	for _, lock := range locks {
		single = append(single, parts(lock)...)
	}
	all := renewSingle(ctx, single)
	errs := make([]error, len(locks))
	for i, lock := range locks {
		n := len(parts(lock))
		errs[i], all = worst(all[:n]), all[n:]
	}
	return errs
}

// parts returns the locks that a lock is made of.
func parts(lock Lock) []Lock {
	if joint, ok := lock.(*jointLock); ok {
		return *joint
	}
	return []Lock{lock}
}

// renewSingle is RenewAll for locks that are no jointLock.
func renewSingle(ctx context.Context, locks []Lock) []error {
	errs := make([]error, len(locks))
	leases, places := map[*Redis][]*lease{}, map[*Redis][]int{}
	for i, lock := range locks {
		if shared, ok := lock.(*sharedLock); ok {
			lock = shared.remote
		}
		if l, ok := lock.(*lease); ok {
			leases[l.redis], places[l.redis] = append(leases[l.redis], l), append(places[l.redis], i)
		} else {
			errs[i] = lock.Renew(ctx)
		}
	}
	for redis, all := range leases {
		for n, err := range redis.renew(ctx, all) {
			errs[places[redis][n]] = err
		}
	}
	return errs
}

// Renew begins the lease anew, also while the store is taken for down. Where the key is gone it is
// taken again: before the lease ended Redis forgot it, and nothing is lost; later another run may have
// had the mutex in between. After Release it does nothing.
func (l *lease) Renew(ctx context.Context) error { return l.redis.renew(ctx, []*lease{l})[0] }

// renew renews leases, each of which is in the list once.
func (r *Redis) renew(ctx context.Context, leases []*lease) []error {
	errs := make([]error, len(leases))
	if ctx.Err() != nil {
		for i := range errs {
			errs[i] = context.Cause(ctx)
		}
		return errs
	}
	begun := time.Now()
	var requests []redisserver.Request
	var sequences []*sequence
	var places []int
	for i, l := range leases {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.released {
			requests, sequences, places = append(requests, l.renewal()), append(sequences, &l.sequence), append(places, i)
		}
	}
	answers := r.sendAll(deadline(ctx), requests, sequences)
	for n, i := range places {
		errs[i] = leases[i].judgeRenewal(ctx, begun, r.tally(answers[n], func(t *tally) bool { return t.ours >= r.quorum() }))
	}
	return errs
}

// renewal is the request that renews the lease.
func (l *lease) renewal() redisserver.Request {
	holder := l.description.get()
	return redisserver.Request{EvenIfDown: true, Script: &renewScript, Keys: l.keys(), Args: []any{l.run, milliseconds(l.Lease()), holderText(holder)}}
}

// judgeRenewal returns what the answers to a renewal mean that was begun at the given time.
func (l *lease) judgeRenewal(ctx context.Context, begun time.Time, t tally) error {
	r, inTime := l.redis, Elapsed(l.Leased(), begun) < l.Lease()
	switch {
	case t.ours >= r.quorum():
		l.renewed.Store(&begun)
		return nil
	case t.ours+t.retaken >= r.quorum():
		l.renewed.Store(&begun)
		if inTime {
			return nil
		}
		return &LostError{Name: l.name}
	case t.ours+t.retaken+len(t.failed) >= r.quorum():
		return joinErrors(len(r.servers), t.failed) // those that did not answer may be ours
	}
	if t.ours+t.retaken > 0 {
		l.redlock(ctx).release() // a minority that is ours would be in the way of the next holder
	}
	lost := &LostError{Name: l.name, Broken: t.broken >= r.quorum()}
	if other, servers := t.holder(); servers >= r.quorum() {
		lost.Holder = other
	}
	return lost
}

// sendAll is send for several requests with one rule: each server gets them in one round trip, after what is in their sequences
// before. It returns the answers to each.
func (r *Redis) sendAll(end time.Time, requests []redisserver.Request, in []*sequence) []<-chan redisserver.Answer {
	all, sendOnly := make([]<-chan redisserver.Answer, len(requests)), make([]chan redisserver.Answer, len(requests))
	for i := range requests {
		requests[i].End = end
		sendOnly[i] = make(chan redisserver.Answer, len(r.servers))
		all[i] = sendOnly[i]
	}
	for i, s := range r.servers {
		done := make(chan struct{})
		before := make([]<-chan struct{}, len(requests))
		for n := range requests {
			before[n] = in[n].add(i, done)
		}
		r.inFlight.Go(func() {
			defer close(done)
			for _, b := range before {
				<-b
			}
			for n, a := range s.RunAll(requests) {
				sendOnly[n] <- a
			}
		})
	}
	return all
}
