package simulation

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/load"
	"sched/schedule/past"
	"sched/schedule/state"
)

// A world is some servers with one schedule and one store, for an hour. Its seed decides everything
// that happens: which tasks there are, and which faults come when. Its time is the one of
// testing/synctest.
type world struct {
	*testing.T
	seed    uint64
	defects defects
	node    *node
	servers []*server
	begun   time.Time
	faulty  time.Time // from then on there are no new faults
	end     time.Time // the last tick has begun

	lateness  time.Duration // how late the store may carry out a request without an answer
	unlikely  float64       // that a request has no answer
	kills     float64       // that a process is killed at one of its steps
	slowness  time.Duration // of an answer
	outages   []span        // of the store
	dataLoss  []time.Time
	cpu       sync.Mutex // one process works at a time: package clock has the clock of its server
	current   atomic.Pointer[server]
	mu        sync.Mutex
	slots     map[slotKey]*slotLog
	late      map[string]bool // the keys of requests that were carried out in a later tick
	commands  []*command
	processes sync.WaitGroup
	log       []string
	ticks     atomic.Int64
	broken    []string // what the judge says
}

// defects are the names of the rules that are broken on purpose.
type defects map[string]bool

type span struct{ from, to time.Time }

func (s span) has(at time.Time) bool { return !at.Before(s.from) && at.Before(s.to) }

// dice returns numbers that depend on the seed and on what they are for, and not on the order in
// which goroutines ask.
func (w *world) dice(about ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, about...)
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

func between(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(int64(to-from)))
}

// tasks are what a schedule may have. All servers are due at the same minutes.
var tasks = []string{
	"{name: plain, cron: '*/30 * * * *', one_server: true, command: x}",
	"{name: waits, cron: '*/30 * * * *', one_server: true, store_down: wait, command: x}",
	"{name: waits, cron: '*/30 * * * *', one_server: true, store_down: wait, missed: once, missed_within: 30m, command: x}",
	"{name: once, cron: '20,50 * * * *', one_server: true, missed: once, missed_within: 30m, command: x}",
	"{name: local, cron: '*/30 * * * *', command: x}",
	"{name: long, cron: '*/10 * * * *', without_overlapping: true, command: x}",
	"{name: stops, cron: '*/10 * * * *', without_overlapping: true, on_lost_lease: stop, command: x}",
	"{name: some, cron: '*/30 * * * *', servers: [s1], command: x}",
	"{name: first, cron: '*/30 * * * *', one_server: true, mutex: both, command: x}, {name: second, cron: '*/30 * * * *', one_server: true, mutex: both, command: x}",
}

// newWorld makes the world of a seed. A part of the kinds of faults is left out, so that the others
// meet more often.
func newWorld(t *testing.T, seed uint64, dir string, template string, d defects) *world {
	w := &world{T: t, seed: seed, defects: d, node: newNode(), begun: time.Now(), slots: map[slotKey]*slotLog{},
		late: map[string]bool{}}
	r := w.dice("world")
	w.faulty = w.begun.Add(61 * time.Minute)
	w.end = w.faulty.Add(6 * time.Minute)
	some := func() bool { return r.IntN(2) == 0 }
	if some() {
		w.unlikely, w.lateness = 0.02+0.3*r.Float64()*r.Float64(), between(r, time.Second, 4*time.Minute)
	}
	if some() {
		w.kills = 0.1 * r.Float64()
	}
	if some() {
		w.slowness = between(r, time.Millisecond, 1500*time.Millisecond)
	}
	for range r.IntN(3) {
		w.outages = append(w.outages, w.randomSpan(r, 5*time.Second, 10*time.Minute))
	}
	if r.IntN(6) == 0 {
		w.dataLoss = append(w.dataLoss, w.begun.Add(between(r, 0, time.Hour)))
	}
	var lines []string
	for _, i := range r.Perm(len(tasks))[:2] {
		if text := tasks[i]; !strings.Contains(strings.Join(lines, ""), text[:12]) {
			lines = append(lines, text)
		}
	}
	yaml := "name: shop\nstore: redis://localhost\ntasks: [" + strings.Join(lines, ", ") + "]\n"
	for i := range 2 + r.IntN(2) {
		w.servers = append(w.servers, newServer(w, i+1, dir, template, yaml, r))
	}
	return w
}

