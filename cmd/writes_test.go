package cmd_test

import (
	be "encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// commits counts the transactions that the history ever had: SQLite keeps their number in the file
// (https://www.sqlite.org/fileformat2.html#file_change_counter).
func (b *box) commits() int {
	b.Helper()
	history := b.read(".sched/history.db")
	if len(history) < 28 {
		return 0
	}
	return int(be.BigEndian.Uint32([]byte(history[24:])))
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

	before := b.commits()
	tick()
	if n := b.commits() - before; n != 1 {
		t.Errorf("a tick that put %d runs away has %d transactions", many, n)
	}
	b.write("schedule.yaml", schedule+"  - {name: fore1, every: minute, command: 'true'}\n  - {name: fore2, every: minute, command: 'true'}\n")
	before = b.commits()
	tick()
	if n := b.commits() - before; n != 1 {
		t.Errorf("a tick with foreground tasks has %d transactions", n)
	}
	b.write("schedule.yaml", schedule+"  - {name: fore, every: minute, command: 'while [ ! -e seen ]; do sleep 0.02; done'}\n")
	before = b.commits()
	done := make(chan bool)
	go func() {
		tick()
		close(done)
	}()
	b.until("what has ended is written while the foreground task runs", func() bool { return b.commits()-before == 1 })
	b.write("seen", "")
	<-done
	if n := len(b.history("")); n != 5*many+3 {
		t.Errorf("%d records", n)
	}
}

// A tick waits twice for the disk: for the journal of the history, and for the history. strace sees it; where that is not
// installed, TestTheConnectionIsSetUpAsPromised says what SQLite was told.
func TestATickWithRecordsHasTwoFsyncs(t *testing.T) {
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
	if n := strings.Count(trace, "history.db"); n != 2 {
		t.Errorf("the history has %d fsyncs:\n%s", n, trace)
	}
	if n := strings.Count(trace, "sync("); n > 3 { // the third is that of the background run's own end
		t.Errorf("all have %d fsyncs:\n%s", n, trace)
	}
	if n := len(b.history("")); n != 3*3 {
		t.Errorf("%d records", n)
	}
}
