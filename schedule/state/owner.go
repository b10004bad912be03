package state

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/clock"
	"sched/schedule/statedir"
)

// An OwnerKind says what kind of process an owner is.
type OwnerKind string

const (
	Tick       OwnerKind = "tick"
	Supervisor OwnerKind = "supervisor"
	Finish     OwnerKind = "finish"
)

// An Owner is a process that is responsible for rows (Owners.Enroll) or for messages (Owners.New).
// It lives for as long as any process has the descriptor of its file (flock(2)). The kernel closes
// the descriptor when a process dies. No owner comes back to life, and no two owners have the same
// id.
type Owner struct {
	ID   int64
	Kind OwnerKind
	path string
	file *os.File // at path, locked; nil for an owner of a database in memory
}

// ownerTries bounds the ids that Owners.New tries.
const ownerTries = 1000

// Files returns the files that another process has to inherit to be the owner, too; nil for a
// database in memory.
func (o *Owner) Files() []*os.File {
	if o.file == nil {
		return nil
	}
	return []*os.File{o.file}
}

// Close closes the file of the owner in this process. The owner lives on in the processes that
// inherited the file. Without such a process it is dead, and the file at its path proves that.
func (o *Owner) Close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

// Release ends the owner, which must have no rows any more, and removes its file. If nobody calls
// it, a later tick removes the file.
func (o *Owner) Release() error {
	if o.file == nil {
		return nil
	}
	return errors.Join(os.Remove(o.path), o.file.Close())
}

// revive makes the file of the owner anew, if it is gone.
func (o *Owner) revive() error {
	if o.file == nil || statedir.IsAt(o.file, o.path) {
		return nil
	}
	file, err := statedir.OpenLocked(o.path, os.O_RDWR|os.O_CREATE)
	if err == nil {
		o.file = file // the old one stays open: other processes may have it
	}
	return err
}

// ownerPrefix begins the names of the files of owners.
const ownerPrefix = "owner-"

// Enroll writes down an owner that Owners.New has made: it may have rows then. After an error the
// owner is gone.
func (o *Owner) Enroll(ctx context.Context, s store) error {
	err := s.write(ctx, func(q querier) error {
		device, inode := o.fileID()
		q.do(ctx, `INSERT INTO owner (id, kind, pid, since, device, inode, boot)
			VALUES (?, ?, ?, ?, ?, ?, ?)`,
			o.ID, string(o.Kind), os.Getpid(), time.Now().UnixMicro(), device, inode, thisBoot())
		return nil
	})
	if err != nil {
		_ = o.Release() // nobody knows of the owner
	}
	return err
}

// fileID names the file of the owner among all files of this machine; zeros for an owner without a
// file.
func (o *Owner) fileID() (device, inode int64) {
	var info unix.Stat_t
	if o == nil || o.file == nil || unix.Fstat(int(o.file.Fd()), &info) != nil {
		return 0, 0
	}
	return int64(info.Dev), int64(info.Ino)
}

// thisBoot names this boot of the machine, and the container in which this process is, if it is in
// one: by the start of process 1. A container may have other device numbers when it is started
// again.
var thisBoot = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/1/stat")
	const started = 19 // field 22 of proc_pid_stat(5), among the fields after the name
	if fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])); len(fields) > started {
		return clock.BootID() + " " + fields[started]
	}
	return clock.BootID()
})

// forgetOwner forgets an owner, and returns false for an owner that has rows.
func forgetOwner(ctx context.Context, q querier, id int64) (forgotten bool, err error) {
	n, err := changed(ctx, q, `DELETE FROM owner WHERE id = ?1
		AND NOT EXISTS (SELECT 1 FROM run INDEXED BY run_live WHERE `+notEnded+` AND owner = ?1)`, id)
	return n > 0, err
}
