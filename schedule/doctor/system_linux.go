package doctor

import "golang.org/x/sys/unix"

// clockIsSynchronised asks the kernel (adjtimex(2)).
func clockIsSynchronised() (synchronised, known bool) {
	var clock unix.Timex
	state, err := unix.Adjtimex(&clock)
	if err != nil {
		return false, false
	}
	return state != unix.TIME_ERROR && clock.Status&unix.STA_UNSYNC == 0, true
}

// networks are the magic numbers of file systems on other machines (statfs(2)).
var networks = map[int64]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "CIFS", unix.SMB2_SUPER_MAGIC: "SMB2",
	unix.AFS_SUPER_MAGIC: "AFS", unix.CEPH_SUPER_MAGIC: "Ceph", unix.V9FS_MAGIC: "9p", unix.CODA_SUPER_MAGIC: "Coda",
}

// networkFileSystem returns the name of the file system of a folder where that is on another machine; else "".
func networkFileSystem(dir string) string {
	var disk unix.Statfs_t
	if unix.Statfs(existing(dir), &disk) != nil {
		return ""
	}
	return networks[int64(disk.Type)]
}
