package queue_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/queue"
)

// waiter is a run that began to wait so long ago.
func waiter(run string, ago time.Duration) mutex.Holder {
	return mutex.Holder{Run: run, Task: "task-" + run, Since: time.Now().Add(-ago)}
}

// first returns the run that an error of Behind or Stand names; "" for none.
func first(t *testing.T, err error) string {
	t.Helper()
	var behind *queue.BehindError
	if err != nil && !errors.As(err, &behind) {
		t.Fatal(err)
	}
	if err == nil {
		return ""
	}
	if !errors.As(err, new(*mutex.HeldError)) {
		t.Errorf("%v reads as unknown", err)
	}
	return behind.First.Run
}

func TestWhoBeganToWaitFirstIsFirst(t *testing.T) {
	q := queue.Queue{Dir: t.TempDir()}
	places := map[string]*queue.Place{}
	stand := func(run string, ago time.Duration, names ...string) string {
		if places[run] == nil {
			places[run] = q.Join(waiter(run, ago))
		}
		return first(t, places[run].Stand(names...))
	}
	for _, row := range []struct {
		run   string
		ago   time.Duration
		names []string
		first string
	}{
		{"b", 2 * time.Minute, []string{"db"}, ""},
		{"c", time.Minute, []string{"db", "few#"}, "b"},
		{"a", 3 * time.Minute, []string{"db"}, ""}, // the rank is that of when it began
		{"b", 2 * time.Minute, []string{"db"}, "a"},
		{"d", time.Second, []string{"few#"}, "c"},
		{"c", time.Minute, []string{"db"}, "a"}, // gives back its place for a seat
		{"d", time.Second, []string{"few#"}, ""},
	} {
		if got := stand(row.run, row.ago, row.names...); got != row.first {
			t.Errorf("%s in %v finds %q before it, not %q", row.run, row.names, got, row.first)
		}
	}
	for name, want := range map[string]string{"db": "a", "few#": "d", "other": ""} {
		if got := first(t, q.Behind(name)); got != want {
			t.Errorf("%s: %q is first, not %q", name, got, want)
		}
	}
	places["a"].Leave()
	if got := stand("b", 2*time.Minute, "db"); got != "" {
		t.Errorf("%s has left", got)
	}
	for _, place := range places {
		place.Leave()
	}
	if got := first(t, q.Behind("db", "few#")); got != "" {
		t.Errorf("%s has left", got)
	}
}

// The folder of the queues was removed: who stood in a queue stands there again, as before.
func TestAPlaceThatIsLostIsTakenAgain(t *testing.T) {
	q := queue.Queue{Dir: t.TempDir()}
	of := waiter("a", 2*time.Minute)
	place := q.Join(of)
	if err := place.Stand("db"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(q.Dir, "queues")); err != nil {
		t.Fatal(err)
	}
	other := q.Join(waiter("b", time.Minute))
	if err := other.Stand("db"); err != nil {
		t.Fatal(err)
	}
	if err := place.Stand("db"); err != nil {
		t.Errorf("it is not where it was: %v", err)
	}
	if got := first(t, other.Stand("db")); got != "a" {
		t.Errorf("%q is first", got)
	}
	place.Leave()
	other.Leave()
}

// What was killed leaves a file that nobody has locked, or one that it was making. A mutex may be named as these were once.
func TestTheFilesOfThoseThatWereKilledAreRemoved(t *testing.T) {
	q := queue.Queue{Dir: t.TempDir()}
	place := q.Join(waiter("a", time.Minute))
	if err := place.Stand("b.draft"); err != nil {
		t.Fatal(err)
	}
	if got := first(t, q.Behind("b.draft")); got != "a" {
		t.Errorf("%q waits for it", got)
	}
	file := func(name string, age time.Duration) {
		path := filepath.Join(q.Dir, "queues", name)
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	file("0000000000000001-dead@db", 0)
	if got := first(t, q.Behind("db")); got != "" {
		t.Errorf("%s is dead", got)
	}
	file("0000000000000001-dead@db", 0)
	file("draft-killed", 25*time.Hour)
	file("draft-new", 0)
	q.Sweep(time.Now())
	entries, err := os.ReadDir(filepath.Join(q.Dir, "queues"))
	if err != nil || len(entries) != 2 || entries[1].Name() != "draft-new" {
		t.Errorf("%v, %v", entries, err)
	}
	place.Leave()
}

// Runs that wait in one process share what they see of the folder. Who comes sees all the same who came before, and soon each sees who has left.
func TestWhoComesSeesThoseThatCameBefore(t *testing.T) {
	process := queue.Queue{Dir: t.TempDir(), Seen: &queue.Seen{}}
	another := queue.Queue{Dir: process.Dir}
	stand := func(q queue.Queue, run string, ago time.Duration) *queue.Place {
		place := q.Join(waiter(run, ago))
		if got := first(t, place.Stand("db")); got != "" {
			t.Fatalf("%s is before %s", got, run)
		}
		return place
	}
	for i := range 50 { // each has its place a moment after the one before has looked
		older, newer := time.Duration(2*i+2)*time.Second, time.Duration(2*i+1)*time.Second
		before := stand(another, fmt.Sprintf("other-%d", i), older)
		place := process.Join(waiter(fmt.Sprintf("run-%d", i), newer))
		defer place.Leave() // and not before: the garbage collector closes the file of a place that nobody has any more
		if got, want := first(t, place.Stand("db")), fmt.Sprintf("other-%d", i); got != want {
			t.Fatalf("%q is first, not %s", got, want)
		}
		before.Leave()
		for end := time.Now().Add(10 * time.Second); first(t, place.Stand("db")) != ""; {
			if time.Now().After(end) {
				t.Fatal("who has left is still there")
			}
		}
		if got := first(t, process.Behind("db")); got != fmt.Sprintf("run-%d", i) {
			t.Fatalf("%q is first", got)
		}
	}
}
