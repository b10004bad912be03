package redis

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"sched/mutex"
)

const (
	firstPause     = 10 * time.Millisecond  // bounds the first pause after a short attempt; it doubles
	minAttemptTime = 300 * time.Millisecond // no further attempt begins with less time left
	attemptsInTurn = 3                      // the first attempts ask the servers in turn
)

// take sets a key for a holder, and returns its value. It makes attempts until one of these is
// true:
//
//   - A majority of the servers has a value of our run, which is returned.
//   - Another run has a majority: *HeldError.
//   - No run has a majority, and there is no time for another attempt: ErrSplit.
//
// Any other error means that this is unknown.
func (s *Store) take(ctx context.Context, kind, name string, holder mutex.Holder, keep time.Duration) (string, error) {
	ctx, cancel := begin(ctx)
	defer cancel()
	deadline, _ := ctx.Deadline()
	for n := 0; ; n++ {
		askOrder := inTurn
		if n >= attemptsInTurn {
			askOrder = atOnce // a dead run may have the first server
		}
		begun := time.Now()
		value, err := s.attempt(ctx, kind, name, holder, keep, askOrder)
		spare := time.Until(deadline) - minAttemptTime
		if !errors.Is(err, mutex.ErrSplit) || spare < 0 {
			return value, err
		}
		maxPause := max(firstPause<<n, time.Since(begun)/2)
		time.Sleep(min(rand.N(maxPause), spare))
	}
}

// attempt tries once to set a key, and returns its value. If redsync gets no majority of the
// servers, it finds out which run has the key:
//
//   - our run, because an answer was lost or it took the key before: that value counts, and is kept
//     from now on;
//   - otherwise the errors are as in take. It does not wait before ErrSplit.
func (s *Store) attempt(
	ctx context.Context, kind, name string, holder mutex.Holder, keep time.Duration, askOrder order,
) (string, error) {
	key, value := s.key(kind, name), mutex.NewValue(holder)
	lock, calls := redsyncMutex(ctx, s.servers, key, value, keep, askOrder)
	if lock.TryLockContext(ctx) == nil {
		return value, nil
	}
	unanswered := failures(calls)
	if len(unanswered) > 0 {
		s.undos.Store(value, key) // the servers may still set it
	}
	if err := s.outage(unanswered); err != nil {
		return "", err
	}
	earlier, err := s.ownValue(ctx, key, name, holder.Run)
	if err != nil {
		return "", err
	}
	if kind == "lock" {
		value = earlier // other processes of the run know this value
	}
	return s.confirm(ctx, key, earlier, value, keep)
}

// ownValue returns the value of the run if a majority has it, and *HeldError if a majority has a
// value of another run. Otherwise it removes what the run has on a minority: ErrSplit. A value of
// an attempt that is to be undone does not count, and is removed, too.
func (s *Store) ownValue(ctx context.Context, key, name, run string) (string, error) {
	byKey, err := s.read(ctx, key)
	if err != nil {
		return "", err
	}
	values := byKey[0]
	value, servers := mostCommon(values)
	_, undone := s.undos.Load(value)
	switch holder := mutex.HolderOf(value); {
	case servers >= s.majority && holder.Run != run:
		return "", &mutex.HeldError{Name: name, Holder: holder}
	case servers >= s.majority && !undone:
		return value, nil
	}
	for _, value := range values {
		if value != "" && mutex.HolderOf(value).Run == run {
			err = cmp.Or(err, s.release(ctx, key, value))
		}
	}
	return "", cmp.Or(err, mutex.ErrSplit)
}

const confirmScript = `if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3]) return 1`

// confirm keeps a key of our run from now on, and returns its value; ErrSplit if no majority had
// the earlier value any more. The process that set the earlier value may have asked the store to
// remove it, and the store may do so at any time from now on. So a claim gets a new value.
func (s *Store) confirm(ctx context.Context, key, earlier, value string, keep time.Duration) (string, error) {
	answers, err := query(ctx, s, func(ctx context.Context, c *server) (bool, error) {
		return c.Eval(ctx, confirmScript, []string{key}, earlier, value, keep.Milliseconds()).Bool()
	})
	confirmed := count(answers, func(kept bool) bool { return kept })
	if err == nil && confirmed < s.majority {
		err = mutex.ErrSplit
	}
	return value, err
}

// emptyValue stands for an empty value that another program has set, because "" stands for no
// value.
const emptyValue = "garbage"

// read returns, for each key, the values that the servers have, "" for a server that has no value.
func (s *Store) read(ctx context.Context, keys ...string) ([][]string, error) {
	answers, err := query(ctx, s, func(ctx context.Context, c *server) ([]any, error) {
		return c.MGet(ctx, keys...).Result()
	})
	byKey := make([][]string, len(keys))
	for i := range keys {
		for _, values := range answers {
			value, isSet := values[i].(string)
			if isSet && value == "" {
				value = emptyValue
			}
			byKey[i] = append(byKey[i], value)
		}
	}
	return byKey, err
}

// count returns how many of the answers of the servers match.
func count[T any](answers []T, matches func(T) bool) (servers int) {
	for _, answer := range answers {
		if matches(answer) {
			servers++
		}
	}
	return servers
}

// mostCommon returns the value that most servers have, and how many have it.
func mostCommon(values []string) (most string, servers int) {
	counts := map[string]int{}
	for _, value := range values {
		counts[value]++
		if value != "" && counts[value] > servers {
			most, servers = value, counts[value]
		}
	}
	return most, servers
}

// release removes a key from the servers on which it has the value. After an error this is unknown.
func (s *Store) release(ctx context.Context, key, value string) error {
	lock, calls := redsyncMutex(ctx, s.servers, key, value, s.config.Lease, atOnce)
	_, _ = lock.UnlockContext(ctx) // the calls have the errors
	return s.outage(failures(calls))
}
