package work

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/statedir"
)

// A WorkingError is the error of Hold while another `sched work` ticks the schedule.
type WorkingError struct{ PID int }

func (e *WorkingError) Error() string {
	return fmt.Sprintf("another sched work (process %d) ticks this schedule", e.PID)
}

// workLock is the file that the `sched work` of the schedule holds (flock(2)). Its content names
// that process, for people.
func workLock(dir string) string { return filepath.Join(dir, "work") }

// Hold makes this process the only `sched work` of the schedule, until it ends or calls release.
// The error is *WorkingError when another `sched work` ticks the schedule.
func Hold(dir string) (release func(), err error) {
	if err := statedir.MakeDir(dir); err != nil {
		return nil, err
	}
	file, err := statedir.OpenPlain(workLock(dir), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	for range 10 { // Running holds it for a moment
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		defer file.Close()
		return nil, &WorkingError{readPID(file)}
	}
	if err == nil {
		_, err = file.WriteAt(fmt.Appendf(nil, "%-10d\n", os.Getpid()), 0)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}

// Running returns the process of the schedule's `sched work`, if there is one. It holds the lock
// only for a moment.
func Running(dir string) (pid int, works bool) {
	file, err := statedir.OpenPlain(workLock(dir), os.O_RDONLY)
	if err != nil {
		return 0, false
	}
	defer file.Close()
	if err := unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		return 0, false
	}
	return readPID(file), true
}

func readPID(file *os.File) (pid int) {
	text := make([]byte, 20)
	n, _ := file.ReadAt(text, 0)
	fmt.Sscan(string(text[:n]), &pid)
	return pid
}
