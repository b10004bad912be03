package statedir

import (
	"os"

	"golang.org/x/sys/unix"
)

// PunchHole gives the disk back what a part of the file takes. The part then reads as zeros, and DataAt leaves it out; the
// size of the file and what is elsewhere in it stay. Some file systems cannot.
func PunchHole(file *os.File, from, to int64) error {
	return unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, to-from)
}

// Reserve sees to it that the file may grow by so many bytes though the disk gets full meanwhile. The error is that of a disk that is
// full already; some file systems cannot reserve, and promise nothing.
func Reserve(file *os.File, bytes int64) error {
	var stat unix.Stat_t
	if unix.Fstat(int(file.Fd()), &stat) != nil || stat.Blocks*512-stat.Size >= bytes {
		return nil
	}
	err := unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_KEEP_SIZE, stat.Size, 2*bytes)
	if err == unix.ENOSPC || err == unix.EDQUOT {
		return &os.PathError{Op: "write", Path: file.Name(), Err: err}
	}
	return nil
}

// DataAt returns the next part of the file, from offset on, that is no hole; both are the size of the file behind the last
// one. Where the file system cannot tell, all is data.
func DataAt(file *os.File, offset, size int64) (from, to int64) {
	from, err := unix.Seek(int(file.Fd()), offset, unix.SEEK_DATA)
	if err == unix.ENXIO {
		return size, size
	}
	if err != nil {
		return offset, size
	}
	to, err = unix.Seek(int(file.Fd()), from, unix.SEEK_HOLE)
	if err != nil || to > size {
		to = max(from, size)
	}
	return from, to
}
