package statedir

import (
	"errors"
	"syscall"
)

// Unwritable reports whether err says that a folder cannot be written.
func Unwritable(err error) bool {
	for _, e := range []error{syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EACCES, syscall.EPERM, syscall.ENOTDIR, syscall.EIO} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
