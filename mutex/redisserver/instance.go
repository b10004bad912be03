package redisserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/schedule/statedir"
)

// An instance of Redis is one process of redis-server from its start to its end. Each has its own
// run_id, which INFO shows.
//
// A Redis that was restarted may have forgotten locks and claims, all of them or those of its last
// second. So for one lease from its start it grants no new ones; by then every lock that it forgot
// was renewed, and is there again, or has run out, unless it has forgotten nothing: each grant is counted in Redis, by the instance
// that gave it, and this machine remembers the last count that it was told. If the new instance knows as many of the old one, what
// was saved is what this machine knew, or newer. ("Delayed restarts" in
// https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/.) A restart shows in a
// run_id that differs from the last one that this machine has met.

// onConnect looks at the server on each new connection: which instance it is, and its clock. Where
// the user of the URL may not see the one or the other, restarts go unnoticed and scripts have no
// deadline.
func (s *Server) onConnect(ctx context.Context, c *redis.Conn) error {
	begun := time.Now()
	pipe := c.Pipeline()
	last, known := s.instances.last(s.options.Addr)
	info, clock, granted := pipe.Info(ctx, "server"), pipe.Time(ctx), pipe.HGet(ctx, s.granted, last)
	role := redis.NewStringCmd(ctx)
	if s.target.Moves() {
		role = pipe.Info(ctx, "replication")
	}
	if _, err := pipe.Exec(ctx); err != nil {
		if passes(granted.Err(), false) || s.moved(granted.Err()) {
			return granted.Err() // it loads its data, and cannot say yet what it knows; or it has another part of a Cluster
		}
		if _, unreachable := s.explain(err); unreachable {
			return err
		}
	}
	took, ahead := time.Since(begun), time.Until(clock.Val())
	if strings.Contains(role.Val(), "role:slave") {
		return errNotPrimary
	}
	id, age, ok := instanceIn(info.Val())
	count, _ := granted.Int64()
	forgot := ok && s.hasForgotten(last, id, known, count, granted.Err())
	if forgot {
		if err := s.sendRestore(ctx, c); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roundTrip = took
	if clock.Err() == nil {
		s.clockKnown, s.ahead = true, ahead
	}
	if ok {
		s.meet(id, age, forgot)
	}
	if ok && last == id && !forgot && granted.Err() == nil { // what others were granted would be forgotten, too
		s.instances.granted(s.options.Addr, id, granted.Val())
	}
	return nil
}

// hasForgotten reports whether an instance may have forgotten what was granted: it is another than the last, and does not know as many
// grants of that as this machine does, or it is the same one and knows fewer (FLUSHALL).
func (s *Server) hasForgotten(last, id string, known, count int64, err error) bool {
	if last == id {
		return count < known && (err == nil || errors.Is(err, redis.Nil))
	}
	return last != "" && (known == 0 || count < known)
}

// instanceIn reads the answer to INFO.
func instanceIn(info string) (id string, age time.Duration, ok bool) {
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch key {
		case "run_id":
			id = value
		case "uptime_in_seconds":
			seconds, err := strconv.Atoi(value)
			age, ok = time.Duration(seconds)*time.Second, err == nil
		}
	}
	return id, age, ok && id != ""
}

// meet notes which instance answers, and whether it may have forgotten locks. As long as it may, the
// one before stays the last that is remembered, so that other processes notice the restart, too. The caller holds s.mu.
func (s *Server) meet(id string, age time.Duration, forgot bool) {
	if id == s.instance && !forgot {
		return
	}
	if forgot {
		how, last := "was started again at", ""
		if last, _ = s.instances.last(s.options.Addr); last == id {
			how = "has lost its data before"
		} else if s.target.Moves() {
			how = "has another primary since"
		}
		if last == id || s.target.Moves() {
			age = s.instances.metFor(s.options.Addr, id, time.Now())
		}
		if age < max(s.instances.caution(s.lease), restoredWithin) {
			s.instance, s.started, s.forgot = id, time.Now().Add(-age), how
			return
		}
	}
	s.instance = id
	s.started = time.Time{}
	s.instances.remember(s.options.Addr, id)
}

