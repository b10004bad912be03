//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A trial is one target under one fault, in a folder of its own.
type trial struct {
	target target
	fault  fault
	dir    string
	first  time.Time // the first minute that is judged
	jobs   []job

	mu      sync.Mutex
	mains   []*exec.Cmd // the main process of each server
	store   *store      // or nil
	struck  []time.Time // the slots that count, if the fault is about a part of them
	cutOff  []time.Time // slots of runs that went on when the scheduler was killed
	unseen  string      // why the target did not suffer the fault
	verdict verdict
}

// A job is a line of a schedule.
type job struct {
	name    string
	cron    string
	single  bool   // it must not run beside itself
	seconds int    // it runs for so long
	line    string // or what it does instead
}

// script is what each job is: it writes a line as it begins, one each second, and one as it ends.
// Its own clock is the real one, whatever the clock of its scheduler is.
const script = `#!/bin/sh
unset LD_PRELOAD
note() { echo "$1 $2 $$ $(date +%s%N) ${FIELD_OF##*/}" >>"$journal"; }
journal=$3
note begin "$1"
left=$2
while [ "$left" -gt 0 ]; do
  sleep 1
  left=$((left - 1))
  note beat "$1"
done
note end "$1"
`

func (t *trial) path(name string) string { return filepath.Join(t.dir, name) }

// command is the line of a job for a shell.
func (t *trial) command(j job) string {
	if j.line != "" {
		return j.line
	}
	return fmt.Sprintf("%s %s %d %s", t.path("job"), j.name, j.seconds, t.path("journal"))
}

// at is the beginning of a minute of the trial, and so many seconds.
func (t *trial) at(minute int, seconds float64) time.Time {
	return t.first.Add(time.Duration(minute)*time.Minute + time.Duration(seconds*float64(time.Second)))
}

// run does the trial. An error is one of the bench: the target could not be started.
func (t *trial) run() error {
	defer t.cleanUp()
	if err := t.prepare(); err != nil {
		return err
	}
	for server := range t.target.servers {
		if err := t.start(server); err != nil {
			return err
		}
	}
	if t.fault.strike != nil {
		if err := t.fault.strike(t); err != nil {
			return err
		}
	}
	if t.fault.night == nil {
		time.Sleep(time.Until(t.at(minutes-1, 40)))
	}
	t.end()
	return t.judge()
}

