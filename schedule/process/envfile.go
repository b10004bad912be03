package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"sched/schedule/humanize"
)

// largestEnvFile is more than the kernel takes as an environment.
const largestEnvFile = 4 << 20

// envFilePatience is how long a read may wait.
const envFilePatience = time.Second

// ReadEnvFiles returns the variables of the files, in their order. ${NAME} in them stands for what
// is in env or was set before. A file that cannot be used is left out; the error names the first.
func ReadEnvFiles(files, env []string) (pairs []string, err error) {
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
			more, problem = ParseEnvFile(text, set)
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

// readEnvFile reads a file with the rights of this process. As root it takes no variables from a
// file that others can write: with LD_PRELOAD or PATH they would be root.
func readEnvFile(path string) (string, error) {
	// Without O_NONBLOCK the open of a named pipe would wait for a writer.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", humanize.WithoutPath(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", humanize.WithoutPath(err)
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
	// A file of the kernel, as /proc/kmsg, looks like a regular one, and a read of it may wait for
	// ever. Files that never wait, as on disks, have no deadline.
	_ = file.SetReadDeadline(time.Now().Add(envFilePatience))
	content, err := io.ReadAll(io.LimitReader(file, largestEnvFile))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "", fmt.Errorf("it does not end: nothing came for %s", envFilePatience)
	}
	return string(content), humanize.WithoutPath(err)
}
