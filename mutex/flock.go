package mutex

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/statedir"
)

// folderTimeout bounds the wait for a process that stopped while it opened or broke a lock.
const folderTimeout = 2 * time.Second

// lockFolder locks the folder of the locks until the result is closed. No other process opens or
// breaks a lock meanwhile: it could lock a file that another has just removed.
func (s Files) lockFolder(ctx context.Context) (*os.File, error) {
	folder, err := statedir.OpenDir(s.Dir)
	if errors.Is(err, os.ErrNotExist) {
		if err := statedir.MakeDir(s.Dir); err != nil {
			return nil, err
		}
		folder, err = statedir.OpenDir(s.Dir)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, folderTimeout)
	defer cancel()
	for {
		err := flock(folder, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return folder, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || ctx.Err() != nil {
			folder.Close()
			return nil, fmt.Errorf("lock the folder %s: %w", s.Dir, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// flock is flock(2), again after a signal.
func flock(file *os.File, how int) error {
	for {
		err := unix.Flock(int(file.Fd()), how)
		if err != unix.EINTR {
			return err
		}
	}
}
