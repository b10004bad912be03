package follow

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"sched/schedule/outcome"
	captured "sched/schedule/output"
	"sched/schedule/state"
)

// collected are the lines that a follower printed.
type collected struct {
	mu    sync.Mutex
	lines []string
}

func (c *collected) print(line outputLine) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := line.Task + ": " + line.Text
	if line.Stream == ofHooks {
		text = line.Task + " hook: " + line.Text
	}
	c.lines = append(c.lines, text)
	return nil
}

func (c *collected) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines)
}

// until waits until as many lines were printed.
func (c *collected) until(t *testing.T, lines int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); len(c.all()) < lines; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("only %q were printed", c.all())
		}
	}
}

// begin begins a run, and returns its record, and what ends it.
func begin(t *testing.T, dir, task string) (r state.Row, end func()) {
	t.Helper()
	r = state.Row{ID: outcome.NewID(), Task: task, Mutex: task, Slot: time.Unix(0, 0), Origin: "by a test"}
	r.Output = captured.Path(dir, r)
	db, err := state.Open(dir, state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	self := db.Self(state.Tick)
	t.Cleanup(func() { self.Close(); db.Close() })
	own, err := self.Owned(t.Context())
	if err = errors.Join(err, own.Begin(t.Context(), r), os.MkdirAll(filepath.Dir(r.Output), 0o700)); err != nil {
		t.Fatal(err)
	}
	return r, func() {
		end := state.Ending{Result: state.Result{Outcome: outcome.Succeeded, Ended: time.Now()}}
		if err := own.Apply(t.Context(), state.End(end), &r); err != nil {
			t.Error(err)
		}
	}
}

// says appends to a file, as a command does.
func says(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	file.WriteString(text)
}

func TestLinesComeWhole(t *testing.T) {
	dir, got := t.TempDir(), &collected{}
	f := newFollower(dir, nil, nil, got.print)
	ctx, end := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { f.follow(ctx); close(over) }()
	r, _ := begin(t, dir, "a")
	f.addRun(r)
	says(t, r.Output, "one\ntw")
	got.until(t, 1)
	says(t, r.Output, "o\nthree")
	got.until(t, 2)
	if !f.catchUp(r.ID, 20*time.Second) {
		t.Error("it does not catch up")
	}
	end()
	<-over
	if want := []string{"a: one", "a: two", "a: three"}; !slices.Equal(got.all(), want) {
		t.Errorf("got %q, want %q", got.all(), want)
	}
}

// A run that begins and ends between two looks is found, too, and so are its hooks, whose lines
// come after the lines of the command; runs of before are not.
func TestAllRunsOfAStateFolderAreFound(t *testing.T) {
	dir, got := t.TempDir(), &collected{}
	before, _ := begin(t, dir, "before")
	says(t, before.Output, "x\n")
	time.Sleep(2 * time.Millisecond) // the ids of a millisecond have no order
	f := newFollower(dir, nil, Discover(dir, nil), got.print)
	for _, task := range []string{"a", "b/c", "a"} {
		r, over := begin(t, dir, task)
		says(t, r.Output, "of "+task+"\n")
		says(t, filepath.Join(filepath.Dir(r.Output), r.ID+".hooks.log"), "told")
		over()
	}
	ctx, end := context.WithCancel(context.Background())
	end()
	f.follow(ctx)
	want := []string{"a: of a", "a hook: told", "a: of a", "a hook: told", "b/c: of b/c", "b/c hook: told"}
	if lines := got.all(); !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
	if len(f.files) > 0 {
		t.Errorf("%d files are still followed", len(f.files))
	}
}

// The output of a run is opened before its row is written. A look between the two loses no line.
func TestARunWhoseRowIsNotWrittenYetIsFollowed(t *testing.T) {
	dir, got := t.TempDir(), &collected{}
	begin(t, dir, "before") // the database is there
	f := newFollower(dir, nil, nil, got.print)
	ctx, end := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { f.follow(ctx); close(over) }()
	r := state.Row{ID: outcome.NewID(), Task: "a"}
	r.Output = captured.Path(dir, r)
	f.addRun(r)
	f.catchUp("another", 20*time.Second) // it has looked
	if err := os.MkdirAll(filepath.Dir(r.Output), 0o700); err != nil {
		t.Fatal(err)
	}
	says(t, r.Output, "one\n")
	got.until(t, 1)
	end()
	<-over
}

// Neither AddRun nor CatchUp hangs with a reader that hangs.
func TestAReaderThatHangsStopsTheFollowerAlone(t *testing.T) {
	dir, hangs := t.TempDir(), make(chan struct{})
	f := newFollower(dir, nil, nil, func(outputLine) error { <-hangs; return nil })
	ctx, end := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { f.follow(ctx); close(over) }()
	for range 3 {
		r, _ := begin(t, dir, "a")
		says(t, r.Output, "x\n")
		f.addRun(r)
		if f.catchUp(r.ID, 10*time.Millisecond) {
			t.Error("it has caught up while its reader hangs")
		}
	}
	end()
	close(hangs)
	<-over
	if f.printed.Load() != 3 {
		t.Errorf("%d lines were printed", f.printed.Load())
	}
}
