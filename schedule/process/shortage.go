package process

import (
	"errors"
	"slices"
	"syscall"
	"time"
)

// retryOnShortage calls start, which starts a process or opens a file for one. It calls start again
// while the machine has no room for another process, or for another open file, for shortagePatience
// at most.
func retryOnShortage(start func() error) error {
	end := time.Now().Add(shortagePatience)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		err := start()
		if !isShortage(err) || time.Now().After(end) {
			return err
		}
		time.Sleep(pause)
	}
}

// shortagePatience is how long retryOnShortage tries. Otherwise a moment without room would cost a
// run its hooks for good.
const shortagePatience = 30 * time.Second

// isShortage reports whether an error says that there is no room: EAGAIN and ENOMEM for a process,
// EMFILE and ENFILE for a file.
func isShortage(err error) bool {
	isErrno := func(errno syscall.Errno) bool { return errors.Is(err, errno) }
	return slices.ContainsFunc([]syscall.Errno{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE}, isErrno)
}
