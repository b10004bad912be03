package cmd_test

import (
	"database/sql"
	be "encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// openDatabase opens sched.db until the end of the test. As long as it is open, SQLite leaves its
// log there.
func (b *box) openDatabase() *sql.DB {
	b.Helper()
	db, err := sql.Open("sqlite", b.path(".sched/sched.db"))
	if err == nil {
		b.Cleanup(func() { db.Close() })
		_, err = db.Exec("PRAGMA schema_version; SELECT count(*) FROM run")
	}
	if err != nil {
		b.Fatal(err)
	}
	return db
}

// commits counts the transactions in the log of the database: each ends with a frame that says how
// large the database is then (https://www.sqlite.org/fileformat2.html#the_write_ahead_log).
func (b *box) commits() (n int) {
	b.Helper()
	log := []byte(b.read(".sched/sched.db-wal"))
	if len(log) < 32 {
		return 0
	}
	page, salt := int(be.BigEndian.Uint32(log[8:])), string(log[16:24])
	for frame := log[32:]; len(frame) >= 24+page; frame = frame[24+page:] {
		if string(frame[8:16]) == salt && be.BigEndian.Uint32(frame[4:]) > 0 {
			n++
		}
	}
	return n
}

// What a tick writes into the history is one transaction, however many runs it puts away. Only those that foreground tasks keep
// waiting for more than a second have one of their own.
func TestATicksWritesAreOneTransaction(t *testing.T) {
	const many = 30
	schedule := "tasks:\n"
	for i := range many {
		schedule += fmt.Sprintf("  - {name: t%d, every: minute, background: true, command: 'while [ ! -e go ]; do sleep 0.02; done'}\n", i)
	}
	b := newBox(t, schedule)
	tick := func() { // and all its runs end after it
		os.Remove(b.path("go"))
		b.sched("run")
		b.write("go", "")
		b.until("all runs have ended", func() bool { return b.openRuns() == "" })
	}
	tick()
	tick() // the first pruning of the day is in this one
	b.openDatabase()

	before := b.commits()
	tick()
	if n := b.commits() - before; n != 1 {
		t.Errorf("a tick that put %d runs away has %d transactions", many, n)
	}
	b.write("schedule.yaml", schedule+"  - {name: fore1, every: minute, command: 'true'}\n  - {name: fore2, every: minute, command: 'true'}\n")
	before = b.commits()
	tick()
	if n := b.commits() - before; n != 2 { // one keeps the schedule, which has changed
		t.Errorf("a tick with foreground tasks has %d transactions", n)
	}
	b.write("schedule.yaml", schedule+"  - {name: fore, every: minute, command: 'while [ ! -e seen ]; do sleep 0.02; done'}\n")
	before = b.commits()
	done := make(chan bool)
	go func() {
		tick()
		close(done)
	}()
	b.until("what has ended is written while the foreground task runs", func() bool { return b.commits()-before == 2 })
	b.write("seen", "")
	<-done
	if n := len(b.history("")); n != 5*many+3 {
		t.Errorf("%d records", n)
	}
}

// A tick waits four times for the disk: for the beginning of the log and its name, for the log, and
// for the database. strace sees it.
func TestATickWithRecordsHasFourFsyncs(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	b := newBox(t, `
tasks:
  - {name: one, every: minute, command: "true"}
  - {name: two, every: minute, command: "true"}
  - {name: back, every: minute, command: "true", background: true}
`)
	for range 2 {
		b.sched("run")
		b.until("the background run has ended", func() bool { return b.openRuns() == "" })
	}
	// Without -f it would follow the thread alone that sched begins with; with it, processes that sched starts, too.
	c := b.command("run")
	c.Args = append([]string{strace, "-f", "-y", "-s", "0", "-e", "trace=fsync,fdatasync", "-e", "signal=none", "-o", b.path("trace")}, c.Args...)
	if c.Path = strace; c.Run() != nil {
		t.Skip("strace may not trace here")
	}
	trace := b.read("trace")
	if n := strings.Count(trace, "sched.db"); n > 3 {
		t.Errorf("the history has %d fsyncs:\n%s", n, trace)
	}
	if n := strings.Count(trace, "sync("); n > 5 { // one of the folder, one of the end of the background run
		t.Errorf("all have %d fsyncs:\n%s", n, trace)
	}
	if n := len(b.history("")); n != 3*3 {
		t.Errorf("%d records", n)
	}
}
