package statedir

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// LargestRead is the most bytes of a file in a state folder that ReadAll reads. It is far beyond
// what is written there: the journal of a tick with 10,000 tasks has some 5 MiB.
const LargestRead = 64 << 20

// A NotPlainError says that there is something else in the place of a file in a state folder: a
// named pipe, for which a process would wait for ever, a device, a folder.
type NotPlainError struct {
	Path string
	Kind string // what it is, in words
}

func (e *NotPlainError) Error() string {
	return fmt.Sprintf("%s is %s, not a file; remove it", e.Path, e.Kind)
}

// OpenPlain is os.OpenFile for a file in a state folder, with mode 0600 for a new one. It waits for
// nothing, and the error is *NotPlainError if something else than a plain file is there.
func OpenPlain(path string, flags int) (*os.File, error) {
	// Without O_NONBLOCK a named pipe would stop us here for ever. On a plain file it has no
	// effect.
	file, err := os.OpenFile(path, flags|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0o600)
	if err != nil {
		if wrong := CheckPlain(path); wrong != nil {
			return nil, wrong // "no such device or address" of a pipe, and "is a directory"
		}
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &NotPlainError{path, kind(info.Mode())}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// CheckPlain returns a *NotPlainError if something is at the path, or at the end of a link there,
// that is no plain file. It opens nothing.
func CheckPlain(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return &NotPlainError{path, kind(info.Mode())}
	}
	return nil
}

// ReadFile is os.ReadFile for a file in a state folder: see OpenPlain and ReadAll.
func ReadFile(path string) ([]byte, error) {
	file, err := OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadAll(file)
}

// OpenDir opens a folder, for its lock or to sync it. It waits for nothing.
func OpenDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
