// Package handover gives runs from one process to the next. The tick starts a witness, and sends
// the runs through a socket (Supervisors). The witness starts the supervisor (Witness), which
// inherits the other end of the socket (Inherit). The supervisor starts `sched finish`
// (FinishStarter), which inherits the locks of its runs (Finish).
package handover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/output"
	"sched/schedule/process"
	"sched/schedule/run"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// Supervisors are the supervisors of one tick, to which it gives its background runs: one for all
// runs, or more if one process may not have that many descriptors open. Safe for concurrent use.
type Supervisors struct {
	Self    string   // the path of sched
	Environ []string // of the tick

	mu       sync.Mutex
	current  *link   // to the supervisor that gets the next run; nil if it has yet to be started
	retired  []*link // to supervisors that get no other run
	startErr error   // why no supervisor could be started; it is not tried again
}

// A link is the tick's end of the socket to a supervisor.
type link struct {
	supervisor *state.Owner
	socket     *net.UnixConn
	given      int // how many runs it got
}

// sendPatience bounds the wait for a supervisor that does not read. A supervisor that was stopped
// is left alone, and the runs go to another.
const sendPatience = 5 * time.Second

// Begin begins prepared runs of one storage as runs of a supervisor, all or none, with one write.
// If no supervisor runs, Begin starts one. From here on the runs live as long as the supervisor or
// its witness lives. The caller gives each of them next (HandOver). After an error all are still
// prepared.
func (s *Supervisors) Begin(prepared ...*run.Prepared) (begun []*run.Run, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.linkFor(prepared[0].Storage())
	if err != nil {
		return nil, err
	}
	return run.BeginAs(l.supervisor, prepared...)
}

// HandOver gives a run that has begun to a supervisor. If no supervisor runs, HandOver starts one.
// The run and its lock belong to the supervisor then. After an error both still belong to this
// process.
func (s *Supervisors) HandOver(r *run.Run) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Output == nil { // a deferred retry: its output follows the output of the attempts before
		if r.Output, err = output.Open(r.Own.Output); err != nil {
			return err
		}
	}
	for range 2 { // witness and supervisor may have been killed, or stand still
		var l *link
		if l, err = s.linkFor(r.Storage); err != nil {
			break
		}
		if err = r.Own.HandOver(l.supervisor.ID); err != nil {
			break
		}
		if err = l.send(r); err == nil {
			l.given++
			r.Close()
			return nil
		}
		s.retire()
	}
	// If the row cannot be taken back, a witness has begun the run, or the database cannot be
	// written: the run stays with the supervisor.
	if r.Own.Take() != nil {
		r.Close()
		return nil
	}
	return err
}

// StartAhead starts the supervisor for the runs of the storage, so that it gets ready meanwhile.
// The first HandOver returns the error.
func (s *Supervisors) StartAhead(storage holding.Storage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.linkFor(storage)
}

// Close tells the supervisors that they have all their runs. A supervisor ends with its last run.
func (s *Supervisors) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retire()
	for _, l := range s.retired {
		l.socket.SetWriteDeadline(time.Now().Add(sendPatience))
		l.socket.Write([]byte{noMore})
		l.socket.Close()
	}
	s.retired = nil
}

// retire keeps further runs from the current supervisor: the next run starts another one.
func (s *Supervisors) retire() {
	if s.current != nil {
		s.retired, s.current = append(s.retired, s.current), nil
	}
}

// linkFor returns the link to the supervisor for the next run. If there is no such supervisor, it
// starts one.
func (s *Supervisors) linkFor(storage holding.Storage) (*link, error) {
	if s.current != nil && s.current.given >= maxRuns() {
		s.retire()
	}
	if s.current == nil && s.startErr == nil {
		s.current, s.startErr = s.startOne(storage)
	}
	return s.current, s.startErr
}

// startOne starts a witness, which starts its supervisor.
func (s *Supervisors) startOne(storage holding.Storage) (*link, error) {
	owner, err := storage.DB.Owners().New(state.Supervisor)
	if err != nil {
		return nil, err
	}
	defer owner.Close()
	ours, theirs, err := socketpair()
	if err != nil {
		return nil, errors.Join(err, owner.Release())
	}
	defer theirs.Close()
	// In a session of its own, and without a pipe of its caller, or cron would wait for it.
	witness := process.Program{
		Path:    s.Self,
		Argv:    []string{s.Self, witnessCommand, strconv.FormatInt(owner.ID, 10)},
		Dir:     "/",
		Env:     process.Environ(s.Environ, schedule.Task{}, storage.Variables()...),
		Inherit: append(owner.Files(), theirs),
		Attr:    &syscall.SysProcAttr{Setsid: true},
		Adopts:  true,
	}
	if _, err := witness.Fork(); err != nil {
		ours.Close()
		return nil, errors.Join(fmt.Errorf("cannot start the supervisor: %w", err), owner.Release())
	}
	// The first write of a tick waits for the disk. The supervisor gets ready meanwhile.
	if err := owner.Enroll(context.Background(), storage.DB); err != nil {
		ours.Write([]byte{noMore}) // the supervisor ends, even if it cannot look for runs
		ours.Close()
		return nil, err
	}
	return &link{supervisor: owner, socket: ours}, nil
}

