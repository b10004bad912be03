package cluster

import (
	"context"
	"time"

	"sched/mutex"
)

// Announce says that a tick of self begins, and what runs there. It returns by how much clock, which is
// the clock of this machine, is ahead of the clock of the store (half a round trip wrong at most), and
// what is wrong with the servers. It takes three calls.
func Announce(ctx context.Context, store mutex.Store, clock func() time.Time, self Server) (
	offset time.Duration, m Mixture, err error) {
	all, now, offset, err := readAndCompare(ctx, store, clock, self)
	if err != nil {
		return 0, m, err
	}
	m = mixtureOf(self, all, now)
	self.SharedName, self.Seen = m.SharedName, now
	return offset, m, put(ctx, store, self, now, offset)
}

// Refresh says what runs on self now. Version and minute of the server stay those of the tick that
// began last, which may be a later one than the tick of self.
func Refresh(ctx context.Context, store mutex.Store, clock func() time.Time, self Server) (
	offset time.Duration, err error) {
	all, now, offset, err := readAndCompare(ctx, store, clock, self)
	if err != nil {
		return 0, err
	}
	self.Seen = now
	if last, known := all[self.place()]; known {
		last.Running, last.More = self.Running, 0
		self = last
	}
	return offset, put(ctx, store, self, now, offset)
}

// put writes what a server says at the time now of the store.
func put(ctx context.Context, store mutex.Board, s Server, now time.Time, offset time.Duration) error {
	said := s.Running[:min(maxRunning, len(s.Running))]
	s.More += len(s.Running) - len(said)
	s.Running, s.Minute, s.Said, s.Offset = said, s.Minute.UTC(), now, offset
	return store.Put(ctx, tableServers, s.place(), encode(s), listedFor)
}

// readAndCompare returns what the servers said, the time of the store, and by how much our clock is
// ahead of it. The store is taken to read its clock in the middle of the round trip.
func readAndCompare(ctx context.Context, store mutex.Store, clock func() time.Time, self Server) (
	all map[string]Server, now time.Time, offset time.Duration, err error) {
	all, err = readServers(ctx, store, self.Name+"@") // first: the clock is not compared while we connect
	if err != nil {
		return nil, now, 0, err
	}
	before := clock()
	now, err = store.Now(ctx)
	took := clock().Sub(before)
	return all, now.UTC(), before.Add(took / 2).Sub(now), err
}