// mayHaveForgotten returns an error during the longest lease that runs may have, which follows a restart, and for slots of before,
// which it may have known to be claimed, until it was told of claims (RestoreWith); slot is zero for what is no claim of one. A
// clock that is ahead by less than a lease is reckoned with. The caller holds s.mu.
func (s *Server) mayHaveForgotten(slot time.Time) error {
	end := s.started.Add(s.instances.caution(s.lease))
	if end.Before(s.started.Add(restoredWithin)) && !slot.IsZero() && !slot.After(end) {
		end = s.started.Add(restoredWithin)
	}
	if s.started.IsZero() || !time.Now().Before(end) {
		return nil
	}
	return s.failed(fmt.Sprintf("%s %s and may have forgotten locks: it takes none before %s",
		s.forgot, s.started.Local().Format(time.TimeOnly), end.Local().Format(time.TimeOnly)), "")
}

// restoredWithin is how long after its start a server that has forgotten claims gets none for slots that it may have known: by then each
// machine that ticks every minute has told it what it knows.
const restoredWithin = 2 * time.Minute

// Instances remembers the last instance of each server, in this process and in a file for later ones. Its zero value has no file. It is
// safe for concurrent use.
type Instances struct {
	mu   sync.Mutex
	path string            // of the file; empty: there is none
	ids  map[string]string // by the address of the server; and what that granted, by the address and grantedBy
	new  bool              // ids has more than the file
}

// grantedBy is what follows the address of a server in the key of its count.
const grantedBy = " granted"

// noteGranted notes how much the present instance has granted.
func (s *Server) noteGranted(count string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instances.granted(s.options.Addr, s.instance, count)
}

// granted notes how much an instance has granted, if it is the one that is remembered.
func (i *Instances) granted(address, id, count string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n, err := strconv.ParseInt(count, 10, 64); err == nil && i.ids[address] == id && n > i.count(address) {
		i.ids[address+grantedBy] = count
		i.new = true
	}
}

// count returns how much the remembered instance has granted, 0 where that is not known. The caller holds i.mu.
func (i *Instances) count(address string) int64 {
	n, _ := strconv.ParseInt(i.ids[address+grantedBy], 10, 64)
	return n
}

// Load reads the file, uses it from now on, and notes in it that this machine uses the lease. A file that cannot be read or written is
// as none. Call it before the first request.
func (i *Instances) Load(path string, lease time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.path = path
	if text, err := statedir.ReadFile(path); err == nil {
		json.Unmarshal(text, &i.ids) //nolint: a damaged file is as none
	}
	i.useLease(lease, time.Now())
}

func (i *Instances) last(address string) (id string, granted int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ids[address], i.count(address)
}

// remember notes an instance, and writes the file if that changes it. Where it cannot be written, the
// next process tries again; until then restarts are judged by what the file had before.
func (i *Instances) remember(address, id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, met := i.ids[address+metAs]; i.ids[address] == id && !met {
		return
	}
	if i.ids == nil {
		i.ids = map[string]string{}
	}
	i.ids[address] = id
	delete(i.ids, address+grantedBy)
	delete(i.ids, address+metAs)
	i.new = true
	i.write()
}

// Save writes the file if there is something new.
func (i *Instances) Save() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.write()
}

// write is Save for a caller that holds i.mu.
func (i *Instances) write() {
	if i.path == "" || !i.new {
		return
	}
	i.new = false
	text, err := json.Marshal(i.ids)
	if err != nil {
		return
	}
	draft := fmt.Sprintf("%s.%d", i.path, os.Getpid())
	if os.WriteFile(draft, append(text, '\n'), 0o600) != nil || os.Rename(draft, i.path) != nil {
		os.Remove(draft)
	}
}
