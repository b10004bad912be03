package cluster

import (
	"context"
	"time"

	"sched/mutex"
)

// Announce says that a tick of self begins, and what runs there. It returns by how much clock, which is
// the clock of this machine, is ahead of the clock of the store (half a round trip wrong at most), and
// what is wrong with the servers. It takes four calls, and five where a server has fallen silent.
func Announce(ctx context.Context, store mutex.Store, clock func() time.Time, self Server) (
	offset time.Duration, m Mixture, err error) {
	ticks, err := readTable(ctx, store, tableTicks, self.Name+"@") // first: the clock is not compared while we connect
	if err != nil {
		return 0, m, err
	}
	seen, offset, err := compareClocks(ctx, store, clock)
	if err != nil {
		return 0, m, err
	}
	if m, err = mixtureOf(ctx, store, self, seen, ticks); err != nil {
		return 0, m, err
	}
	self.SharedName = m.SharedName
	begun := self
	begun.Running, begun.More = nil, 0
	if err := put(ctx, store, tableTicks, begun, seen, offset); err != nil {
		return 0, m, err
	}
	return offset, m, put(ctx, store, tableNow, self, seen, offset)
}

// Refresh says what runs on self now. Version and minute of the server stay those of the tick that
// began last, which may be a later one than the tick of self.
func Refresh(ctx context.Context, store mutex.Store, clock func() time.Time, self Server) (
	offset time.Duration, err error) {
	seen, offset, err := compareClocks(ctx, store, clock)
	if err != nil {
		return 0, err
	}
	return offset, put(ctx, store, tableNow, self, seen, offset)
}

// put writes what a server says at the time seen.
func put(ctx context.Context, store mutex.Board, table string, s Server, seen time.Time, offset time.Duration) error {
	told := s.Running[:min(maxRunning, len(s.Running))]
	s.More += len(s.Running) - len(told)
	s.Running, s.Minute, s.Seen, s.Offset = told, s.Minute.UTC(), seen, offset
	return store.Put(ctx, table, s.place(), encode(s), listedFor)
}

// compareClocks returns the time of the store, and by how much our clock is ahead of it. The store is
// taken to read its clock in the middle of the round trip.
func compareClocks(ctx context.Context, store mutex.Store, clock func() time.Time) (
	theirs time.Time, offset time.Duration, err error) {
	before := clock()
	theirs, err = store.Now(ctx)
	took := clock().Sub(before)
	return theirs.UTC(), before.Add(took / 2).Sub(theirs), err
}
