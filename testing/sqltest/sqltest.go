// Package sqltest starts real PostgreSQL and MariaDB servers for tests, and lets them fail. It
// imitates nothing: if a server is not installed, the test is skipped.
package sqltest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Variable is the environment variable that says what to do with tests that need a database. With
// "required" they fail if no server is installed, with "none" they are skipped in any case.
const Variable = "SCHED_TEST_SQL"

// A Kind is a kind of server.
type Kind struct {
	Name   string
	Scheme string                     // of its URLs
	owner  string                     // the user of the server when root starts it, which servers refuse to be
	wants  []string                   // programs
	setup  func(s *Server) [][]string // makes the data in the folder of s
	serve  func(s *Server, port string) []string
	ready  string
}

// Kinds are all kinds of servers.
var Kinds = []Kind{Postgres, MariaDB}

var Postgres = Kind{
	Name: "PostgreSQL", Scheme: "postgres", owner: "postgres", wants: []string{"initdb", "postgres", "psql"},
	setup: func(s *Server) [][]string {
		os.WriteFile(s.file("password"), []byte("secret\n"), 0o644)
		return [][]string{{"initdb", "--no-sync", "-D", s.file("data"), "-U", "sched", "-A", "scram-sha-256",
			"--pwfile", s.file("password"),
			"-E", "UTF8", "--locale=C", "--wal-segsize=1"}}
	},
	serve: func(s *Server, port string) []string {
		s.Socket = s.file(".s.PGSQL." + port)
		return []string{"postgres", "-D", s.file("data"), "-k", s.dir, "-p", port, "-c",
			"listen_addresses=127.0.0.1", "-c", "fsync=off",
			"-c", "shared_buffers=16MB", "-c", "max_connections=300"}
	},
	ready: "database system is ready to accept connections",
}

var MariaDB = Kind{
	Name: "MariaDB", Scheme: "mysql", owner: "mysql", wants: []string{"mariadb-install-db", "mariadbd", "mariadb"},
	setup: func(s *Server) [][]string {
		os.WriteFile(s.file("init"), []byte("CREATE DATABASE IF NOT EXISTS sched;\nCREATE USER IF NOT EXISTS sched IDENTIFIED BY 'secret';\n"+
			"GRANT ALL ON *.* TO sched WITH GRANT OPTION;\n"), 0o644)
		return [][]string{{"mariadb-install-db", "--no-defaults", "--skip-test-db",
			"--auth-root-authentication-method=normal", "--datadir=" + s.file("data"), "--tmpdir=" + s.dir,
			"--innodb-log-file-size=8M"}} // each server copies the folder; without this it has 100 MB
	},
	serve: func(s *Server, port string) []string {
		s.Socket = s.file("s")
		return []string{"mariadbd", "--no-defaults", "--datadir=" + s.file("data"), "--tmpdir=" + s.dir, "--socket=" +
			s.Socket, "--port=" + port, "--bind-address=127.0.0.1",
			"--pid-file=" + s.file("pid"), "--init-file=" + s.file("init"), "--innodb-buffer-pool-size=16M",
			"--innodb-log-file-size=8M",
			"--innodb-flush-log-at-trx-commit=2", "--performance-schema=OFF", "--max-connections=300"}
	},
	ready: "ready for connections",
}

// A Server is a database on a server of its own or a shared one, on a free port of this machine.
// Its user is "sched" with the password "secret". The server ends with the process of the tests.
type Server struct {
	Kind
	Address string
	Socket  string

	t        testing.TB
	dir      string
	database string
	clock    string // how far it is ahead, as faketime reads it; "" for none
	args     []string
	login    *syscall.Credential
	pid      int
	shell    *exec.Cmd
	stdin    io.Closer // of the shell: when it ends, so does the server
}

// script ends the server when its own stdin ends, as it does with the process that started it.
const script = `"$@" </dev/null >>"$0" 2>&1 & echo $!; read -r _; kill -9 $!; wait $! 2>/dev/null`