// randomSpan is a part of the hour.
func (w *world) randomSpan(r *rand.Rand, least, most time.Duration) span {
	from := w.begun.Add(between(r, 0, 55*time.Minute))
	return span{from, from.Add(between(r, least, min(most, w.begun.Add(time.Hour).Sub(from))))}
}

// run does everything that happens in the world, and has the judge look at it.
func (w *world) run() {
	now, steady := clock.Now, clock.Steady
	clock.Now, clock.Steady = func() time.Time { return w.current.Load().now() }, time.Now
	defer func() { clock.Now, clock.Steady = now, steady }()
	var all sync.WaitGroup
	for _, at := range w.dataLoss {
		all.Go(func() {
			time.Sleep(time.Until(at))
			w.note(nil, "the store loses its data")
			w.node.loseData()
		})
	}
	for _, s := range w.servers {
		all.Go(s.cron)
	}
	all.Wait()
	w.processes.Wait()
	time.Sleep(10 * time.Minute) // renewals may be on their way
	w.judge()
	for _, s := range w.servers {
		s.db.Close()
	}
}

// note writes down what happens, for people and for the comparison of two replays.
func (w *world) note(s *server, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	who, at := "world", ""
	if s != nil {
		who, at = s.name, s.now().Format("15:04:05")
	}
	w.log = append(w.log, fmt.Sprintf("%s %s %s %s", time.Now().Format("15:04:05.000000"), who, at,
		fmt.Sprintf(format, args...)))
}

// A server is a machine with a clock, a state folder, and a cron.
type server struct {
	world    *world
	name     string
	db       *state.DB
	dir      string
	schedule *schedule.Schedule
	offset   time.Duration // of its clock, always
	jumps    []jump        // of its clock, in their order
	off      []span        // the machine is switched off
	freezes  []span        // its processes stand still

	live          sync.Map    // the processes of the machine
	first, newest time.Time   // of the minutes that a tick has planned
	busy          atomic.Bool // a tick has something to do, whatever is due
	silences      []time.Time // when a process of the machine had no answer
}

// A jump is a clock that is wrong for a while.
type jump struct {
	span
	by time.Duration
}

func newServer(w *world, i int, dir, template, yaml string, r *rand.Rand) *server {
	s := &server{world: w, name: fmt.Sprint("s", i), dir: filepath.Join(dir, fmt.Sprint("s", i))}
	if r.IntN(2) == 0 {
		s.offset = between(r, -30*time.Second, 30*time.Second)
	}
	if r.IntN(4) == 0 {
		s.offset = between(r, -6*time.Minute, 6*time.Minute)
	}
	if r.IntN(3) == 0 {
		s.jumps = append(s.jumps, jump{w.randomSpan(r, 10*time.Second, 20*time.Minute),
			between(r, -15*time.Minute, 15*time.Minute)})
	}
	if r.IntN(3) == 0 {
		s.off = append(s.off, w.randomSpan(r, 10*time.Second, 25*time.Minute))
	}
	for range r.IntN(4) {
		freeze := w.randomSpan(r, time.Second, 3*time.Minute)
		if r.IntN(2) == 0 { // between the lock of a run and its command
			begins := freeze.from.Truncate(10 * time.Minute).Add(between(r, 0, 6*time.Second) - s.offset)
			freeze.from, freeze.to = begins, begins.Add(freeze.to.Sub(freeze.from))
		}
		s.freezes = append(s.freezes, freeze)
	}
	if err := os.CopyFS(s.dir, os.DirFS(template)); err != nil {
		w.Fatal(err)
	}
	os.Chmod(s.dir, 0o700)
	var err error
	s.schedule, err = load.Text([]byte(yaml), filepath.Join(dir, "schedule.yaml"),
		load.Options{Server: func(string) string { return s.name }})
	if err != nil {
		w.Fatal(err)
	}
	s.db = state.At(s.dir, state.Patience)
	return s
}

