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
	firstPause     = 10 * time.Millisecond  // the longest pause after the first attempt; then it doubles
	attemptTime    = 300 * time.Millisecond // no further attempt begins with less time left
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
		asked := inTurn
		if n >= attemptsInTurn {
			asked = atOnce // a dead run may have the first server
		}
		begun := time.Now()
		value, err := s.attempt(ctx, kind, name, holder, keep, asked)
		spare := time.Until(deadline) - attemptTime
		if !errors.Is(err, mutex.ErrSplit) || spare < 0 {
			return value, err
		}
		longest := max(firstPause<<n, time.Since(begun)/2)
		time.Sleep(min(rand.N(longest), spare))
	}
}

// attempt tries once to set a key, and returns its value. If redsync cannot set it on a majority of
// the servers, our run may have the key all the same: an answer was lost, or the run took it
// before. Then that value counts, and is kept from now on. The errors are as in take; ErrSplit
// comes without a wait.
func (s *Store) attempt(
	ctx context.Context, kind, name string, holder mutex.Holder, keep time.Duration, asked order,
) (string, error) {
	key, value := s.key(kind, name), mutex.NewValue(holder)
	lock, calls := redsyncMutex(ctx, s.servers, key, value, keep, asked)
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
	values, err := s.read(ctx, key)
	if err != nil {
		return "", err
	}
	found := values[0]
	text, servers := mostCommon(found)
	_, undone := s.undos.Load(text)
	switch holder := mutex.HolderOf(text); {
	case servers >= s.majority && holder.Run != run:
		return "", &mutex.HeldError{Name: name, Holder: holder}
	case servers >= s.majority && !undone:
		return text, nil
	}
	for _, value := range found {
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

// emptyText stands for an empty value that another program has set, because "" stands for no value.
const emptyText = "garbage"

// read returns, for each key, the values that the servers have, "" for a server that has no value.
func (s *Store) read(ctx context.Context, keys ...string) ([][]string, error) {
	answers, err := query(ctx, s, func(ctx context.Context, c *server) ([]any, error) {
		return c.MGet(ctx, keys...).Result()
	})
	found := make([][]string, len(keys))
	for i := range keys {
		for _, values := range answers {
			text, isSet := values[i].(string)
			if isSet && text == "" {
				text = emptyText
			}
			found[i] = append(found[i], text)
		}
	}
	return found, err
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
func mostCommon(found []string) (text string, servers int) {
	counts := map[string]int{}
	for _, value := range found {
		counts[value]++
		if value != "" && counts[value] > servers {
			text, servers = value, counts[value]
		}
	}
	return text, servers
}

// release removes a key from the servers on which it has the value. After an error this is unknown.
func (s *Store) release(ctx context.Context, key, text string) error {
	lock, calls := redsyncMutex(ctx, s.servers, key, text, s.config.Lease, atOnce)
	_, _ = lock.UnlockContext(ctx) // the calls have the errors
	return s.outage(failures(calls))
}
