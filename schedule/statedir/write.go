package statedir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Open opens a file that only we may read, and makes its folder (mode 0700) and the file if flags
// say so. It tries the file first: the folder is missing only once. See OpenPlain.
func Open(path string, flags int) (*os.File, error) {
	file, err := OpenPlain(path, flags)
	if errors.Is(err, os.ErrNotExist) && flags&os.O_CREATE != 0 {
		if err = MakeDir(filepath.Dir(path)); err == nil {
			file, err = OpenPlain(path, flags)
		}
	}
	return file, err
}

// MakeDir makes a folder (mode 0700), and the folders above it, if they are missing. A link to
// nowhere is an error that says that the folder cannot be written (Unwritable).
func MakeDir(path string) error {
	err := os.MkdirAll(path, 0o700)
	if wrong, ok := errors.AsType[*os.PathError](err); ok && errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is a link that leads nowhere: %w", wrong.Path, unix.ENOTDIR)
	}
	return err
}

// ReadAll reads what the file has at this moment, from its beginning and with one read(2). A file
// of more than LargestRead bytes is an error.
func ReadAll(file *os.File) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > LargestRead {
		return nil, fmt.Errorf("%s is larger than %d MiB", file.Name(), LargestRead>>20)
	}
	text := make([]byte, info.Size())
	n, err := file.ReadAt(text, 0)
	if errors.Is(err, io.EOF) { // it was cut meanwhile
		err = nil
	}
	return text[:n], err
}

// Replace makes text the content of the file at path, in one step: a kill or a power cut at any
// moment leaves the old file or the new one. The folder must be there. Of two processes that
// replace the same file at the same moment one may fail, unless a lock keeps them apart.
func Replace(path string, text []byte) error {
	draft := path + ".new"
	if err := WriteSynced(draft, text); err != nil {
		return err
	}
	if err := os.Rename(draft, path); err != nil {
		os.Remove(draft)
		return err
	}
	SyncDir(filepath.Dir(path))
	return nil
}

// WriteSynced writes a file that only we may read, and syncs it to disk. If its folder is missing,
// it is made. After an error there is no file.
func WriteSynced(path string, text []byte) error {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	file, err := Open(path, flags)
	var wrong *NotPlainError
	if errors.As(err, &wrong) && os.Remove(path) == nil { // it is in the place of a draft, which nobody keeps
		file, err = Open(path, flags)
	}
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// SyncDir makes what was renamed in a folder survive a power cut, if the file system can.
func SyncDir(path string) {
	if dir, err := OpenDir(path); err == nil {
		dir.Sync()
		dir.Close()
	}
}
