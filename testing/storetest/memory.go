// Package storetest has one test of the promises of package mutex, which runs against every driver.
// It also has a store in memory, for tests of other packages.
package storetest

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
)

// ErrDown is the error of a Memory that is down, or whose answer was lost.
var ErrDown = errors.New("the store does not answer")

// A Memory is a mutex.Store in this process, with a clock that tests set and faults that they ask
// for. Its locks and claims never end by themselves unless the clock is moved (Advance).
type Memory struct {
	mu     sync.Mutex
	ahead  time.Duration // of this machine's clock
	down   bool
	lost   int // how many answers are lost yet
	calls  int
	locks  map[string]lent
	broken map[[2]string]bool // locks that were broken, by name and run
	claims map[string]lent
	tables map[string]map[string]storedValue
	logs   map[string][][]byte
}

type lent struct {
	holder mutex.Holder
	until  time.Time
}

type storedValue struct {
	value []byte
	until time.Time
}

var _ mutex.Store = (*Memory)(nil)

// New returns an empty store.
func New() *Memory {
	m := &Memory{}
	m.empty()
	return m
}

func (m *Memory) empty() {
	m.locks, m.claims, m.broken = map[string]lent{}, map[string]lent{}, map[[2]string]bool{}
	m.tables, m.logs = map[string]map[string]storedValue{}, map[string][][]byte{}
}

// Advance moves the clock of the store.
func (m *Memory) Advance(by time.Duration) { m.locked(func() { m.ahead += by }) }

// GoDown makes all calls fail without effect.
func (m *Memory) GoDown() { m.locked(func() { m.down = true }) }

// ComeUp ends what GoDown began.
func (m *Memory) ComeUp() { m.locked(func() { m.down = false }) }

// LoseAnswers makes the next calls fail after they had their effect.
func (m *Memory) LoseAnswers(calls int) { m.locked(func() { m.lost = calls }) }

// LoseData makes the store empty, as a Redis that was restarted without its data.
func (m *Memory) LoseData() { m.locked(m.empty) }

// Calls returns how many calls there were.
func (m *Memory) Calls() (n int) {
	m.locked(func() { n = m.calls })
	return n
}

func (m *Memory) locked(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do()
}

// call runs one call of the interface, which may fail as a test has asked for.
func (m *Memory) call(ctx context.Context, do func(now time.Time) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if ctx.Err() != nil || m.down {
		return errors.Join(ErrDown, ctx.Err())
	}
	err := do(m.now())
	if m.lost > 0 {
		m.lost--
		return ErrDown
	}
	return err
}

func (m *Memory) now() time.Time { return time.Now().Add(m.ahead) }

