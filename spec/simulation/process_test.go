package simulation

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/run/holding"
	leases "sched/schedule/run/lease"
	"sched/schedule/state"
	"sched/schedule/tick/plan"
)

// A process is a tick with its runs. It does what tick.Tick does, with the real packages: the plan
// on a database on disk, claims, locks, leases and rows. Its commands are only written down.
type process struct {
	*server
	minute  time.Time
	account *plan.Ledger
	store   *client
	locks   mutex.Locks
	leases  leases.Keeper
	records []state.Row
	runs    sync.WaitGroup
	dead    chan struct{} // closed when it was killed
	killed  atomic.Bool

	mu    sync.Mutex
	calls map[string]int
	held  []mutex.Lock
}

func newProcess(s *server, minute time.Time) *process {
	p := &process{server: s, minute: minute, dead: make(chan struct{}), calls: map[string]int{}}
	p.store = newClient(s.world.node, p.line, s.now, s.world.defects)
	p.locks = mutex.NewLocks(mutex.Files{Dir: filepath.Join(s.dir, "locks")}, p.store)
	s.live.Store(p, true)
	s.busy.Store(false)
	return p
}

// errKilled ends the goroutine of a process that was killed.
var errKilled = errors.New("killed")

func (p *process) kill() {
	if p.killed.CompareAndSwap(false, true) {
		p.server.busy.Store(true)
		p.world.note(p.server, "the tick of %s is killed", p.minute.Format("15:04"))
		close(p.dead)
	}
}

// step is a point at which the process may be killed.
func (p *process) step(about ...any) {
	p.server.thaw()
	if time.Now().Before(p.world.faulty) &&
		p.world.dice(append(about, p.name, time.Now())...).Float64() < p.world.kills {
		if p.account == nil && p.world.defects["covered"] {
			p.as(p.coverAlone)
		}
		p.kill()
	}
	if p.killed.Load() {
		panic(errKilled)
	}
}

// pause takes time. It ends when the process is killed.
func (p *process) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.dead:
	}
	p.server.thaw()
}

// line is the line to the store: see line.
func (p *process) line(about string, request func()) (answered bool) {
	p.mu.Lock()
	p.calls[about]++
	r := p.world.dice(p.name, p.minute, about, p.calls[about])
	p.mu.Unlock()
	latency := time.Duration(1e5 + r.IntN(3e6))
	if p.world.slowness > 0 {
		latency += time.Duration(r.Int64N(int64(p.world.slowness)))
	}
	p.pause(latency / 2)
	fault, late, now := r.Float64(), time.Duration(0), time.Now()
	w := p.world
	if w.lateness > 0 {
		late = time.Duration(r.Int64N(int64(w.lateness)))
	}
	if !now.Before(w.faulty) {
		fault = 1
	}
	switch isDown := slices.ContainsFunc(w.outages, func(o span) bool { return o.has(now) }); {
	case p.killed.Load():
		return false
	case isDown || fault < w.unlikely/3:
	case fault < 2*w.unlikely/3:
		request()
	case fault < w.unlikely:
		w.processes.Go(func() {
			time.Sleep(late)
			request()
			w.note(p.server, "the store has done late: %s", about)
			if _, key, _ := strings.Cut(about, " "); late > 50*time.Second {
				w.noteLate(key)
			}
		})
	default:
		request()
		begun := time.Now()
		p.pause(latency / 2)
		if answered = time.Since(begun) < 2*time.Second && !p.killed.Load(); answered {
			return true
		}
	}
	p.pause(2*time.Second + latency)
	p.world.note(p.server, "no answer: %s", about)
	p.world.noteSilence(p.server)
	return false
}

// live is the life of the process.
func (p *process) live() {
	defer func() {
		if cause := recover(); cause != nil && cause != errKilled { //nolint: errKilled is never wrapped
			panic(cause)
		}
		p.runs.Wait()
		p.over()
	}()
	r := p.world.dice(p.name, p.minute, time.Now())
	p.pause(time.Duration(1e7 + r.IntN(2e9)))
	starts := p.plan()
	p.step("planned")
	p.collectLost()
	for _, slot := range starts {
		p.begin(slot)
	}
	p.write()
	p.runs.Wait()
	p.step("over")
	p.store.Close()
}

// over is what the kernel does with a process that has ended.
func (p *process) over() {
	for _, lock := range p.held {
		p.leases.Drop(lock)
		for _, file := range lock.Inherit() {
			file.Close()
		}
	}
	if p.account != nil {
		p.account.Self.Close()
	}
	p.server.live.Delete(p)
}