// send sends the supervisor the run with its descriptors: of its output, and then of its locks.
func (l *link) send(r *run.Run) error {
	files := append([]*os.File{r.Output}, r.LockFiles()...)
	var fds []int
	for _, file := range files {
		fds = append(fds, int(file.Fd()))
	}
	for end := time.Now().Add(sendPatience); ; time.Sleep(10 * time.Millisecond) {
		l.socket.SetWriteDeadline(end)
		_, _, err := l.socket.WriteMsgUnix(append([]byte{oneRun}, r.Own.ID...), unix.UnixRights(fds...), nil)
		// Descriptors that were sent and not yet received count as open (unix(7)): try again.
		if !errors.Is(err, unix.ETOOMANYREFS) || time.Now().After(end) {
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

// How many descriptors a supervisor has open at most: for each run, and besides.
const descriptorsPerRun, otherDescriptors = 8, 64

// maxRuns returns how many runs one supervisor may get: each run needs a few descriptors, and the
// kernel limits the descriptors of a process.
var maxRuns = sync.OnceValue(func() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Max > 1<<20 {
		return 1 << 20 / descriptorsPerRun
	}
	return max(1, (int(limit.Max)-otherDescriptors)/descriptorsPerRun)
})

// The descriptors that a witness and its supervisor inherit from the tick.
const (
	fileDescriptor   = 3 // the file of the supervisor, locked
	socketDescriptor = 4
)

// witnessCommand is the command of sched that is a witness. The id of the supervisor follows it.
const witnessCommand = "witness"

// IsWitness reports whether a process was started as a witness: by its arguments after the path,
// and by what it has inherited.
func IsWitness(args []string) bool {
	return len(args) == 2 && args[0] == witnessCommand &&
		isOpenOn(unix.S_IFREG, fileDescriptor) && isOpenOn(unix.S_IFSOCK, socketDescriptor)
}

// isOpenOn reports whether the descriptor is open on a file of that type (unix.S_IFMT).
func isOpenOn(fileType uint32, descriptor int) bool {
	var info unix.Stat_t
	return unix.Fstat(descriptor, &info) == nil && uint32(info.Mode)&unix.S_IFMT == fileType
}

// Witness starts the supervisor with the sched at the path program, waits for it, and returns 0
// when it has ended well. Otherwise this process becomes a supervisor in its place. On Linux it is
// the parent of the commands by then, because processes that its descendants leave behind become
// its children. Witness returns 1 only if it cannot become a supervisor.
//
// A witness is no shell: a shell that waits takes the exit codes of all its children, also of the
// commands that the supervisor had started (docs/internals/decisions.md#the-witness-is-no-shell).
func Witness(program, id string, environ []string) (code int) {
	process.BecomeSubreaper()
	supervisor, err := syscall.ForkExec(program, []string{program, "start", id}, &syscall.ProcAttr{
		Env: environ, Files: []uintptr{0, 1, 2, fileDescriptor, socketDescriptor},
	})
	if err == nil && process.AwaitChild(supervisor) {
		return 0
	}
	err = syscall.Exec(program, []string{program, "finish", "--tick", id}, environ)
	fmt.Fprintf(os.NewFile(fileDescriptor, ""), "sched: nobody goes on with these runs: exec %s: %v\n", program, err)
	return 1
}

// errNoWitness says that the process that started this one is no witness.
var errNoWitness = errors.New("start is what sched run calls for background tasks")

// Inherit returns this process as the owner with the id, the file of that owner, and the runs that
// the tick gives. It inherited the file, and the socket to the tick.
func Inherit(db *state.DB, id string) (*state.Owner, *os.File, *Inbox, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, nil, nil, errNoWitness
	}
	owner, ok := db.Owners().Inherited(n, state.Supervisor, fileDescriptor)
	if !ok || !isOpenOn(unix.S_IFSOCK, socketDescriptor) {
		return nil, nil, nil, errNoWitness
	}
	unix.CloseOnExec(socketDescriptor)
	socket, err := connection(os.NewFile(socketDescriptor, "the socket to a tick"))
	return owner, owner.Files()[0], &Inbox{socket}, err
}

// A message of a tick to its supervisor begins with one of these bytes.
const (
	oneRun = 'r' // the id of a run follows, with its descriptors (link.send)
	noMore = 'e' // the tick has given all runs
)

// messageBytes is how long the message of a run is.
const messageBytes = 1 + 36

// An inbox is the supervisor's end of the socket to a tick.
type Inbox struct{ socket *net.UnixConn }

// ErrNoMore says that the tick has given all runs.
var ErrNoMore = errors.New("the tick has given all runs")

// Receive returns the id of the next run that the tick gives, and its descriptors: of its output,
// and then of its locks. The error is ErrNoMore when there are no more. Any other error says that
// the tick was killed, which may have written down that this process has a run, and not sent it.
func (i *Inbox) Receive() (id string, files []*os.File, err error) {
	message, rights := make([]byte, messageBytes), make([]byte, unix.CmsgSpace(4*4))
	n, extra, _, _, err := i.socket.ReadMsgUnix(message, rights)
	switch {
	case err != nil || n == 0:
		return "", nil, cmp.Or(err, io.EOF)
	case message[0] == noMore:
		return "", nil, ErrNoMore
	}
	_, err = io.ReadFull(i.socket, message[n:])
	return string(message[1:]), descriptors(rights[:extra]), err
}

func (i *Inbox) Close() error { return i.socket.Close() }

// descriptors returns the files that came with a message.
func descriptors(rights []byte) (files []*os.File) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) == 0 {
		return nil
	}
	fds, _ := unix.ParseUnixRights(&messages[0])
	for _, fd := range fds {
		files = append(files, os.NewFile(uintptr(fd), "the output or a lock of a run"))
	}
	return files
}