func (m *Memory) Acquire(ctx context.Context, name string, holder mutex.Holder) (lock mutex.Lock, err error) {
	err = m.call(ctx, func(now time.Time) error {
		if has, ok := m.locks[name]; ok && has.until.After(now) && has.holder.Run != holder.Run {
			return &mutex.HeldError{Name: name, Holder: has.holder}
		}
		delete(m.broken, [2]string{name, holder.Run})
		m.locks[name] = lent{holder, now.Add(mutex.DefaultLease)}
		lock = &memoryLock{store: m, name: name, run: holder.Run, leased: clock.Steady()}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return lock, nil
}

func (m *Memory) Adopt(name string, holder mutex.Holder, _ *os.File) mutex.Lock {
	return &memoryLock{store: m, name: name, run: holder.Run, leased: clock.Steady()}
}

func (m *Memory) Claim(ctx context.Context, key string, until time.Time, holder mutex.Holder) error {
	return m.call(ctx, func(now time.Time) error {
		if has, ok := m.claims[key]; ok && has.until.After(now) && has.holder.Run != holder.Run {
			return &mutex.HeldError{Name: key, Holder: has.holder}
		}
		if least := now.Add(time.Hour); until.Before(least) {
			until = least
		}
		m.claims[key] = lent{holder, until}
		return nil
	})
}

func (m *Memory) Break(ctx context.Context, name string) (holder mutex.Holder, err error) {
	err = m.call(ctx, func(now time.Time) error {
		has, ok := m.locks[name]
		if !ok || !has.until.After(now) {
			return mutex.ErrFree
		}
		holder = has.holder
		m.broken[[2]string{name, holder.Run}] = true
		delete(m.locks, name)
		return nil
	})
	return holder, err
}

func (m *Memory) Held(ctx context.Context, names ...string) (held map[string]mutex.Holder, err error) {
	held = map[string]mutex.Holder{}
	err = m.call(ctx, func(now time.Time) error {
		for _, name := range names {
			if has, ok := m.locks[name]; ok && has.until.After(now) {
				held[name] = has.holder
			}
		}
		return nil
	})
	return held, err
}

func (m *Memory) Risks(context.Context) ([]mutex.Risk, error) { return nil, nil }

func (m *Memory) Claims(ctx context.Context, keys ...string) (taken map[string]mutex.Holder, err error) {
	taken = map[string]mutex.Holder{}
	err = m.call(ctx, func(now time.Time) error {
		for _, key := range keys {
			if has, ok := m.claims[key]; ok && has.until.After(now) {
				taken[key] = has.holder
			}
		}
		return nil
	})
	return taken, err
}

func (m *Memory) Now(ctx context.Context) (now time.Time, err error) {
	err = m.call(ctx, func(at time.Time) error { now = at; return nil })
	return now, err
}

func (m *Memory) Config() mutex.Config { return mutex.Config{Namespace: "shop"} }

func (m *Memory) Close() error { return nil }

func (m *Memory) Put(ctx context.Context, table, key string, value []byte, keep time.Duration) error {
	return m.call(ctx, func(now time.Time) error {
		if m.tables[table] == nil {
			m.tables[table] = map[string]storedValue{}
		}
		m.tables[table][key] = storedValue{slices.Clone(value), now.Add(keep)}
		return nil
	})
}

func (m *Memory) All(ctx context.Context, table string) (all map[string][]byte, err error) {
	all = map[string][]byte{}
	err = m.call(ctx, func(now time.Time) error {
		maps.DeleteFunc(m.tables[table], func(_ string, k storedValue) bool { return !k.until.After(now) })
		for key, k := range m.tables[table] {
			all[key] = slices.Clone(k.value)
		}
		return nil
	})
	return all, err
}

func (m *Memory) Delete(ctx context.Context, table, key string) error {
	return m.call(ctx, func(time.Time) error {
		delete(m.tables[table], key)
		return nil
	})
}

func (m *Memory) Append(ctx context.Context, log string, keep int, values ...[]byte) error {
	return m.call(ctx, func(time.Time) error {
		for _, value := range values {
			m.logs[log] = append(m.logs[log], slices.Clone(value))
		}
		m.logs[log] = m.logs[log][max(0, len(m.logs[log])-keep):]
		return nil
	})
}

func (m *Memory) Tail(ctx context.Context, log string, skip, count int) (values [][]byte, err error) {
	err = m.call(ctx, func(time.Time) error {
		for i := len(m.logs[log]) - 1 - skip; i >= 0 && len(values) < count; i-- {
			values = append(values, slices.Clone(m.logs[log][i]))
		}
		return nil
	})
	return values, err
}

// A memoryLock is a held mutex of a Memory.
type memoryLock struct {
	store     *Memory
	name, run string

	mu       sync.Mutex
	leased   time.Time
	released bool
}

func (l *memoryLock) Inherit() []*os.File        { return nil }
func (l *memoryLock) Lease() time.Duration       { return mutex.DefaultLease }
func (l *memoryLock) Describe(mutex.Holder)      {}
func (l *memoryLock) LeaseBegan() (at time.Time) { l.mu.Lock(); defer l.mu.Unlock(); return l.leased }

// Renew takes a lock that is gone again, unless it was broken.
func (l *memoryLock) Renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return nil
	}
	begun := clock.Steady()
	err := l.store.call(ctx, func(now time.Time) error {
		has, ok := l.store.locks[l.name]
		held, broken := ok && has.until.After(now), l.store.broken[[2]string{l.name, l.run}]
		switch {
		case held && has.holder.Run != l.run:
			return &mutex.LostError{Name: l.name, Holder: has.holder, Broken: broken}
		case broken:
			return &mutex.LostError{Name: l.name, Broken: true}
		case !held:
			l.store.locks[l.name] = lent{mutex.Holder{Run: l.run}, now.Add(mutex.DefaultLease)}
			return &mutex.LostError{Name: l.name}
		}
		l.store.locks[l.name] = lent{has.holder, now.Add(mutex.DefaultLease)}
		return nil
	})
	if err == nil {
		l.leased = begun
	}
	return err
}

func (l *memoryLock) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	return l.store.call(ctx, func(time.Time) error {
		if l.store.locks[l.name].holder.Run == l.run {
			delete(l.store.locks, l.name)
		}
		return nil
	})
}
