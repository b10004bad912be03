// Package supervise has the supervisor of runs: it waits until a run may start, starts its command
// as often as the task says, watches it and ends it.
//
// The supervisor of the background runs of a tick is a process: their commands are its children.
// The tick starts it by a witness when it has the first such run. The witness only waits for the
// supervisor. On Linux the commands become children of the witness when the supervisor is killed.
// Then the witness becomes a supervisor itself, and goes on with them. If the witness was killed,
// too, the next tick takes their runs, and finishes them as lost (run.Caller.Collect).
package supervise

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"sched/schedule/notify"
	"sched/schedule/process"
	"sched/schedule/run"
	"sched/schedule/run/handover"
	"sched/schedule/run/holding"
	"sched/schedule/run/lease"
	"sched/schedule/run/ownrow"
	"sched/schedule/run/triggered"
	"sched/schedule/state"
)

// A supervisor watches runs in this process.
type supervisor struct {
	caller          run.Caller
	queue           *queueView // what its runs that wait have seen
	finishes        *handover.FinishStarter
	terminate, kill context.Context
	runs            sync.WaitGroup

	known        sync.Map     // the ids of the runs that it got; the values mean nothing
	lastReceived atomic.Int64 // when the newest of them came, in nanoseconds since 1970

	// awaitingMessage has the rows that were read, and whose messages have yet to come. Only
	// receive uses it.
	awaitingMessage map[string]state.Row
}

// Background is the supervisor with the id: it watches the runs that it gets until the last of them
// has ended. With takeOver it stands in the place of a killed supervisor, whose commands are now
// children of this process: first it takes over the runs of that supervisor. When terminate is done
// it stops their commands, when kill is done too it kills them. The path program is sched itself.
// An error says that this process cannot become that supervisor: it has not inherited what a
// witness leaves it.
func Background(terminate, kill context.Context, caller run.Caller, program, id string, takeOver bool) error {
	owner, file, runs, err := handover.Inherit(caller.DB, id)
	if err != nil {
		return err
	}
	if !takeOver { // else this is a subreaper already, and the killed one's commands wait for Adopt as zombies
		process.AdoptOrphans()
	}
	caller.Self = caller.DB.As(owner)
	os.Stderr = file // what a supervisor cannot write down elsewhere
	debug.SetCrashOutput(file, debug.CrashOptions{})
	caller.Leases, caller.Terminate = &lease.Keeper{}, terminate
	defer context.AfterFunc(terminate, func() { triggered.Hold(caller.Dir) })() // runs that are ended start no others
	s := &supervisor{caller: caller, queue: &queueView{}, terminate: terminate, kill: kill}
	s.finishes = &handover.FinishStarter{Program: program, AwaitStarts: s.awaitStarts}
	if takeOver {
		s.runs.Go(s.goOnWithKilled)
	}
	if !s.receive(runs) { // there may be rows of this one that did not come, or could not be read
		s.goOnWithAll(func(state.Row) bool { return true })
	}
	watching, stop := context.WithCancel(context.Background())
	go state.CloseWhileIdle(watching, s.caller.DB)
	defer time.AfterFunc(startsPatience, giveBackMemory).Stop()
	s.runs.Wait()
	stop()
	runs.Close()
	if info, err := file.Stat(); err != nil || info.Size() > 0 {
		owner.Close() // but it does not resign: the file has messages for people, and stays
		return nil
	}
	caller.Self.Close()
	return nil
}

// receive begins to watch each run that the tick gives. It returns when there are no more, and
// reports whether it watches all.
func (s *supervisor) receive(from *handover.Inbox) (all bool) {
	all = true
	for {
		id, files, err := from.Receive()
		if err != nil {
			return all && err == handover.ErrNoMore
		}
		if !s.watch(id, files) {
			all = false
		}
	}
}