// prepare writes the folder.
func (t *trial) prepare() error {
	if err := os.MkdirAll(t.path("state"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(t.path("job"), []byte(script), 0o755); err != nil {
		return err
	}
	var table strings.Builder
	for _, j := range t.jobs {
		fmt.Fprintf(&table, "%s\t%s\t%t\t%s\n", j.name, j.cron, j.single, t.command(j))
	}
	if err := os.WriteFile(t.path("lines.tsv"), []byte(table.String()), 0o644); err != nil {
		return err
	}
	if t.fault.disk {
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m,mode=755", "tmpfs", t.path("state")).CombinedOutput(); err != nil {
			return fmt.Errorf("mount: %w: %s", err, out)
		}
	}
	if t.target.store == nil {
		return nil
	}
	s, err := t.target.store(t.path("store"))
	t.store = s
	return err
}

// mark is in the environment of each process of a server.
func (t *trial) mark(server int) string { return fmt.Sprintf("FIELD_OF=%s/%d", t.dir, server) }

// start starts the scheduler of a server.
func (t *trial) start(server int) error {
	log, err := os.OpenFile(t.path("log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	c, err := t.target.command(t, server)
	if err != nil {
		return err
	}
	zone := "UTC"
	if t.fault.night != nil {
		zone = t.fault.night.zone
	}
	c.Env = append(append(os.Environ(), "TZ="+zone, "HOME="+t.dir, "NO_COLOR=1", t.mark(server)), c.Env...)
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.Dir == "" {
		c.Dir = t.dir
	}
	if err := c.Start(); err != nil {
		return err
	}
	go c.Wait() // a child that nobody waits for would look alive
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.mains) <= server {
		t.mains = append(t.mains, nil)
	}
	t.mains[server] = c
	return nil
}

// processes returns the processes of a server that are not jobs, or those that are.
func (t *trial) processes(server int, jobs bool) (pids []int) {
	mark, jobPath := []byte("\x00"+t.mark(server)+"\x00"), []byte(t.path("job"))
	for _, p := range allProcesses(time.Now()) {
		if !bytes.Contains(p.environ, mark) {
			continue
		}
		isJob := p.program != "sched" && bytes.Contains(p.line, jobPath) ||
			bytes.HasPrefix(p.line, []byte("sleep\x00")) || bytes.HasPrefix(p.line, []byte("date\x00"))
		if isJob == jobs {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// A process is one that is marked with a trial, and no zombie.
type process struct {
	pid           int
	environ, line []byte
	program       string
}

var scan struct {
	sync.Mutex
	begun time.Time
	found []process
}

// allProcesses looks at /proc, not before some time. Trials that ask at the same time share the
// answer: a look takes a tenth of a second.
func allProcesses(notBefore time.Time) []process {
	scan.Lock()
	defer scan.Unlock()
	if !scan.begun.Before(notBefore) {
		return scan.found
	}
	scan.begun, scan.found = time.Now(), nil
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		environ, _ := os.ReadFile(path)
		if environ = append([]byte{0}, environ...); !bytes.Contains(environ, []byte("\x00FIELD_OF=")) {
			continue
		}
		dir := filepath.Dir(path)
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		program, _ := os.Readlink(filepath.Join(dir, "exe"))
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && len(line) > 0 {
			scan.found = append(scan.found, process{pid: pid, environ: environ, line: line, program: filepath.Base(program)})
		}
	}
	return scan.found
}

// signal sends a signal to all processes of a server but the jobs.
func (t *trial) signal(server int, s syscall.Signal) {
	for range 2 { // once more for what was forked meanwhile
		for _, pid := range t.processes(server, false) {
			syscall.Kill(pid, s)
		}
	}
}

// kill kills all processes of a server but the jobs.
func (t *trial) kill(server int) error {
	t.signal(server, syscall.SIGKILL)
	return t.awaitGone(server, 2*time.Second)
}

// awaitGone waits until no process of a server but its jobs is there.
func (t *trial) awaitGone(server int, patience time.Duration) error {
	return await("the end of the scheduler", patience, func() bool { return len(t.processes(server, false)) == 0 })
}

// end asks the schedulers to end, kills what does not, and counts the jobs that nobody looks after.
func (t *trial) end() {
	for server := range t.target.servers {
		syscall.Kill(t.mains[server].Process.Pid, syscall.SIGTERM)
	}
	for server := range t.target.servers {
		if t.awaitGone(server, 3*time.Second) == nil && len(t.processes(server, true)) > 0 {
			t.verdict.left++
		}
	}
}

func (t *trial) cleanUp() {
	for server := range t.target.servers {
		t.signal(server, syscall.SIGKILL)
		for _, pid := range t.processes(server, true) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if t.store != nil {
		t.store.stop()
	}
	if t.fault.disk {
		exec.Command("umount", "-l", t.path("state")).Run()
	}
}

// judge reads what the jobs and the schedulers wrote.
func (t *trial) judge() error {
	runs, err := readJournal(t.path("journal"))
	if err != nil {
		return err
	}
	if t.fault.night != nil {
		t.verdict.once(of(runs, "daily"))
		t.verdict.few, t.unseen = t.fault.night.pulse(of(runs, "often"))
		return nil
	}
	if len(runs) == 0 {
		t.unseen = "no job ever ran"
	}
	log, err := os.ReadFile(t.path("log"))
	if err != nil {
		return err
	}
	told := string(log)
	if t.target.tells != nil {
		told += t.target.tells(t)
	}
	var slots []time.Time
	for i := range minutes {
		slots = append(slots, t.at(i, 0))
	}
	counted := slots
	if t.struck != nil {
		counted = t.struck
	}
	never := t.verdict.minutely(of(runs, "short"), slots, counted)
	t.verdict.cut = len(t.cutOff)
	for _, slot := range append(never, t.cutOff...) {
		if says(told, slot) {
			t.verdict.said++
		}
	}
	for _, j := range t.jobs {
		if j.single {
			t.verdict.alone(of(runs, j.name))
		}
	}
	return nil
}

// begun reports whether the first server has begun a job since a time.
func (t *trial) begun(job string, since time.Time) (bool, error) {
	runs, err := readJournal(t.path("journal"))
	for _, r := range of(runs, job) {
		if r.server == 0 && !r.begun.Before(since) {
			return true, nil
		}
	}
	return false, err
}

// await polls until it holds.
func await(what string, patience time.Duration, holds func() bool) error {
	for end := time.Now().Add(patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			return errors.New(what + " did not happen within " + patience.String())
		}
	}
	return nil
}
