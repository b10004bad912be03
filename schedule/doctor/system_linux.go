package doctor

import (
	"golang.org/x/sys/unix"
)

// clockIsSynchronised reports what the kernel knows (adjtimex(2)). known is false if it cannot be
// asked, as in some containers.
func clockIsSynchronised() (synchronised, known bool) {
	var clock unix.Timex
	state, err := unix.Adjtimex(&clock)
	if err != nil {
		return false, false
	}
	return state != unix.TIME_ERROR && clock.Status&unix.STA_UNSYNC == 0, true
}

// networkFileSystems are file systems on other machines, by their magic numbers (statfs(2)).
var networkFileSystems = map[int64]string{
	unix.NFS_SUPER_MAGIC:  "NFS",
	unix.SMB_SUPER_MAGIC:  "SMB",
	unix.CIFS_SUPER_MAGIC: "CIFS",
	unix.SMB2_SUPER_MAGIC: "SMB2",
	unix.AFS_SUPER_MAGIC:  "AFS",
	unix.CEPH_SUPER_MAGIC: "Ceph",
	unix.V9FS_MAGIC:       "9p",
	unix.CODA_SUPER_MAGIC: "Coda",
}

// networkFileSystem returns the name of the file system of a folder, which exists, if it is on
// another machine; else "".
func networkFileSystem(dir string) string {
	var disk unix.Statfs_t
	if unix.Statfs(dir, &disk) != nil {
		return ""
	}
	return networkFileSystems[int64(disk.Type)]
}
