package mutex

import (
	"context"
	"encoding/json"
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
func (s *server) onConnect(ctx context.Context, c *redis.Conn) error {
	begun := time.Now()
	pipe := c.Pipeline()
	last, known := s.instances.last(s.options.Addr)
	info, clock, granted := pipe.Info(ctx, "server"), pipe.Time(ctx), pipe.HGet(ctx, s.granted, last)
	if _, err := pipe.Exec(ctx); err != nil {
		if passes(granted.Err(), false) {
			return granted.Err() // it loads its data, and cannot say yet what it knows
		}
		if _, unreachable := s.explain(err); unreachable {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roundTrip = time.Since(begun)
	if clock.Err() == nil {
		s.clockKnown, s.ahead = true, time.Until(clock.Val())
	}
	if id, age, ok := instanceIn(info.Val()); ok {
		count, _ := granted.Int64()
		s.meet(id, age, known > 0 && count >= known)
	}
	return nil
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
// one before stays the last that is remembered, so that other processes notice the restart, too. Complete says that it knows all
// that this machine knew of the last one. The caller holds s.mu.
func (s *server) meet(id string, age time.Duration, complete bool) {
	if id == s.instance {
		return
	}
	s.instance, s.started = id, time.Now().Add(-age)
	if last, _ := s.instances.last(s.options.Addr); last != "" && last != id && age < s.lease && !complete {
		return
	}
	s.started = time.Time{}
	s.instances.remember(s.options.Addr, id)
}

// mayHaveForgotten returns an error during the lease that follows a restart. The caller holds s.mu.
func (s *server) mayHaveForgotten() error {
	end := s.started.Add(s.lease)
	if s.started.IsZero() || !time.Now().Before(end) {
		return nil
	}
	return s.failed(fmt.Sprintf("was started again at %s and may have forgotten locks: it takes none before %s",
		s.started.Local().Format(time.TimeOnly), end.Local().Format(time.TimeOnly)), "")
}

// instances remembers the last instance of each server, in this process and in a file for later ones.
type instances struct {
	mu   sync.Mutex
	path string            // of the file; empty: there is none
	ids  map[string]string // by the address of the server; and what that granted, by the address and grantedBy
	new  bool              // ids has more than the file
}

// grantedBy is what follows the address of a server in the key of its count.
const grantedBy = " granted"

// noteGranted notes how much the present instance has granted.
func (s *server) noteGranted(count string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instances.granted(s.options.Addr, s.instance, count)
}

// granted notes how much an instance has granted, if it is the one that is remembered.
func (i *instances) granted(address, id, count string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n, err := strconv.ParseInt(count, 10, 64); err == nil && i.ids[address] == id && n > i.count(address) {
		i.ids[address+grantedBy] = count
		i.new = true
	}
}

// count returns how much the remembered instance has granted, 0 where that is not known. The caller holds i.mu.
func (i *instances) count(address string) int64 {
	n, _ := strconv.ParseInt(i.ids[address+grantedBy], 10, 64)
	return n
}

// load reads the file, and uses it from now on.
func (i *instances) load(path string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.path = path
	if text, err := statedir.ReadFile(path); err == nil {
		json.Unmarshal(text, &i.ids) //nolint: a damaged file is as none
	}
}

func (i *instances) last(address string) (id string, granted int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ids[address], i.count(address)
}

// remember notes an instance, and writes the file if that changes it. Where it cannot be written, the
// next process tries again; until then restarts are judged by what the file had before.
func (i *instances) remember(address, id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ids[address] == id {
		return
	}
	if i.ids == nil {
		i.ids = map[string]string{}
	}
	i.ids[address] = id
	delete(i.ids, address+grantedBy)
	i.new = true
	i.write()
}

// save writes the file if there is something new.
func (i *instances) save() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.write()
}

// write is save for a caller that holds i.mu.
func (i *instances) write() {
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
