package state

import (
	"context"
	"database/sql"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// networks are the types of file systems of Linux whose files are on other machines (statfs(2)).
var networks = []int64{
	0x5346414f, // AFS
	0xff534d42, // CIFS
	0xfe534d42, // SMB 2
	0x517b,     // SMB
	0x00c36400, // Ceph
	0x01021997, // 9P
	0x6969,     // NFS
}

// onNetwork reports whether the folder is on a network file system. Only Linux tells; elsewhere WAL
// mode is always tried.
func onNetwork(dir string) bool {
	var s unix.Statfs_t
	return runtime.GOOS == "linux" && unix.Statfs(dir, &s) == nil && slices.Contains(networks, int64(uint32(s.Type)))
}

func setJournal(conn *sql.DB, mode string) (got string, err error) {
	err = conn.QueryRowContext(context.Background(), "PRAGMA journal_mode = "+mode).Scan(&got)
	return got, err
}