// plan accounts for the minute, and returns the slots that the tick starts.
func (p *process) plan() (starts []schedule.Slot) {
	p.step("begins")
	p.as(func() {
		var err error
		p.account = p.newAccount()
		if starts, err = plan.Open(p.account, p.schedule.Due(p.minute)); err != nil {
			p.world.Fatal(err)
		}
		if p.first.IsZero() {
			p.server.first = p.minute
		}
		if p.minute.After(p.newest) {
			p.server.newest = p.minute
		}
	})
	for _, slot := range starts {
		p.world.note(p.server, "starts %s of %s", slot.Task.Name, slot.At.Format("15:04"))
	}
	return starts
}

func (p *process) newAccount() *plan.Ledger {
	a := &plan.Ledger{
		Schedule: p.schedule, Valid: true, DB: p.db, Self: p.db.Self(state.Tick), Shared: true,
		Minute: p.minute, Server: p.name,
		Covers: !(p.minute.Before(p.newest) && p.world.defects["again"]),
		ReadPauses: func() plan.Paused {
			return plan.Paused{By: func(*schedule.Task, time.Time) string { return "" },
				Touches: func(*schedule.Task, time.Time, time.Time) bool { return false }}
		},
		ReadElsewhere: p.readElsewhere,
		Problem:       func(format string, args ...any) { p.world.note(p.server, format, args...) },
	}
	if p.world.defects["placement"] {
		everywhere := *p.schedule
		everywhere.Machine.Name = "s1"
		a.Schedule = &everywhere
	}
	return a
}

// readElsewhere says which slots other servers have claimed. The store always answers that: without
// an answer the slots were missed, as they were before servers asked.
func (p *process) readElsewhere(asked []schedule.Slot) map[schedule.Slot]string {
	answers := newClient(p.world.node, direct, p.now, nil)
	taken, err := cluster.Taken(context.Background(), answers, p.name, asked)
	if err != nil {
		p.world.Fatal(err)
	}
	texts := map[schedule.Slot]string{}
	for slot, holder := range taken {
		texts[slot] = holder.Host + " has it"
	}
	return texts
}

// coverAlone writes the covered minute, without the rows of the minute.
func (p *process) coverAlone() {
	tx, err := p.db.Plan(context.Background())
	if err == nil {
		err = errors.Join(tx.Values().Cover(context.Background(), p.minute), tx.Commit())
	}
	if err != nil {
		p.world.Fatal(err)
	}
}

// collectLost ends the runs of dead processes.
func (p *process) collectLost() {
	p.as(func() {
		_, lost, err := p.db.LiveAndLost(context.Background())
		if err != nil {
			p.world.Fatal(err)
		}
		for _, row := range lost {
			own := p.own()
			if own.Apply(context.Background(), state.Take(), &row) == nil {
				p.end(row.ID, outcome.Lost, "")
			}
		}
	})
}

func (p *process) own() state.Owned {
	own, err := p.account.Self.Owned(context.Background())
	if err != nil {
		p.world.Fatal(err)
	}
	return own
}

func (p *process) end(run string, became outcome.Outcome, reason string) {
	result := state.Result{Outcome: became, Reason: reason, Ended: p.now()}
	if err := p.own().Apply(context.Background(), state.End(state.Ending{Result: result}), &state.Row{ID: run}); err != nil {
		p.world.fail("run %s cannot end: %v", run, err)
	}
}

// begin asks for a slot, and begins its run: see tick.launcher.begin.
func (p *process) begin(slot schedule.Slot) {
	task := slot.Task
	record := state.Row{ID: outcome.NewID(), Task: task.Name, Mutex: task.Mutex, Slot: slot.At.UTC(), Server: p.name}
	if planned, _ := p.account.RunOf(slot); planned != "" && !p.world.defects["resume"] {
		record.ID = planned
	}
	lock, err := p.take(record, slot)
	p.step("asked ", task.Name)
	held, isHeld := errors.AsType[*mutex.HeldError](err)
	switch {
	case err == nil:
		p.run(record, task, lock)
	case isHeld:
		if held.Name == task.Mutex {
			p.world.noteExcuse(record, "another task has its mutex")
		}
		p.skip(record, err.Error())
	case task.WaitWhenStoreDown && p.delay(slot, err):
	default:
		p.world.noteExcuse(record, "no answer")
		p.skip(record, err.Error())
	}
}

