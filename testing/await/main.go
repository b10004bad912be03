// Await is what the tasks of tests wait with, and what ends what tests leave behind.
//
//	await FILE        ends when the file exists, or its folder is gone
//	await --over DIR  waits for the end of its stdin, and ends all processes of the tests in DIR
//
// A loop of `sleep` in a shell starts fifty processes a second, which slows down the tests beside
// it, and goes on for good when the tests were killed.
package main

import (
	"bytes"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// longest is how long a file is waited for, far longer than any test does.
const longest = 15 * time.Minute

func main() {
	if os.Args[1] == "--over" {
		over(os.Args[2])
		return
	}
	folder := filepath.Dir(os.Args[1])
	for end := time.Now().Add(longest); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(os.Args[1]); err == nil {
			return
		}
		if _, err := os.Stat(folder); os.IsNotExist(err) {
			break
		}
	}
	os.Exit(1)
}

// over waits for the process of the tests, whose end closes stdin, also when it is killed. Then it
// kills all that the tests have started, until nothing is left, and removes their folder.
func over(dir string) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // they are for the tests
	io.Copy(io.Discard, os.Stdin)
	for quiet := 0; quiet < 3; time.Sleep(20 * time.Millisecond) {
		quiet++
		for _, pid := range processesOf(dir) {
			syscall.Kill(pid, syscall.SIGKILL)
			quiet = 0
		}
	}
	os.RemoveAll(dir)
}

// processesOf returns the processes that have the folder in their arguments, in their environment
// (as PATH of the tests does), or as their own folder.
func processesOf(dir string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range all {
		pid, _ := strconv.Atoi(filepath.Base(process))
		args, _ := os.ReadFile(process + "/cmdline") // a zombie has no arguments
		environment, _ := os.ReadFile(process + "/environ")
		cwd, _ := os.Readlink(process + "/cwd")
		if pid != os.Getpid() && len(args) > 0 && (bytes.Contains(args, []byte(dir)) ||
			bytes.Contains(environment, []byte(dir)) || strings.HasPrefix(cwd, dir)) {
			pids = append(pids, pid)
		}
	}
	return pids
}
