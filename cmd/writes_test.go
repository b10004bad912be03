package cmd_test

import (
	be "encoding/binary"
	"fmt"
	"os"
	"testing"

	"sched/schedule/history"
)

// commits counts the transactions in the write-ahead log of the history: each ends with a frame that names the
// size of the database (https://www.sqlite.org/fileformat2.html#the_write_ahead_log).
func (b *box) commits() (n int) {
	b.Helper()
	wal, err := os.ReadFile(b.path(".sched/history.db-wal"))
	if err != nil || len(wal) < 32 {
		return 0
	}
	page, salt := int(be.BigEndian.Uint32(wal[8:])), string(wal[16:24])
	for at := 32; at+24+page <= len(wal); at += 24 + page {
		frame := wal[at : at+24]
		if string(frame[8:16]) == salt && be.BigEndian.Uint32(frame[4:]) != 0 {
			n++
		}
	}
	return n
}

// What a tick writes into the history is one transaction, however many runs it puts away. A tick that runs
// foreground tasks may have two: it does not keep what has ended waiting for them.
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

	db, err := history.OpenRead(b.path(".sched")) // keeps the log from being folded in and removed
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Find(t.Context(), history.Query{Limit: 1}); err != nil {
		t.Fatal(err)
	}
	before := b.commits()
	tick()
	if n := b.commits() - before; n != 1 {
		t.Errorf("a tick that put %d runs away has %d transactions", many, n)
	}
	b.write("schedule.yaml", schedule+"  - {name: fore1, every: minute, command: 'true'}\n  - {name: fore2, every: minute, command: 'true'}\n")
	before = b.commits()
	tick()
	if n := b.commits() - before; n < 1 || n > 2 {
		t.Errorf("a tick with foreground tasks has %d transactions", n)
	}
	if n := len(b.history("")); n != 4*many+2 {
		t.Errorf("%d records", n)
	}
}
