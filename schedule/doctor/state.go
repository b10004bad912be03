package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/humanize"
	"sched/schedule/past"
	"sched/schedule/preflight"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// checkSchedule looks for a file that is invalid, and for users who could change what is run.
func checkSchedule(_ context.Context, s *Subject) (found findings) {
	file := s.Schedule.File
	if s.Broken != nil {
		first, _, _ := strings.Cut(s.Broken.Error(), "\n")
		found.add(Bad, "see `sched check`", "the schedule is invalid, and ticks run %s: %s",
			s.Schedule.InPlace(), first)
	}
	if left := s.Schedule.BadLines; len(left) > 0 {
		first, _, _ := strings.Cut(left[0].String(), "\n")
		found.add(Bad, "see `sched check`", "%s of the crontab cannot run: %s",
			humanize.Count(len(left), "line"), first)
	}
	for _, part := range s.Schedule.Files() {
		if info, err := os.Stat(part); err == nil && info.Mode().Perm()&0o022 != 0 {
			found.add(Warning, "chmod go-w "+part, "others than its owner can write %s, and so run commands", part)
		}
	}
	if folder := worldWritableFolder(file); folder != "" {
		found.add(Warning, "chmod o-w "+folder, "every user can write %s, and put another schedule there", folder)
	}
	if err := statedir.CheckAbove(file); err != nil && os.Geteuid() == 0 {
		found.add(Bad, "", "%s, and root would run what is put there in place of the schedule", err.Error())
	}
	return found.orFine("%s is valid: %s", file, humanize.Count(len(s.Schedule.Tasks), "task"))
}

// worldWritableFolder returns the first folder above a path in which every user can replace files;
// "" if there is no such folder. Folders with the sticky bit, as /tmp, do not count.
func worldWritableFolder(path string) string {
	for path != "/" {
		path = filepath.Dir(path)
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&0o002 != 0 && info.Mode()&os.ModeSticky == 0 {
			return path
		}
	}
	return ""
}

// checkState looks whether the state folder can be written, and whether locks hold in it.
func checkState(_ context.Context, s *Subject) (found findings) {
	dir := s.Schedule.StateDir
	if problem := preflight.StateDirProblem(s.Schedule); problem != nil {
		return finding(Bad, problem.Hint, "%s", problem.Text)
	}
	if err := tryLock(filepath.Join(dir, "locks", ".making")); err != nil {
		found.add(Bad, "set state_dir to a folder on a local disk", "locks do not work in %s: %v", dir, err)
	}
	if name := networkFileSystem(preflight.FirstExisting(dir)); name != "" {
		found.add(Warning,
			"set state_dir to a folder on a local disk; servers meet in a Redis or a database (`store:`)",
			"%s is on a network file system (%s), whose locks may not hold between machines", dir, name)
	}
	if release := preflight.ReleaseOf(s.Schedule); release != nil {
		problem := release.Problem()
		found.add(Warning, problem.Hint, "%s", problem.Text)
	}
	return found.orFine("%s can be written", dir)
}

// tryLock asks the file system whether it has locks, without writing and without waiting. A file
// that is not there, or that a tick has locked, is no error.
func tryLock(path string) error {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer file.Close()
	err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	}
	return err
}

// How much must be free on the disk of the state folder, in bytes and inodes. Below minFreeSpace or
// minFreeInodes, runs may soon not be recorded; below minSpace they are not.
const (
	minFreeSpace  = 200 << 20
	minSpace      = 10 << 20
	minFreeInodes = 1000
)

// checkDisk looks how much is free on the disk of the state folder.
func checkDisk(_ context.Context, s *Subject) findings {
	dir := preflight.FirstExisting(s.Schedule.StateDir)
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return finding(Warning, "", "%s: %v", dir, err)
	}
	free := int64(disk.Bavail) * int64(disk.Bsize)
	const hint = "free some; `history: {keep: 7d}` keeps less"
	switch {
	case free < minSpace:
		return finding(Bad, hint, "the disk of %s is full", dir)
	case free < minFreeSpace:
		return finding(Warning, hint, "the disk of %s has %s left", dir, humanize.Bytes(free))
	case disk.Files > 0 && disk.Ffree < minFreeInodes:
		return finding(Warning, "remove small files; df -i", "the disk of %s has %d inodes left", dir, disk.Ffree)
	}
	return fine("%s free", humanize.Bytes(free))
}

// maxPagesTime bounds the look at each page of the history. A tick reads all of them once a day.
const maxPagesTime = 2 * time.Second

// checkHistory looks for a history that cannot be read, or that was damaged.
func checkHistory(ctx context.Context, s *Subject) findings {
	path := filepath.Join(s.Schedule.StateDir, "sched.db")
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return finding(Warning, "", "it cannot be read: %v", err)
	case err != nil:
		return fine("there is no history yet")
	}
	db, err := state.OpenRead(s.Schedule.StateDir, state.Patience)
	if err == nil {
		defer db.Close()
		_, err = past.Of(db).Totals(ctx)
	}
	if err == nil {
		bounded, cancel := context.WithTimeout(ctx, maxPagesTime)
		defer cancel()
		err = db.CheckPages(bounded)
	}
	if err != nil {
		return finding(Bad, "the next tick sets a damaged history aside and begins a new one",
			"%s cannot be read: %v", path, err)
	}
	if copied, _ := db.Owners().Copied(ctx); len(copied) > 0 {
		return finding(Warning, "the next tick ends these runs in the copy, and leaves their processes alone",
			"%s is a copy of another state folder, in which runs go on: %s", s.Schedule.StateDir, state.NamesOf(copied))
	}
	if aside, _ := filepath.Glob(path + ".damaged-*"); len(aside) > 0 {
		return finding(Warning, "look at the disk (dmesg); remove the file when you need it no more",
			"a damaged history was set aside: %s", aside[0])
	}
	return fine("%s, %s", path, humanize.Bytes(info.Size()))
}
