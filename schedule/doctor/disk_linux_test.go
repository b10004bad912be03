package doctor

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The test uses small real file systems. They are mounted for a thread of its own, which ends with
// the test.
func TestLittleRoomOnTheDiskOfTheStateFolder(t *testing.T) {
	for _, test := range []struct {
		what, options string
		level         Level
		want          string
	}{
		{"room for everything", "size=1g", OK, " free"},
		{"too little for the history", "size=5m", Bad, "is full"},
		{"enough for some days", "size=100m", Warning, " left"},
		{"no files but a few hundred", "size=1g,nr_inodes=500", Warning, "inodes left"},
	} {
		t.Run(test.what, func(t *testing.T) {
			s := subjectIn(t, "tasks: []")
			if err := os.MkdirAll(s.Schedule.StateDir, 0o700); err != nil {
				t.Fatal(err)
			}
			runtime.LockOSThread() // and never unlocked: no other goroutine sees these mounts
			err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
			if err == nil {
				err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
			}
			if err == nil {
				err = unix.Mount("none", s.Schedule.StateDir, "tmpfs", 0, test.options)
			}
			if err != nil {
				t.Skip("only root may mount: ", err)
			}
			defer unix.Unmount(s.Schedule.StateDir, unix.MNT_DETACH)
			found := checkDisk(context.Background(), s)
			if found[0].Level != test.level || !strings.Contains(found[0].Text, test.want) {
				t.Errorf("%v", found)
			}
		})
	}
}
