package work

import (
	"context"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// linkDescriptor is the descriptor of a tick's socket to the `sched work` that started it.
const linkDescriptor = 3

// A Link is a tick's end of the socket to its `sched work`. The tick writes a byte when its minute
// is covered in the ledger. Only then the next tick starts, so minutes are covered in order. `sched
// work` writes a byte to stop new starts. If either is killed, the other goes on.
type Link struct{ socket *os.File }

// InheritLink returns the link that this process inherited. The processes that it starts do not
// inherit the link.
func InheritLink() (*Link, error) {
	var stat unix.Stat_t
	if unix.Fstat(linkDescriptor, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, errors.New("no sched work started this tick")
	}
	unix.CloseOnExec(linkDescriptor)
	return &Link{os.NewFile(linkDescriptor, "the link to sched work")}, nil
}

// newLink returns both ends of a new link. A process inherits an end only if the end is passed to
// it.
func newLink() (worker, tick *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	unix.CloseOnExec(ends[0])
	unix.CloseOnExec(ends[1])
	return os.NewFile(uintptr(ends[0]), "the link to a tick"), os.NewFile(uintptr(ends[1]), "the link of a tick"), nil
}

// NoNewStarts returns a context that is done when ctx is done, or when the tick must start nothing
// more.
func (l *Link) NoNewStarts(ctx context.Context) context.Context {
	noNewStarts, cancel := context.WithCancelCause(ctx)
	go func() {
		if n, _ := l.socket.Read(make([]byte, 1)); n > 0 {
			cancel(errors.New("by the end of sched work"))
		}
	}()
	return noNewStarts
}

// Covered lets `sched work` start the next tick. It does nothing for a tick that cron started,
// whose link is nil.
func (l *Link) Covered() {
	if l != nil {
		l.socket.Write([]byte{1})
	}
}