// watch begins to supervise the run of a message, unless it was taken over. It reports false if the
// run has yet to be taken over, because its row could not be read.
func (s *supervisor) watch(id string, files []*os.File) bool {
	if !s.register(id) {
		closeAll(files)
		return true
	}
	r, err := s.take(id, files, s.takeAwaiting) // here, because each goroutine would have to grow a stack for it
	if err == nil {
		s.runs.Go(func() { s.supervise(r, nil) })
		return true
	}
	if state.Unwritable(err) { // as on a full disk; nobody else has the files
		s.runs.Go(func() { s.watchLater(id, files) })
		return true
	}
	fmt.Fprintf(os.Stderr, "sched: a background run has yet to be taken over: %v\n", err)
	closeAll(files)
	s.known.Delete(id) // so that goOnWithAll may try it
	return false
}

// watchLater is watch for a run whose row cannot be read at this moment.
func (s *supervisor) watchLater(id string, files []*os.File) {
	r, err := s.take(id, files, s.awaitRow)
	if err != nil {
		fmt.Fprintf(os.Stderr, "sched: a background run is left to the next tick: %v\n", err)
		closeAll(files)
		return
	}
	s.supervise(r, nil)
}

func closeAll(files []*os.File) {
	for _, file := range files {
		file.Close()
	}
}

// take takes a run that the tick has handed over, with its files, which belong to it then: its
// output, and then its locks. The function find finds its row among the rows of this process.
func (s *supervisor) take(
	id string, files []*os.File, find func(own state.Owned, id string) (state.Row, error),
) (*run.Run, error) {
	own, err := s.caller.Self.Owned(context.Background())
	if err != nil {
		return nil, err
	}
	row, err := find(own, id)
	if err != nil {
		return nil, err
	}
	r, err := run.Of(s.caller.Process, own, row)
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		r.Output, files = files[0], files[1:]
	}
	r.TakeLock(files)
	return r, nil
}

// takeAwaiting takes the row of a run out of awaitingMessage. If the row is not there, it first
// reads all rows that this process was given, in one step.
func (s *supervisor) takeAwaiting(own state.Owned, id string) (state.Row, error) {
	if _, ok := s.awaitingMessage[id]; !ok {
		rows, err := own.Rows(context.Background(), true)
		if err != nil {
			return state.Row{}, err
		}
		s.awaitingMessage = map[string]state.Row{}
		for _, row := range rows {
			s.awaitingMessage[row.ID] = row
		}
	}
	row, ok := s.awaitingMessage[id]
	if !ok {
		return state.Row{}, fmt.Errorf("run %s was not given to this process", id)
	}
	delete(s.awaitingMessage, id)
	return row, nil
}

// awaitRow reads the row of a run as soon as that is possible.
func (s *supervisor) awaitRow(own state.Owned, id string) (row state.Row, err error) {
	err = ownrow.Persistence{Ending: s.terminate}.Read(func() (err error) {
		row, err = s.caller.DB.Runs().Row(context.Background(), id)
		return err
	})
	if err == nil && row.Owner != own.ID {
		err = fmt.Errorf("run %s was not given to this process", id)
	}
	return row, err
}

const (
	// startsInterval is the longest time between two runs of a tick that count as one stream.
	startsInterval = 20 * time.Millisecond
	// startsPatience bounds how long the hooks of a run wait for the starts of others.
	startsPatience = time.Second
)

// awaitStarts waits while other runs come. Otherwise, of a thousand short commands, the `finish`
// processes of the first would run beside the starts of the last.
func (s *supervisor) awaitStarts() {
	for end := time.Now().Add(startsPatience); time.Now().Before(end); {
		quiet := time.Since(time.Unix(0, s.lastReceived.Load()))
		if quiet < 0 || quiet >= startsInterval { // below 0 the clock was set back
			return
		}
		time.Sleep(startsInterval - quiet)
	}
}

// messagePatience is how long a run that has not begun is left to the message of the tick, which
// brings its descriptors.
const messagePatience = time.Second

// goOnWithKilled takes over the runs of a killed supervisor: first the runs that it had started,
// and after messagePatience the others.
func (s *supervisor) goOnWithKilled() {
	s.goOnWithAll(func(row state.Row) bool { return hasStarted(s.caller.Process, row) })
	time.Sleep(messagePatience)
	s.goOnWithAll(func(state.Row) bool { return true })
}

