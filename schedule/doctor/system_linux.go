package doctor

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// maxProcessesAbove is how many processes above this one are named at most.
const maxProcessesAbove = 6

// processesAbove returns the names of the processes above this one, the nearest first. The process
// with the id 1, which is above all, counts only if it called this one itself, as systemd does.
func processesAbove() (names []string) {
	for pid := os.Getppid(); pid > 0 && len(names) < maxProcessesAbove; {
		name, parent, ok := processStat(pid)
		if !ok || pid == 1 && names != nil {
			break
		}
		names, pid = append(names, name), parent
	}
	return names
}

// processStat returns the name and the parent of a process (proc_pid_stat(5)).
func processStat(pid int) (name string, parent int, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if err != nil || open < 0 || end < open {
		return "", 0, false
	}
	var state string
	_, err = fmt.Sscan(string(text[end+1:]), &state, &parent)
	return strings.TrimSpace(string(text[open+1 : end])), parent, err == nil
}

// processes returns the names of all processes.
func processes() map[string]bool {
	names := map[string]bool{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		var pid int
		if _, err := fmt.Sscan(entry.Name(), &pid); err != nil {
			continue
		}
		if name, _, ok := processStat(pid); ok {
			names[name] = true
		}
	}
	return names
}

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