var (
	sharing sync.Mutex
	shared  = map[string]*Server{}
	filling sync.Mutex
	filled  = map[string]*Server{} // by kind: one that never runs; servers copy its folder
)

// Main runs the tests of a package, and ends the servers that they share.
func Main(m *testing.M) {
	code := m.Run()
	for _, s := range shared {
		s.end()
	}
	os.Exit(code)
}

// Shared returns a new database on a server that all tests of the process share. A test must not
// stop it or change its settings.
func Shared(t testing.TB, kind Kind) *Server {
	t.Helper()
	sharing.Lock()
	defer sharing.Unlock()
	if shared[kind.Name] == nil {
		shared[kind.Name] = start(t, kind, nil)
	}
	s := *shared[kind.Name]
	s.t, s.database = t, fmt.Sprintf("test%d", rand.Uint32())
	shared[kind.Name].Exec("CREATE DATABASE " + s.database)
	return &s
}

// Start starts a server, with further options, and waits until it answers. It ends with the test.
func Start(t testing.TB, kind Kind, options ...string) *Server {
	t.Helper()
	s := start(t, kind, options)
	t.Cleanup(s.end)
	return s
}

func start(t testing.TB, kind Kind, options []string) *Server {
	t.Helper()
	if os.Getenv(Variable) == "none" {
		t.Skipf("%s=none", Variable)
	}
	os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:"+strings.Join(newest("/usr/lib/postgresql/*/bin"), ":"))
	for _, program := range kind.wants {
		Require(t, program)
	}
	dir, err := os.MkdirTemp("", "sql") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Kind: kind, t: t, dir: dir, database: "sched"}
	s.becomeOwner()
	s.fill()
	s.listen(options)
	if kind.Name == Postgres.Name {
		s.exec("postgres", "CREATE DATABASE sched")
	}
	return s
}

// listen starts the process on a free port.
func (s *Server) listen(options []string) {
	s.t.Helper()
	for range 10 { // another process may take the port before the server does
		port := strconv.Itoa(10_000 + rand.N(20_000)) // no port that the kernel gives away by itself
		s.Address = net.JoinHostPort("127.0.0.1", port)
		s.args = append(s.serve(s, port), options...)
		if s.run() {
			return
		}
	}
	s.t.Fatalf("%s finds no free port:\n%s", s.Name, s.log())
}

// Require returns the path of a program, and skips the test if the program is not installed: see
// Variable.
func Require(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil && os.Getenv(Variable) == "required" {
		t.Fatalf("%s=required: %v", Variable, err)
	} else if err != nil {
		t.Skip(err)
	}
	return path
}

// StartReplica starts a replica of s, a PostgreSQL. Each commit of s waits for the replica. The
// replica ends with the test.
func (s *Server) StartReplica() *Server {
	s.t.Helper()
	dir, err := os.MkdirTemp("", "sql")
	if err != nil {
		s.t.Fatal(err)
	}
	replica := &Server{Kind: s.Kind, t: s.t, dir: dir, database: s.database}
	replica.ready = "database system is ready to accept read-only connections"
	replica.becomeOwner()
	host, port, _ := net.SplitHostPort(s.Address)
	s.must(replica.Command("pg_basebackup", "-D", replica.file("data"), "-R", "-c", "fast", "--no-sync",
		"-d", "host="+host+" port="+port+" user=sched password=secret"))
	replica.listen(nil)
	s.t.Cleanup(replica.end)
	s.Exec("ALTER SYSTEM SET synchronous_standby_names = '*'")
	s.Exec("SELECT pg_reload_conf()")
	for end := time.Now().Add(20 * time.Second); s.Exec("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != "1"; {
		if time.Now().After(end) {
			s.t.Fatalf("the replica does not stream:\n%s", replica.log())
		}
	}
	return replica
}

// SetClock restarts the server with a clock that is ahead, for example by "+1h".
func (s *Server) SetClock(ahead string) {
	s.t.Helper()
	s.clock = ahead
	s.Restart()
}

// Secure restarts the server with TLS. It returns the file of the CA, which has signed the server's
// certificate for 127.0.0.1.
func (s *Server) Secure() (ca string) {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:        true, BasicConstraintsValid: true}
	certificate, err := x509.CreateCertificate(crand.Reader, template, template, key.Public(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	private, _ := x509.MarshalPKCS8PrivateKey(key)
	for name, block := range map[string]*pem.Block{"ca.pem": {Type: "CERTIFICATE", Bytes: certificate},
		"key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(s.file(name), pem.EncodeToMemory(block), 0o600); err != nil {
			s.t.Fatal(err)
		}
		if s.login != nil {
			os.Chown(s.file(name), int(s.login.Uid), int(s.login.Gid))
		}
	}
	if s.Name == Postgres.Name {
		s.args = append(s.args, "-c", "ssl=on", "-c", "ssl_cert_file="+s.file("ca.pem"), "-c",
			"ssl_key_file="+s.file("key.pem"))
	} else {
		s.args = append(s.args, "--ssl-cert="+s.file("ca.pem"), "--ssl-key="+s.file("key.pem"))
	}
	s.Restart()
	return s.file("ca.pem")
}

// fill makes the data folder. The first server of a kind makes it anew; later ones copy it.
func (s *Server) fill() {
	s.t.Helper()
	filling.Lock()
	defer filling.Unlock()
	if filled[s.Name] == nil {
		first := *s
		var err error
		if first.dir, err = os.MkdirTemp("", "sql"); err != nil {
			s.t.Fatal(err)
		}
		cleaner := exec.Command("/bin/sh", "-c", `read -r _; rm -rf "$0"`, first.dir)
		first.stdin, _ = cleaner.StdinPipe() // it closes with this process
		if err := cleaner.Start(); err != nil {
			s.t.Fatal(err)
		}
		first.becomeOwner()
		for _, args := range s.setup(&first) {
			s.must(first.Command(args[0], args[1:]...))
		}
		filled[s.Name] = &first
	}
	s.must(s.Command("cp", "-a", filled[s.Name].dir+"/.", s.dir))
}

func (s *Server) must(c *exec.Cmd) {
	s.t.Helper()
	if out, err := c.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
}

func newest(pattern string) []string {
	found, _ := filepath.Glob(pattern)
	slices.Reverse(found)
	return found
}

// becomeOwner gives the folder to a user who is not root.
func (s *Server) becomeOwner() {
	if os.Geteuid() != 0 {
		return
	}
	owner, err := user.Lookup(s.owner)
	if err != nil {
		owner, err = user.Lookup("nobody")
	}
	if err != nil {
		s.t.Fatal(err)
	}
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(owner.Gid)
	s.login = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := os.Chown(s.dir, uid, gid); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) file(name string) string { return filepath.Join(s.dir, name) }

// Database is the name of the database.
func (s *Server) Database() string { return s.database }

// URL is of the database, for the user sched, or for another one "user:password".
func (s *Server) URL(login string) string {
	if login == "" {
		login = "sched:secret"
	}
	return s.Scheme + "://" + login + "@" + s.Address + "/" + s.database
}

func (s *Server) log() string {
	text, _ := os.ReadFile(s.file("log"))
	return string(text[max(0, len(text)-2000):])
}

// run starts the process, and waits until it says in its log that it is ready: another server may
// answer on the port. It reports false when the port was taken.
func (s *Server) run() bool {
	os.Remove(s.file("log"))
	args := s.args
	if s.clock != "" {
		Require(s.t, "faketime")
		args = append([]string{"env", "LD_PRELOAD=" + newest("/usr/lib/*/faketime/libfaketimeMT.so.1")[0], "FAKETIME=" +
			s.clock, "FAKETIME_DONT_FAKE_MONOTONIC=1"}, args...)
	}
	s.shell = s.Command("/bin/sh", append([]string{"-c", script, s.file("log")}, args...)...)
	in, _ := s.shell.StdinPipe()
	out, _ := s.shell.StdoutPipe()
	s.stdin = in
	if err := s.shell.Start(); err != nil {
		s.t.Fatal(err)
	}
	if _, err := fmt.Fscan(out, &s.pid); err != nil {
		s.t.Fatal(err)
	}
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		log, _ := os.ReadFile(s.file("log"))
		switch {
		case bytes.Contains(log, []byte(s.ready)):
			return true
		case syscall.Kill(s.pid, 0) != nil, bytes.Contains(log, []byte("Address already in use")),
			bytes.Contains(log, []byte("could not create any TCP/IP")):
			s.Kill()
			return false
		}
	}
	s.t.Fatalf("%s does not start in time:\n%s", s.Name, s.log())
	return false
}

