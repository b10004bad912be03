package state

import (
	"slices"

	"golang.org/x/sys/unix"
)

// networks are the types of file systems whose files are on other machines (statfs(2)): AFS, CIFS,
// SMB, Ceph, 9P, NFS.
var networks = []int64{unix.AFS_SUPER_MAGIC, 0xff534d42, 0xfe534d42, unix.SMB_SUPER_MAGIC, 0x00c36400, unix.V9FS_MAGIC, unix.NFS_SUPER_MAGIC}

// onNetwork reports whether the folder is on a network file system.
func onNetwork(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && slices.Contains(networks, int64(uint32(s.Type)))
}