// goOnWithAll takes over the runs of this owner that wanted accepts. The killed supervisor had
// them, or the tick had written them down as given and was killed before it sent them.
func (s *supervisor) goOnWithAll(wanted func(state.Row) bool) {
	own, err := s.caller.Self.Owned(context.Background())
	var rows []state.Row
	if err == nil {
		err = ownrow.Persistence{Ending: s.terminate}.Read(func() (err error) {
			rows, err = own.Rows(context.Background(), false)
			return err
		})
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "sched: background runs are left to the next tick: %v\n", err)
		return
	}
	for _, row := range rows {
		if !wanted(row) || !s.register(row.ID) {
			continue
		}
		s.runs.Go(func() { // each by itself, because one may have to wait for its output
			r, left, err := goOnWith(s.caller.Process, row)
			if err != nil {
				fmt.Fprintf(os.Stderr, "sched: a background run cannot be taken over: %v\n", err)
				return
			}
			s.supervise(r, left)
		})
	}
}

// hasStarted reports whether a command or a hook of the run was started, even if that could not be
// written down.
func hasStarted(p holding.Process, row state.Row) bool {
	if row.Attempted() || run.UnrecordedStarts(p.Dir, row) > 0 {
		return true
	}
	hooks, err := p.DB.Hooks(context.Background(), row.ID)
	return err == nil && len(hooks) > 0
}

// register notes that this process has a run, and reports whether the run is new to it.
func (s *supervisor) register(id string) bool {
	_, known := s.known.LoadOrStore(id, true)
	s.lastReceived.Store(time.Now().UnixNano())
	return !known
}

// giveBackMemory gives back the garbage of starts and, three times, half of each stack in no use.
func giveBackMemory() {
	for range 3 {
		debug.FreeOSMemory()
	}
}

// supervise supervises a run to the end of its command, and starts its `sched finish`. A run
// without hooks ends here.
func (s *supervisor) supervise(r *run.Run, left *leftover) {
	r.Terminate = s.terminate
	defer r.Unreaped.Reap()
	r.Sender = notify.NewSender(s.kill, r.DB, r.Environ)
	if left.next(&r.Own.Row) == run.FireHooks { // the supervisor before this one was killed before it could do so
		s.finish(r, nil)
	} else if result, leftToTick := s.awaitResult(r, left); !leftToTick {
		s.finish(r, result)
	}
}

// finish writes down the result of a background run. Then it ends the run, or hands it over to its
// `sched finish`. Without a result the row has it.
func (s *supervisor) finish(r *run.Run, result *state.Row) {
	unrecorded := false
	if result == nil {
		result = new(r.Own.WithoutSnapshot())
	} else if run.EndsAtOnce(&r.Task) {
		r.Sender.Wait(s.terminate, startDeliveryPatience)
		run.Finish(r, *result)
		return
	} else {
		if unrecorded = r.RecordResult(*result) != nil; !unrecorded {
			r.Unreaped.Reap()
		}
		r.Sender.Wait(s.terminate, startDeliveryPatience)
	}
	// If the result could not be written, as on a full disk, this process alone knows it: the exit
	// code alone is no proof of a result.
	if unrecorded || s.finishes.Start(r) != nil { // this process finishes the run
		run.FinishAndSend(r, *result)
	}
}

// awaitResult waits until a background run has its mutex and its seat, runs its command, and
// returns the result. If leftToTick is true, a later tick goes on with the run: it waits on, or its
// next attempt was deferred.
func (s *supervisor) awaitResult(r *run.Run, left *leftover) (result *state.Row, leftToTick bool) {
	if left.next(&r.Own.Row) == run.Queue {
		if result, leftToTick = awaitLock(r, s.queue, s.terminate); leftToTick {
			r.Close()
		}
		if leftToTick || result != nil {
			return result, leftToTick
		}
		left, r.TakenOver = nil, false // nothing of it had started before
	}
	result = supervise(r, left, s.terminate, s.kill)
	if result.Outcome == "" {
		r.Release()
		return result, true
	}
	return result, false
}

// startDeliveryPatience is how long a supervisor waits, when the command has ended, until messages
// about the start are delivered. The run's lock is held meanwhile.
const startDeliveryPatience = 5 * time.Second
