package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"sched/schedule"
	"sched/schedule/account"
)

// setNice sets the priority of this thread, and so of the program that replaces it. On Linux each
// thread has a priority of its own.
func setNice(nice *int) error {
	if nice == nil {
		return nil
	}
	err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, *nice)
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("only root can set nice to %d, which is a higher priority than sched has", *nice)
	}
	return err
}

// niceSession gives the session of this process its priority among sessions, where the kernel
// divides the processor between sessions first (autogroup in sched(7)). Elsewhere there is no such
// file. The kernel lets users write such a file only ten times in a second, together.
func niceSession(nice *int) {
	const patience = time.Second
	if nice == nil {
		return
	}
	text := []byte(strconv.Itoa(*nice))
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(patience / 50) {
		if err := os.WriteFile("/proc/self/autogroup", text, 0); !errors.Is(err, syscall.EAGAIN) {
			return
		}
	}
}

// CheckAs returns why this process cannot run a task as that user, and with that priority, on this
// machine. It returns nil if it can.
func CheckAs(as schedule.As) error {
	if _, err := account.Of(as); err != nil || as.Nice == nil {
		return err
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread with the priority ends with this goroutine
		result <- setNice(as.Nice)
	}()
	return <-result
}