// take claims a slot, and takes its mutex.
func (p *process) take(record state.Row, slot schedule.Slot) (mutex.Lock, error) {
	ctx, task, defects := context.Background(), slot.Task, p.world.defects
	var holder mutex.Holder
	p.as(func() { holder = holding.NewHolder(record) })
	claim := func() error {
		key := slot.ClaimKey()
		if defects["mutex"] {
			key = schedule.Slot{Task: &schedule.Task{Name: task.Mutex}, At: slot.At}.ClaimKey()
		}
		p.world.noteAsked(record)
		err := p.locks.Claim(ctx, key, slot.ClaimedUntil(), holder)
		p.world.note(p.server, "claims %s of %s: %v", task.Name, slot.At.Format("15:04"), err)
		if _, isHeld := errors.AsType[*mutex.HeldError](err); !isHeld && err != nil {
			switch {
			case defects["unchecked"]:
				return nil
			case defects["held"]:
				return &mutex.HeldError{Name: key}
			}
		}
		p.step("claimed ", task.Name)
		return err
	}
	acquire := func() (mutex.Lock, error) {
		lock, err := p.locks.Acquire(ctx, task.Mutex, holder)
		if lock != nil {
			p.held = append(p.held, lock)
			p.leases.Keep(lock)
		}
		return lock, err
	}
	return schedule.TakeLocks(task, claim, acquire)
}

func (p *process) delay(slot schedule.Slot, why error) (delayed bool) {
	p.as(func() { _, delayed = p.account.Delay(slot, state.ForStore, why.Error()) })
	p.world.note(p.server, "delays %s of %s: %t", slot.Task.Name, slot.At.Format("15:04"), delayed)
	p.server.busy.Store(true)
	return delayed
}

// skip notes that a slot does not run. The history has it when the tick ends.
func (p *process) skip(record state.Row, reason string) {
	record.Outcome, record.Reason, record.Ended = outcome.Skipped, reason, p.now()
	p.records = append(p.records, record)
}

func (p *process) write() {
	p.step("writes")
	p.as(func() {
		if err := p.db.Runs().Record(context.Background(), p.records, false); err != nil {
			p.world.Fatal(err)
		}
	})
}

// run begins a run, which goes on while the tick goes on.
func (p *process) run(record state.Row, task *schedule.Task, lock mutex.Lock) {
	err := error(nil)
	p.as(func() { err = p.own().Begin(context.Background(), record) })
	if err != nil {
		p.world.fail("a run cannot begin: %v", err)
		return
	}
	p.runs.Go(func() {
		defer func() {
			if cause := recover(); cause != nil && cause != any(errKilled) {
				panic(cause)
			}
		}()
		p.execute(record, task, lock)
	})
}

// execute is a run from its row to its end: see run.Run.supervise.
func (p *process) execute(record state.Row, task *schedule.Task, lock mutex.Lock) {
	r := p.world.dice(p.name, record.Task, record.Slot, p.minute)
	lost, renewer := p.leases.Renew(context.Background(),
		leases.Terms{Lock: lock, Note: func(string) {}, Stop: task.StopOnLostLease})
	defer renewer.End()
	p.pause(time.Duration(1e6 + r.IntN(3e9)))
	p.step("ready ", task.Name)
	if why := renewer.HeldToStart(); why != "" && !p.world.defects["start"] {
		p.world.note(p.server, "%s does not start: %s", task.Name, why)
		p.world.noteExcuse(record, why)
		p.as(func() { p.end(record.ID, outcome.Failed, why) })
		p.release(lock)
		return
	}
	p.as(func() {
		err := p.own().Apply(context.Background(), state.Start(state.Attempt{Number: 1, At: p.now()}), &record)
		if err != nil {
			p.world.fail("a run cannot start: %v", err)
		}
	})
	if p.killed.Load() {
		return
	}
	took := time.Duration(1e8 + r.IntN(2e10))
	if task.WithoutOverlapping {
		took = time.Duration(r.Int64N(int64(15 * time.Minute)))
	}
	c := p.world.start(p.server, record, task, lock)
	select {
	case <-time.After(took):
	case <-p.dead:
	case <-lost.Done():
		p.world.note(p.server, "%s is stopped: %v", task.Name, context.Cause(lost))
		p.pause(time.Duration(r.Int64N(1 + int64(renewer.KillAfter(10*time.Second)))))
	}
	p.world.stop(c)
	p.server.thaw()
	p.step("ran ", task.Name)
	p.as(func() { p.end(record.ID, outcome.Succeeded, "") })
	renewer.End()
	p.release(lock)
}

func (p *process) release(lock mutex.Lock) {
	if lock != nil {
		p.leases.Drop(lock)
		lock.Release(context.Background())
	}
}
