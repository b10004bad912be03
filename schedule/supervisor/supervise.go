package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sched/mutex/queue"
	"sched/schedule/chain"
	"sched/schedule/lease"
	"sched/schedule/run"
	"sched/schedule/runfile"
	"sched/schedule/supervisor/witness"
)

// A message of a tick to its supervisor is one byte, with the descriptors of the run that it gives. The supervisor answers with one
// when it has started the command of the run.
const (
	oneRun = 'r' // the descriptors are those of run.Descriptors, in their order
	noMore = 'e' // the tick has given all runs
)

// A supervisor watches runs in this process.
type supervisor struct {
	id              string
	caller          run.Caller
	finishes        *finishes
	terminate, kill context.Context
	runs            sync.WaitGroup

	mu       sync.Mutex
	mine     map[string]bool // the ids of the runs that it got
	starting int             // runs whose commands are yet to be started
	came     time.Time       // when the newest run came
}

// Supervise is the supervisor with the id: it watches the runs that it gets until the last of them has ended. When terminate is done
// it stops their commands, when kill is done too it kills them. An error says that this process is none that a witness started.
func Supervise(terminate, kill context.Context, caller run.Caller, self, id string) error {
	return watch(terminate, kill, caller, self, id, false)
}

// SuperviseOn is Supervise in the place of a supervisor that was killed, and whose commands are now children of this process: it
// first takes over the runs that it had.
func SuperviseOn(terminate, kill context.Context, caller run.Caller, self, id string) error {
	return watch(terminate, kill, caller, self, id, true)
}

func watch(terminate, kill context.Context, caller run.Caller, self, id string, on bool) error {
	file, socket, err := inherit(caller.Dir, id)
	if err != nil {
		return err
	}
	os.Stderr = file // what a supervisor cannot write down elsewhere
	debug.SetCrashOutput(file, debug.CrashOptions{})
	caller.Leases, caller.Queues = &lease.Leases{}, &queue.Seen{}
	defer context.AfterFunc(terminate, func() { chain.Hold(caller.Dir) })() // runs that are ended start no others
	s := &supervisor{id: id, caller: caller, terminate: terminate, kill: kill, mine: map[string]bool{}}
	s.finishes = &finishes{self: self, startsFirst: s.startsFirst}
	if on {
		s.runs.Go(s.takeOver)
	}
	if !s.receive(socket) {
		s.runs.Go(s.takeOver) // the tick was killed: it may have written down that this one has a run, and not sent it
	}
	s.runs.Wait()
	socket.Close()
	if info, err := file.Stat(); err == nil && info.Size() == 0 {
		os.Remove(file.Name())
	}
	return file.Close()
}

// errStrange says that the process that called this one is no witness.
var errStrange = errors.New("start is what sched run calls for background tasks")

// inherit returns the file of the supervisor and its socket, which this process inherited.
func inherit(dir, id string) (*os.File, *net.UnixConn, error) {
	var there, inherited unix.Stat_t
	path := runfile.SupervisorPath(dir, id)
	if unix.Fstat(witness.File, &inherited) != nil || unix.Lstat(path, &there) == nil && there.Ino != inherited.Ino {
		return nil, nil, errStrange
	}
	if unix.Fstat(witness.Socket, &there) != nil || there.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, nil, errStrange
	}
	unix.CloseOnExec(witness.File)
	unix.CloseOnExec(witness.Socket)
	socket, err := connection(os.NewFile(witness.Socket, "the socket to a tick"))
	return os.NewFile(witness.File, path), socket, err
}

// receive begins to watch each run that the tick gives. It returns when there are no more, and reports whether the tick said so.
func (s *supervisor) receive(socket *net.UnixConn) (all bool) {
	message, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4*4))
	for {
		n, extra, _, _, err := socket.ReadMsgUnix(message, rights)
		switch {
		case err != nil || n == 0:
			return false
		case message[0] == noMore:
			return true
		}
		s.comes()
		begun := func() { s.begun(socket) }
		r, err := s.caller.Receive(descriptors(rights[:extra])) // here, since each goroutine would have to grow a stack for it
		if err != nil {
			fmt.Fprintf(os.Stderr, "sched: a background run cannot be supervised: %v\n", err)
			begun()
			continue
		}
		s.runs.Go(func() { s.watch(r, begun) })
	}
}

// descriptors reads those that came with a message.
func descriptors(rights []byte) (d run.Descriptors) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) == 0 {
		return d
	}
	fds, _ := unix.ParseUnixRights(&messages[0])
	for i, fd := range fds {
		switch i {
		case 0:
			d.Runfile = os.NewFile(uintptr(fd), "the file of a run")
		case 1:
			d.Output = os.NewFile(uintptr(fd), "its output")
		default:
			d.Locks = append(d.Locks, os.NewFile(uintptr(fd), "its lock"))
		}
	}
	return d
}

// watch supervises a run to the end of its command.
func (s *supervisor) watch(r *run.Run, begun func()) {
	s.mu.Lock()
	s.mine[r.Record().Run] = true
	s.mu.Unlock()
	r.Supervise(s.terminate, s.kill, begun, s.finishes.start)
}

// comes notes that a run came that is to be started.
func (s *supervisor) comes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting++
	s.came = time.Now()
}

// begun notes that the command of a run that came was started, or cannot be, and answers the tick.
func (s *supervisor) begun(socket *net.UnixConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting--
	go socket.Write([]byte{oneRun}) // the tick reads no answers while it has other things to do
}

const (
	// startsInterval is the longest time between two runs of a tick that counts as one stream of them.
	startsInterval = 20 * time.Millisecond
	// startsPatience bounds how long the hooks of a run wait for the starts of others.
	startsPatience = time.Second
)

// startsFirst waits while other runs come and are started: of a thousand commands that end at once the first would otherwise have
// their `finish`, a process each, beside the starts of the last.
func (s *supervisor) startsFirst() {
	for end := time.Now().Add(startsPatience); time.Now().Before(end); {
		s.mu.Lock()
		quiet := time.Since(s.came)
		if s.starting > 0 {
			quiet = 0
		}
		s.mu.Unlock()
		if quiet >= startsInterval {
			return
		}
		time.Sleep(startsInterval - quiet)
	}
}

const (
	// takeOverPatience bounds how long a run is tried to be taken over whose file another process has open: a tick that looks
	// for lost runs has it for a moment.
	takeOverPatience = 10 * time.Second
	takeOverPause    = 50 * time.Millisecond
)

// takeOver takes over the runs that were given to this supervisor and that no process has. Those of them that other processes have
// open, or that are still on their way through the socket, are tried again for a while.
func (s *supervisor) takeOver() {
	for end := time.Now().Add(takeOverPatience); s.takeOverFree() > 0 && time.Now().Before(end); {
		time.Sleep(takeOverPause)
	}
}

// takeOverFree takes over what it can, and returns how many runs it could not.
func (s *supervisor) takeOverFree() (busy int) {
	ids, err := runfile.List(s.caller.Dir)
	if err != nil {
		return 1
	}
	for _, id := range ids {
		if s.has(id) {
			continue
		}
		switch r, err := s.caller.TakeOver(id, s.id); {
		case errors.Is(err, runfile.ErrAlive):
			busy++
		case err == nil && r != nil:
			s.runs.Go(func() { s.watch(r, func() {}) })
		}
	}
	return busy
}

func (s *supervisor) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mine[id]
}
