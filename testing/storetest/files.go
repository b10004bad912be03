package storetest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"sched/mutex"
)

// HeldFile returns who has a mutex of a machine now, by the lock of its file. A file that cannot be
// read counts as free.
func HeldFile(files mutex.Files, name string) (holder mutex.Holder, held bool) {
	file, err := openLock(files, name)
	if err != nil {
		return holder, false
	}
	defer file.Close()
	if !errors.Is(syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		return holder, false
	}
	json.NewDecoder(file).Decode(&holder)
	return holder, true
}

// LastInFile returns the holder that the file of a mutex names, whether it still has the mutex or
// not; false if the file names no run.
func LastInFile(files mutex.Files, name string) (holder mutex.Holder, ok bool) {
	file, err := openLock(files, name)
	if err != nil {
		return holder, false
	}
	defer file.Close()
	json.NewDecoder(io.LimitReader(file, 4096)).Decode(&holder)
	return holder, holder.Run != ""
}

func openLock(files mutex.Files, name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(files.Dir, name+".lock"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