// processes are the process of the server and its children.
func (s *Server) processes() []int {
	all := []int{s.pid}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.pid, s.pid))
	for _, field := range strings.Fields(string(children)) {
		pid, _ := strconv.Atoi(field)
		all = append(all, pid)
	}
	return all
}

func (s *Server) signal(which syscall.Signal) {
	for _, pid := range s.processes() {
		syscall.Kill(pid, which)
	}
}

func (s *Server) end() {
	s.Kill()
	os.RemoveAll(s.dir)
}

// Kill ends all processes with SIGKILL.
func (s *Server) Kill() {
	if s.pid == 0 {
		return
	}
	all := s.processes()
	s.signal(syscall.SIGKILL)
	s.stdin.Close()
	s.shell.Wait()
	for _, pid := range all {
		for end := time.Now().Add(10 * time.Second); !ended(pid) && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
	}
	s.pid = 0
}

// ended reports whether a process has ended. A zombie has: process 1 of a container may take
// seconds to take it away.
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

// Pause stops all processes with SIGSTOP: connections are made, and nothing is answered. PostgreSQL
// forks a process for each connection, so the process that forks is stopped before its children.
func (s *Server) Pause() {
	s.t.Helper()
	s.stop(s.pid)
	for _, pid := range s.processes() {
		s.stop(pid)
	}
}

