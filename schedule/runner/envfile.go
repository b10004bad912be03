package runner

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"sched/schedule"
)

// largestEnvFile is more than the kernel takes as an environment.
const largestEnvFile = 4 << 20

// readEnvFiles returns the variables of the files, in their order. ${NAME} in them stands for what
// is in env or was set before. A file that cannot be used is left out; the error names the first.
func readEnvFiles(files, env []string) (pairs []string, err error) {
	set := func(name string) (string, bool) {
		for _, all := range [][]string{pairs, env} {
			for i := len(all) - 1; i >= 0; i-- {
				if value, ok := strings.CutPrefix(all[i], name+"="); ok {
					return value, true
				}
			}
		}
		return "", false
	}
	for _, path := range files {
		text, problem := readEnvFile(path)
		var more []string
		if problem == nil {
			more, problem = parseDotenv(text, set)
		}
		if problem != nil && err == nil {
			err = envFileError(path, problem)
		}
		pairs = append(pairs, more...)
	}
	return pairs, err
}

// envFileError names the file, and never its content.
func envFileError(path string, problem error) error {
	if errors.Is(problem, fs.ErrNotExist) {
		return fmt.Errorf("env_file %s does not exist", path)
	}
	return fmt.Errorf("env_file %s: %w", path, problem)
}

// readEnvFile reads a file with the rights of this process. What runs as root takes no variables
// from a file that others can write: with LD_PRELOAD or PATH they would be root.
func readEnvFile(path string) (string, error) {
	// Without O_NONBLOCK a named pipe would stop us here for ever.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", bare(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", bare(err)
	}
	owner, _ := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return "", errors.New("it is not a regular file")
	case info.Size() > largestEnvFile:
		return "", errors.New("it is larger than 4 MiB")
	case os.Geteuid() == 0 && info.Mode().Perm()&0o022 != 0:
		return "", errors.New("others than its owner can write it, and the task runs as root (chmod go-w)")
	case os.Geteuid() == 0 && owner != nil && owner.Uid != 0:
		return "", fmt.Errorf("it belongs to another user (uid %d), and the task runs as root", owner.Uid)
	}
	text, err := io.ReadAll(io.LimitReader(file, largestEnvFile))
	return string(text), bare(err)
}

// bare is the error without the path, which the message has already.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// CheckEnvFiles returns why the files of a task's env_file cannot be used now, or nil; env is the
// environment of the caller. Of a task of another user it tells only that they are there: what that user
// may read is found out by the task itself.
func CheckEnvFiles(t *schedule.Task, env []string) error {
	if who, err := accountOf(t.As); err != nil || !who.change || who.uid == 0 {
		_, err := readEnvFiles(t.EnvFiles, environ(env, *t))
		return err
	}
	for _, path := range t.EnvFiles {
		if _, err := os.Stat(path); err != nil {
			return envFileError(path, bare(err))
		}
	}
	return nil
}
