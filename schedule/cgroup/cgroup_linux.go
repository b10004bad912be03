package cgroup

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sched/schedule"
)

const (
	cgroupPrefix = "sched-"     // of the cgroup of an attempt; the run and the attempt follow
	mainCgroup   = "sched.main" // for the processes of sched itself, and for all without limits
)

// A Group keeps the limits of one attempt of a run. A nil Group keeps none.
type Group struct{ dir *os.File }

// Here returns the folder in which this process may make cgroups with limits, or why it may
// make none. It only looks.
func Here() (folder string, err error) {
	folder, err = cgroupFolder()
	if err == nil {
		err = checkControllers(folder)
	}
	return folder, err
}

// cgroupFolder returns the folder in which this process may make cgroups.
func cgroupFolder() (folder string, err error) {
	own, top, err := ownCgroup()
	if err != nil {
		return "", err
	}
	if filepath.Base(own) == mainCgroup {
		own = filepath.Dir(own)
	}
	for _, folder := range []string{own, filepath.Dir(own)} { // with DelegateSubgroup= it is the one above
		if len(folder) >= len(top) && isDelegated(folder) {
			return folder, nil
		}
	}
	if os.Geteuid() == 0 {
		own = top
	}
	if err := unix.Access(filepath.Join(own, "cgroup.subtree_control"), unix.W_OK); err != nil {
		return "", fmt.Errorf("%s: %w", own, err)
	}
	return own, nil
}

// ownCgroup returns the folder of the cgroup of this process, and the folder of the hierarchy.
func ownCgroup() (own, top string, err error) {
	root := ""
	text, _ := os.ReadFile("/proc/self/cgroup")
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		fields, kind, _ := strings.Cut(line, " - ")
		if f := strings.Fields(fields); strings.HasPrefix(kind, "cgroup2 ") && len(f) > 4 {
			root, top = f[3], f[4] // fields 4 and 5 of proc_pid_mountinfo(5)
			break
		}
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok && top != "" {
			return filepath.Join(top, strings.TrimPrefix(path, root)), top, nil
		}
	}
	return "", "", errors.New("this machine has no cgroups of version 2")
}

// isDelegated reports whether systemd has left a cgroup to us (Delegate=yes), or the cgroup belongs
// to our user, who is not root.
func isDelegated(folder string) bool {
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		value := make([]byte, 1)
		if n, err := unix.Getxattr(folder, name, value); err == nil && n == 1 && value[0] == '1' {
			return true
		}
	}
	info, err := os.Stat(folder)
	return err == nil && os.Geteuid() != 0 && int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid()
}

// checkControllers returns an error for a cgroup whose children cannot have the limits.
func checkControllers(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, "cgroup.controllers"))
	for _, name := range []string{"memory", "cpu"} {
		if err == nil && !slices.Contains(strings.Fields(string(text)), name) {
			err = fmt.Errorf("the kernel has no %s controller in %s", name, folder)
		}
	}
	return err
}

// New makes the cgroup of an attempt of a run, with its limits of memory and of CPU.
func New(run string, attempt int, limits schedule.Limits) (c *Group, err error) {
	folder, err := Here()
	if err == nil {
		err = enableControllers(folder)
	}
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, cgroupName(run, attempt))
	for range 3 { // Sweep may remove it before it is locked
		if c, err = makeCgroup(path, limits); err == nil {
			break
		}
	}
	return c, err
}

