package statedir

import (
	"os"

	"golang.org/x/sys/unix"
)

// PunchHole gives the disk back the space of a part of the file. The part then reads as zeros, and
// NextData leaves it out; the size of the file and what is elsewhere in it stay. Some file systems
// cannot.
func PunchHole(file *os.File, from, to int64) error {
	return unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, to-from)
}

// NextData returns the next part of the file, from offset on, that is no hole. Behind the last such
// part both are the size of the file. If the file system cannot tell, all is data.
func NextData(file *os.File, offset, size int64) (from, to int64) {
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
