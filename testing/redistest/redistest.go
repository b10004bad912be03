// Package redistest starts real Redis servers for tests, and lets them fail: killed, paused,
// restarted without their data. It imitates nothing: if redis-server is not installed, the test is
// skipped.
package redistest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Variable is the environment variable that says what to do with tests that need a redis-server.
// With "required" they fail if redis-server is not installed, with "none" they are skipped in any
// case.
const Variable = "SCHED_TEST_REDIS"

// A Server is a redis-server on a free port of this machine, without persistence. It ends with the
// test, also when that is killed.
type Server struct {
	URL     string
	Address string
	Socket  string // a unix socket of the same server
	Log     string // the path of its log

	t     testing.TB
	ready string // the line of its log that says that it is ready
	args  []string
	pid   int
	shell *exec.Cmd
	stdin io.Closer // of the shell: when it ends, so does the server
}

// script ends the server when its own stdin ends, as it does with the process that started it.
const script = `"$@" </dev/null >>"$0" 2>&1 & echo $!; read -r _; kill -9 $!; wait $! 2>/dev/null`

// Start starts a server with further options, in which {port} is its port, and waits until it
// answers. Without redis-server on the PATH it skips the test.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, "Ready to accept connections", func(s *Server, dir, port string) []string {
		s.Socket = filepath.Join(dir, "s")
		all := []string{"--unixsocket", s.Socket, "--save", "", "--appendonly", "no"}
		for _, arg := range args {
			all = append(all, strings.ReplaceAll(arg, "{port}", port))
		}
		return all
	})
}

// start starts a server with options for its folder and port, and waits until its log says that it
// is ready.
func start(t testing.TB, ready string, args func(s *Server, dir, port string) []string) *Server {
	t.Helper()
	if os.Getenv(Variable) == "none" {
		t.Skipf("%s=none", Variable)
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv(Variable) == "required" {
			t.Fatalf("%s=required: %v", Variable, err)
		}
		t.Skipf("there is no redis-server: %v", err)
	}
	dir, err := os.MkdirTemp("", "redis") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, Log: filepath.Join(dir, "log"), ready: ready}
	t.Cleanup(func() { s.Kill(); os.RemoveAll(dir) })
	for range 10 { // another process may take the port before the server does
		port := strconv.Itoa(10_000 + rand.N(20_000)) // no port that the kernel gives away by itself
		s.Address = net.JoinHostPort("127.0.0.1", port)
		s.URL = "redis://" + s.Address
		s.args = []string{"redis-server"}
		own := args(s, dir, port)
		if len(own) > 0 && !strings.HasPrefix(own[0], "-") { // a file of settings comes first
			s.args, own = append(s.args, own[0]), own[1:]
		}
		s.args = append(append(s.args, "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--logfile", s.Log), own...)
		if s.run() {
			return s
		}
	}
	t.Fatalf("redis-server finds no free port:\n%s", s.log())
	return nil
}

func (s *Server) log() string {
	text, _ := os.ReadFile(s.Log)
	return string(text[max(0, len(text)-2000):])
}

// run starts the process, and waits until it says in its log that it is ready: another server
// may answer on the port. It reports false when the port was taken.
func (s *Server) run() bool {
	os.Remove(s.Log)
	s.shell = exec.Command("/bin/sh", append([]string{"-c", script, s.Log}, s.args...)...)
	in, _ := s.shell.StdinPipe()
	out, _ := s.shell.StdoutPipe()
	s.stdin = in
	if err := s.shell.Start(); err != nil {
		s.t.Fatal(err)
	}
	if _, err := fmt.Fscan(out, &s.pid); err != nil {
		s.t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		switch log := s.log(); {
		case strings.Contains(log, s.ready):
			return true
		case strings.Contains(log, "Failed listening"):
			s.Kill()
			return false
		case strings.Contains(log, "Exiting"), strings.Contains(log, "FATAL CONFIG"):
			s.t.Fatalf("redis-server does not start:\n%s", log)
		}
	}
	s.t.Fatalf("redis-server does not start in time:\n%s", s.log())
	return false
}

// Kill ends the process with SIGKILL. The port is closed when it returns.
func (s *Server) Kill() {
	if s.pid == 0 {
		return
	}
	syscall.Kill(s.pid, syscall.SIGKILL)
	s.stdin.Close()
	s.shell.Wait()
	s.pid = 0
}

// Stop ends the process with SIGTERM, as its own shutdown does.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	for end := time.Now().Add(20 * time.Second); !strings.Contains(s.log(), "bye bye"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatal("redis-server does not end")
		}
	}
	s.Kill()
}

// Pause stops the process with SIGSTOP: connections are made, and nothing is answered.
func (s *Server) Pause() { s.t.Helper(); s.signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (s *Server) Resume() { s.t.Helper(); s.signal(syscall.SIGCONT) }

// Restart kills the process and starts another on the same port. The new process has only the data
// that the first one saved, by its options.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	for range 100 { // another process may have the port for a moment
		if s.run() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.t.Fatalf("redis-server does not start again:\n%s", s.log())
}

func (s *Server) signal(which syscall.Signal) {
	s.t.Helper()
	if s.pid == 0 {
		s.t.Fatal("redis-server is not running")
	}
	if err := syscall.Kill(s.pid, which); err != nil {
		s.t.Fatal(err)
	}
}