func makeCgroup(path string, limits schedule.Limits) (*Group, error) {
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	c, err := openCgroup(path)
	if err != nil {
		return nil, err
	}
	if err := c.limit(limits); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Of returns the cgroup of an attempt that another process has started; nil for no cgroup.
func Of(run string, attempt int) *Group {
	folder, err := Here()
	if err != nil {
		return nil
	}
	c, _ := openCgroup(filepath.Join(folder, cgroupName(run, attempt)))
	return c
}

func cgroupName(run string, attempt int) string {
	return cgroupPrefix + run + "-" + strconv.Itoa(attempt)
}

// openCgroup opens a cgroup, and locks it.
func openCgroup(path string) (*Group, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		dir.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Group{dir}, nil
}

// enableControllers lets the children of a cgroup have limits.
func enableControllers(folder string) error {
	control := filepath.Join(folder, "cgroup.subtree_control")
	for _, name := range []string{"memory", "cpu"} {
		text, err := os.ReadFile(control)
		if err != nil || slices.Contains(strings.Fields(string(text)), name) {
			continue
		}
		err = os.WriteFile(control, []byte("+"+name), 0)
		if errors.Is(err, unix.EBUSY) {
			moveProcesses(folder)
			err = os.WriteFile(control, []byte("+"+name), 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// moveProcesses moves the processes of a cgroup to mainCgroup in it. Processes that start meanwhile
// may be left: it looks several times.
func moveProcesses(folder string) {
	to := filepath.Join(folder, mainCgroup)
	os.Mkdir(to, 0o755)
	for range 10 {
		text, _ := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
		all := strings.Fields(string(text))
		if len(all) == 0 {
			return
		}
		for _, pid := range all {
			os.WriteFile(filepath.Join(to, "cgroup.procs"), []byte(pid), 0)
		}
	}
}

// cpuPeriod is the kernel's default period for limits of CPU, in microseconds. The command may use
// a part of each period.
const cpuPeriod = 100_000

// limit sets the limits. At the limit of memory the kernel ends all processes of the cgroup, and
// writes none of their memory to the swap; an older kernel does what it can.
func (c *Group) limit(limits schedule.Limits) error {
	if limits.CPU > 0 {
		if err := c.write("cpu.max", fmt.Sprintf("%d %d", limits.CPU*cpuPeriod/100, cpuPeriod)); err != nil {
			return err
		}
	}
	if limits.Memory == 0 {
		return nil
	}
	c.write("memory.oom.group", "1")
	c.write("memory.swap.max", "0")
	return c.write("memory.max", strconv.FormatInt(limits.Memory, 10))
}

func (c *Group) write(name, value string) error {
	return os.WriteFile(filepath.Join(c.dir.Name(), name), []byte(value), 0)
}

// StartIn lets the program start in the cgroup (CLONE_INTO_CGROUP, Linux 5.7).
func (c *Group) StartIn(attr *syscall.SysProcAttr) {
	if c != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(c.dir.Fd())
	}
}

// OutOfMemory reports whether the kernel has ended a process because the cgroup was at its limit.
func (c *Group) OutOfMemory() bool {
	if c == nil {
		return false
	}
	text, _ := os.ReadFile(filepath.Join(c.dir.Name(), "memory.events"))
	counts := map[string]string{}
	for line := range bytes.Lines(text) {
		if f := bytes.Fields(line); len(f) == 2 {
			counts[string(f[0])] = string(f[1])
		}
	}
	has := func(name string) bool { return cmp.Or(counts[name], "0") != "0" }
	return has("oom") && has("oom_kill")
}

// Close removes the cgroup, unless processes are left in it: then Sweep does so later.
func (c *Group) Close() {
	if c != nil {
		removeCgroup(c.dir.Name())
		c.dir.Close()
	}
}

// removeCgroup removes a cgroup without processes, and what its command has made below it.
func removeCgroup(path string) {
	below, _ := os.ReadDir(path)
	for _, entry := range below {
		if entry.IsDir() {
			removeCgroup(filepath.Join(path, entry.Name()))
		}
	}
	unix.Rmdir(path)
}

// Sweep removes the cgroups without processes that dead processes of sched have left.
func Sweep() {
	folder, err := Here()
	if err != nil {
		return
	}
	left, _ := filepath.Glob(filepath.Join(folder, cgroupPrefix+"*"))
	for _, path := range left {
		if c, err := openCgroup(path); err == nil {
			c.Close()
		}
	}
}
