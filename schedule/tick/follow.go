package tick

import (
	"io"
	"os"
	"time"

	"sched/schedule/statedir"
)

// followEvery is how often follow looks at the output of a running command: often enough for the
// eye.
const followEvery = 50 * time.Millisecond

// follow copies what is appended to the file at path, until ended is closed and everything was
// copied. It leaves out the holes that a limit of the output has made.
func follow(path string, out io.Writer, ended <-chan struct{}) {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return
	}
	defer file.Close()
	for at, last := int64(0), false; !last; {
		select {
		case <-ended:
			last = true
		case <-time.After(followEvery):
		}
		info, err := file.Stat()
		if err != nil {
			return
		}
		for at < info.Size() {
			from, to := statedir.NextData(file, at, info.Size())
			io.Copy(out, io.NewSectionReader(file, from, to-from))
			at = to
		}
	}
}
