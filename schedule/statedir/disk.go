package statedir

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// IsFull reports whether the disk of a folder has no room for as much as a page of output and a
// page of the database. Root may use what a disk reserves for it.
func IsFull(dir string) bool {
	var disk unix.Statfs_t
	if unix.Statfs(dir, &disk) != nil || disk.Blocks == 0 {
		return false
	}
	free := disk.Bavail
	if os.Geteuid() == 0 {
		free = disk.Bfree
	}
	return free*uint64(disk.Bsize) < 64<<10
}

// IsOutOfInodes reports whether the disk of a folder takes no other file.
func IsOutOfInodes(dir string) bool {
	var disk unix.Statfs_t
	return unix.Statfs(dir, &disk) == nil && disk.Files > 0 && disk.Ffree == 0
}

// IsReadOnlyDisk reports whether the file system of a folder is read-only for all processes, and
// not only where this process sees it mounted. It is false when nobody knows, as on macOS.
func IsReadOnlyDisk(dir string) bool {
	var info unix.Stat_t
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || unix.Stat(dir, &info) != nil {
		return false
	}
	device := fmt.Sprintf("%d:%d", unix.Major(uint64(info.Dev)), unix.Minor(uint64(info.Dev)))
	for line := range strings.Lines(string(mounts)) {
		// 36 35 98:0 / /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw (proc_pid_mountinfo(5))
		mount, disk, _ := strings.Cut(line, " - ")
		words := strings.Fields(disk)
		if on := strings.Fields(mount); len(on) > 2 && on[2] == device && len(words) > 2 {
			return slices.Contains(strings.Split(words[2], ","), "ro")
		}
	}
	return false
}
