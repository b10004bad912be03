package process

import (
	"strconv"
	"strings"
	"syscall"
)

// readPeak takes the peak memory from what a process wrote that was to become the command
// (writePeak), and returns the rest.
func readPeak(text string) (peak int64, rest string) {
	line, rest, _ := strings.Cut(text, "\n")
	peak, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return 0, text
	}
	return peak, rest
}

// writePeak writes the peak memory of this process, which is about to become a command, to the
// descriptor.
func writePeak(descriptor int) {
	syscall.Write(descriptor, []byte(strconv.FormatInt(ownPeak(), 10)+"\n"))
}

// ownPeak is the peak memory of this process, in units of ru_maxrss.
func ownPeak() int64 {
	var own syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	return int64(own.Maxrss)
}
