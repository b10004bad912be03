//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A store is a server that some schedulers keep their locks or queues in.
type store struct {
	dir     string
	url     string
	command func() *exec.Cmd
	forget  *exec.Cmd // loses all data
	process *exec.Cmd
}

func (s *store) start() error {
	s.process = s.command()
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.process.Env = append(os.Environ(), "FIELD_OF="+s.dir)
	if err := s.process.Start(); err != nil {
		return err
	}
	go s.process.Wait()
	return nil
}

// signal sends a signal to all processes of the store. The children of a PostgreSQL have groups of
// their own.
func (s *store) signal(sig syscall.Signal) {
	pid := s.process.Process.Pid
	syscall.Kill(-pid, sig)
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, child := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			syscall.Kill(pid, sig)
		}
	}
}

func (s *store) goOn() error { s.signal(syscall.SIGCONT); return nil }
func (s *store) stop()       { s.signal(syscall.SIGKILL) }

func (s *store) empty() error { return s.forget.Run() }

// freePort returns a port that nobody listens to.
func freePort() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// listens waits until something listens to the port.
func listens(port int) error {
	return await(fmt.Sprintf("an answer of port %d", port), 20*time.Second, func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// redis is a Redis that writes down each change at once.
func redis(dir string) (*store, error) {
	port := freePort()
	must(os.MkdirAll(dir, 0o700))
	p := fmt.Sprint(port)
	s := &store{dir: dir, url: "redis://127.0.0.1:" + p, forget: exec.Command("redis-cli", "-p", p, "FLUSHALL"), command: func() *exec.Cmd {
		return exec.Command("redis-server", "--port", p, "--bind", "127.0.0.1", "--dir", dir,
			"--appendonly", "yes", "--appendfsync", "always", "--logfile", filepath.Join(dir, "log"))
	}}
	must(s.start())
	return s, listens(port)
}

// truncate empties all tables.
const truncate = `DO $$ DECLARE name text; BEGIN
	FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
		EXECUTE 'TRUNCATE ' || quote_ident(name) || ' CASCADE';
	END LOOP;
END $$`

// postgres is a PostgreSQL, which refuses to run as root.
func postgres(dir string) (*store, error) {
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(bins) == 0 {
		return nil, fmt.Errorf("there is no PostgreSQL")
	}
	port := freePort()
	must(os.MkdirAll(dir, 0o700))
	as := func(args ...string) *exec.Cmd {
		args[0] = filepath.Join(bins[0], args[0])
		if os.Geteuid() == 0 {
			args = append([]string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"}, args...)
		}
		c := exec.Command(args[0], args[1:]...)
		c.Dir = "/"
		return c
	}
	if os.Geteuid() == 0 {
		must(exec.Command("chown", "postgres:", dir).Run())
	}
	if out, err := as("initdb", "-D", dir, "-A", "trust", "-U", "field").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	url := fmt.Sprintf("postgres://field@127.0.0.1:%d/postgres?sslmode=disable", port)
	s := &store{dir: dir, url: url, forget: exec.Command("psql", url, "-c", truncate), command: func() *exec.Cmd {
		return as("postgres", "-D", dir, "-p", fmt.Sprint(port), "-c", "listen_addresses=127.0.0.1", "-k", dir)
	}}
	must(s.start())
	return s, listens(port)
}
