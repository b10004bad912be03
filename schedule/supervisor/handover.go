package supervisor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/run"
	"sched/schedule/runfile"
	"sched/schedule/supervisor/witness"
)

// A Handover gives the background runs of a tick to supervisors: one for all, but for the runs in a spare state folder, and
// where there are more than one process may have open. Safe for concurrent use.
type Handover struct {
	Self    string   // the path of sched
	Environ []string // of the tick

	mu      sync.Mutex
	newest  map[string]*link // by the state folder
	earlier []*link
	failed  map[string]error // why there is none for a state folder: this was tried for long enough
}

// A link is the tick's end of the socket to a supervisor.
type link struct {
	supervisor string
	socket     *net.UnixConn
	given      int // runs
}

// sendPatience bounds the wait for a supervisor that does not read. One that was stopped is left alone, and the runs go to
// another.
const sendPatience = 5 * time.Second

// Give gives a run to a supervisor, which it starts where there is none. Then this process has no part in the run any more. After
// an error the run still belongs to this process.
func (h *Handover) Give(r *run.Run) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, err := h.link(r.Storage)
	if err != nil {
		return err
	}
	if err = l.give(r); err != nil {
		h.leave(r.Dir) // witness and supervisor were killed, or stand still
		if l, err = h.link(r.Storage); err == nil {
			err = l.give(r)
		}
	}
	if err != nil {
		return err
	}
	r.Close()
	return nil
}

// Ahead starts the supervisor for the runs of the state folder, which gets ready meanwhile. The first Give returns the error.
func (h *Handover) Ahead(storage run.Storage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.link(storage)
}

// Await waits until the commands of all runs that were given so far have been started, for as long as that may take at most. It is to
// be called once.
func (h *Handover) Await(atMost time.Duration) {
	h.mu.Lock()
	given := map[*net.UnixConn]int{}
	for _, l := range h.newest {
		given[l.socket] = l.given
	}
	h.mu.Unlock()
	end := time.Now().Add(atMost)
	for socket, runs := range given {
		socket.SetReadDeadline(end)
		for begun, answer := 0, make([]byte, 256); begun < runs; {
			n, err := socket.Read(answer)
			if err != nil {
				return
			}
			begun += n
		}
	}
}

// Close tells the supervisors that they have got all runs. They end with the last of them.
func (h *Handover) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for dir := range h.newest {
		h.leave(dir)
	}
	for _, l := range h.earlier {
		l.socket.SetWriteDeadline(time.Now().Add(sendPatience))
		l.socket.Write([]byte{noMore})
		l.socket.Close()
	}
	h.earlier = nil
}

// leave has the next run of the folder start another supervisor.
func (h *Handover) leave(dir string) {
	h.earlier = append(h.earlier, h.newest[dir])
	delete(h.newest, dir)
}

// link returns the link to the supervisor for the next run of the state folder, which it starts if need be.
func (h *Handover) link(storage run.Storage) (*link, error) {
	if l := h.newest[storage.Dir]; l != nil {
		if l.given < mostRuns() {
			return l, nil
		}
		h.leave(storage.Dir)
	}
	if err := h.failed[storage.Dir]; err != nil {
		return nil, err
	}
	l, err := h.start(storage)
	if h.newest == nil {
		h.newest, h.failed = map[string]*link{}, map[string]error{}
	}
	if err != nil {
		h.failed[storage.Dir] = err
		return nil, err
	}
	h.newest[storage.Dir] = l
	return l, nil
}

// start starts a witness, which starts its supervisor.
func (h *Handover) start(storage run.Storage) (*link, error) {
	id := outcome.NewID()
	file, err := runfile.CreateSupervisor(storage.Dir, id)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	ours, theirs, err := socketpair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	argv := append([]string{h.Self}, witness.Arguments(id)...)
	env := process.Environ(h.Environ, schedule.Task{}, storage.Variables()...)
	// In a session of its own, and without a pipe of its caller, or cron would wait for it.
	_, err = process.Program{Path: h.Self, Argv: argv, Dir: "/", Env: env, Inherit: []*os.File{file, theirs}, How: &syscall.SysProcAttr{Setsid: true}}.Fork()
	if err != nil {
		ours.Close()
		os.Remove(file.Name())
		return nil, fmt.Errorf("cannot start the supervisor: %w", err)
	}
	return &link{supervisor: id, socket: ours}, nil
}

// give passes the run on.
func (l *link) give(r *run.Run) error {
	d, err := r.GiveTo(l.supervisor)
	if err != nil {
		return err
	}
	l.given++
	files := append([]*os.File{d.Runfile, d.Output}, d.Locks...)
	var fds []int
	for _, file := range files {
		fds = append(fds, int(file.Fd()))
	}
	for end := time.Now().Add(sendPatience); ; time.Sleep(10 * time.Millisecond) {
		l.socket.SetWriteDeadline(end)
		_, _, err = l.socket.WriteMsgUnix([]byte{oneRun}, unix.UnixRights(fds...), nil)
		if !errors.Is(err, unix.ETOOMANYREFS) || time.Now().After(end) { // the descriptors on their way count as open (unix(7))
			return err
		}
	}
}

// socketpair returns both ends of a socket. No process inherits them unless they are passed to it.
func socketpair() (ours *net.UnixConn, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(ends[0])
		unix.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	theirs = os.NewFile(uintptr(ends[1]), "the socket of a supervisor")
	ours, err = connection(os.NewFile(uintptr(ends[0]), "the socket to a supervisor"))
	if err != nil {
		theirs.Close()
	}
	return ours, theirs, err
}

// connection returns the socket of a file, which it closes.
func connection(file *os.File) (*net.UnixConn, error) {
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, errors.New("it is no socket of ours")
	}
	return socket, nil
}

// A supervisor has this many descriptors open at most: for each run, and others.
const perRun, otherDescriptors = 8, 64

// mostRuns is how many runs one supervisor may get: each needs a few descriptors, of which a process may have so many.
var mostRuns = sync.OnceValue(func() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Max > 1<<20 {
		return 1 << 20 / perRun
	}
	return max(1, (int(limit.Max)-otherDescriptors)/perRun)
})