// stop stops a process, and waits until it has stopped or ended. A child that has ended stays a
// zombie until its parent goes on.
func (s *Server) stop(pid int) {
	s.t.Helper()
	syscall.Kill(pid, syscall.SIGSTOP)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(stat, []byte(") T ")) || bytes.Contains(stat, []byte(") Z ")) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s does not stop: %s", s.Name, stat)
		}
	}
}

// Resume lets a paused server go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

// Restart kills the server, and starts it again on the same port with its data.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	for range 100 { // another process may have the port for a moment
		if s.run() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatalf("%s does not start again:\n%s", s.Name, s.log())
}

// Exec runs statements past the store, as a user with all rights, and returns what they print.
func (s *Server) Exec(statements string) string {
	s.t.Helper()
	return s.exec(s.database, statements)
}

func (s *Server) exec(database, statements string) string {
	s.t.Helper()
	_, port, _ := net.SplitHostPort(s.Address)
	client := exec.Command("psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", port, "-U", "sched", "-d",
		database, "-c", statements)
	if s.Name == MariaDB.Name {
		client = exec.Command("mariadb", "--no-defaults", "-N", "-B", "-h", "127.0.0.1", "-P", port, "-u", "sched",
			"-D", database, "-e", statements)
	}
	client.Env = append(os.Environ(), "PGPASSWORD=secret", "MYSQL_PWD=secret")
	out, err := client.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", statements, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Command is a command that runs as the user of the server.
func (s *Server) Command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir, c.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: s.login}
	return c
}