// now is what the clock of the machine shows.
func (s *server) now() time.Time { return s.at(time.Now()) }

func (s *server) at(real time.Time) time.Time {
	by := s.offset
	for _, j := range s.jumps {
		if j.has(real) {
			by += j.by
		}
	}
	return real.Add(by)
}

// as does something with the clock of this machine.
func (s *server) as(do func()) {
	s.world.cpu.Lock()
	defer s.world.cpu.Unlock()
	s.world.current.Store(s)
	do()
}

func (s *server) isOff() bool {
	return slices.ContainsFunc(s.off, func(o span) bool { return o.has(time.Now()) })
}

// thaw waits until the processes of the machine do not stand still.
func (s *server) thaw() {
	for _, f := range s.freezes {
		if f.has(time.Now()) {
			time.Sleep(time.Until(f.to) + time.Duration(s.world.dice(s.name, f.to).IntN(1e6)))
		}
	}
}

// cron starts a tick in each minute of the clock of the machine. It leaves out minutes in which a
// tick would find nothing: a later one that covers them finds that nothing was due in them.
func (s *server) cron() {
	for {
		s.awaitMinute()
		minute := s.now().Truncate(time.Minute)
		switch {
		case !time.Now().Before(s.world.end):
			return
		case s.isOff():
			s.killAll()
		case s.busy.Load() || s.isNew() || s.untilChange() < time.Minute || len(s.schedule.Due(minute)) > 0:
			p := newProcess(s, minute)
			s.world.ticks.Add(1)
			s.world.processes.Go(p.live)
		}
	}
}

// isNew reports whether no tick has planned a minute yet.
func (s *server) isNew() (isNew bool) {
	s.as(func() { isNew = s.newest.IsZero() })
	return isNew
}

// awaitMinute waits until the next minute of the clock begins, or until something is set or
// switched.
func (s *server) awaitMinute() {
	time.Sleep(time.Microsecond)
	next := s.now().Truncate(time.Minute).Add(time.Minute)
	for begun := s.now(); s.now().Before(next) && !s.now().Before(begun) && !s.isOff(); {
		time.Sleep(min(next.Sub(s.now()), s.untilChange()))
	}
	if s.isOff() {
		s.killAll()
		time.Sleep(s.untilChange())
		s.awaitMinute()
	}
}

// untilChange is how long nothing is set or switched.
func (s *server) untilChange() time.Duration {
	now, next := time.Now(), s.world.end.Add(time.Second)
	if now.Before(s.world.faulty) {
		next = s.world.faulty
	}
	for _, o := range s.off {
		for _, at := range []time.Time{o.from, o.to} {
			if at.After(now) && at.Before(next) {
				next = at
			}
		}
	}
	for _, j := range s.jumps {
		for _, at := range []time.Time{j.from, j.to} {
			if at.After(now) && at.Before(next) {
				next = at
			}
		}
	}
	return max(next.Sub(now), time.Millisecond)
}

// killAll kills every process of the machine, with the commands.
func (s *server) killAll() {
	for p := range s.live.Range {
		p.(*process).kill()
	}
}

// rows returns how many rows stand for each slot, and the last one.
func (s *server) rows() (rows map[slotKey]int, last map[slotKey]state.Row) {
	rows, last = map[slotKey]int{}, map[slotKey]state.Row{}
	all, err := past.Of(s.db).Find(s.world.Context(), past.Query{})
	if err != nil {
		s.world.Fatal(err)
	}
	for _, row := range all {
		for at := row.Slot; !at.After(row.LastSlot) || at.Equal(row.Slot); at = at.Add(time.Minute) {
			key := slotKey{row.Task, at.UTC()}
			if row.Slots <= 1 || s.isDue(row.Task, at) {
				rows[key]++
				last[key] = row
			}
		}
	}
	return rows, last
}

func (s *server) isDue(task string, at time.Time) bool {
	return slices.ContainsFunc(s.schedule.Due(at), func(slot schedule.Slot) bool { return slot.Task.Name == task })
}
