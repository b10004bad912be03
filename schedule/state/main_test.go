package state

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
)

// childEnv tells the test binary to be another process of a test: one of children.
const childEnv = "STATE_TEST_CHILD"

// children are the programs of other processes, by name. A child prints for the test; an error ends
// it with exit code 1.
var children = map[string]func(dir string, out io.Writer) error{}

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		if err := children[name](os.Getenv("STATE_TEST_DIR"), os.Stdout); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A child is another process of a test.
type child struct {
	*exec.Cmd
	out *bufio.Reader
	in  io.WriteCloser
}

// start starts another process in the folder. It is killed at the end of the test.
func start(t testing.TB, name, dir string, change ...func(*exec.Cmd)) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(os.Args[0])}
	c.Env = append(os.Environ(), childEnv+"="+name, "STATE_TEST_DIR="+dir)
	c.Stderr = os.Stderr
	for _, do := range change {
		do(c.Cmd)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		c.in, err = c.StdinPipe()
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	t.Cleanup(func() { c.kill() })
	return c
}

// line returns the next line that the process prints; empty when it has ended.
func (c *child) line() string {
	line, _ := c.out.ReadString('\n')
	return line
}

func (c *child) kill() {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// run runs another process, and returns its output.
func run(t testing.TB, name, dir string, change ...func(*exec.Cmd)) string {
	t.Helper()
	c := start(t, name, dir, change...)
	c.in.Close()
	out, _ := io.ReadAll(c.out)
	if err := c.Wait(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	return string(out)
}

var (
	ctx  = context.Background()
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

// folder returns a state folder.
func folder(t testing.TB) string {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// open opens the database in a folder, and closes it at the end of the test.
func open(t testing.TB, dir string) *DB {
	t.Helper()
	db, err := Open(dir, Patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// owned returns an owner of this process.
func owned(t testing.TB, db *DB) Owned {
	t.Helper()
	o, err := db.Owners().Enroll(ctx, Tick)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return db.Owners().Owned(o)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// add adds rows in a plan of their own.
func add(t testing.TB, db *DB, rows ...Row) {
	t.Helper()
	plan, err := db.Plan(ctx)
	must(t, err)
	defer plan.Rollback()
	_, err = plan.Add(ctx, rows)
	must(t, err)
	must(t, plan.Commit())
}

// due is a slot of the schedule that an owner is about to start.
func due(task string, slot time.Time, owner int64) Row {
	return Row{ID: outcome.NewIDAt(slot), Task: task, Mutex: task, Slot: slot, Scheduled: true, Server: "web-1",
		Snapshot: json.RawMessage(fmt.Sprintf(`{"name":%q}`, task)), Phase: Ready, Owner: owner}
}

// ended is a slot of the schedule that ran for a second, or did not.
func ended(task string, slot time.Time, became outcome.Outcome) Row {
	r := due(task, slot, 0)
	r.Phase, r.Result = Ended, Result{Outcome: became, Ended: slot.Add(2 * time.Second)}
	if r.Ran() {
		r.Started, r.Attempt = slot.Add(time.Second), Attempt{Number: 1, At: slot.Add(time.Second)}
	}
	return r
}

func get(t testing.TB, db *DB, id string) Row {
	t.Helper()
	r, err := db.Runs().Row(ctx, id)
	must(t, err)
	return r
}

// allRows returns the rows of every phase but planned, the newest first.
func allRows(t testing.TB, db *DB) (rows []Row) {
	t.Helper()
	must(t, db.read(ctx, func(q querier) (err error) {
		rows, err = RowsOf(ctx, q, SelectRows()+"WHERE phase <> 'planned' ORDER BY slot DESC, id DESC")
		return err
	}))
	return rows
}

// endedRows returns the rows that have ended, the newest first.
func endedRows(t testing.TB, db *DB) []Row {
	t.Helper()
	return slices.DeleteFunc(allRows(t, db), func(r Row) bool { return r.Phase != Ended })
}
