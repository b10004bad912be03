package sqlstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/sqlstore"
	"sched/mutex/sqltest"
	"sched/mutex/storetest"
)

var ctx = context.Background()

func holder(run string) mutex.Holder { return mutex.Holder{Run: run, PID: 7, Host: "web-1"} }

// open opens a store of a schedule as one more process would.
func open(t testing.TB, namespace, url string) mutex.Store {
	t.Helper()
	s, err := sqlstore.Open(mutex.Config{Servers: []string{url}, Namespace: namespace, Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// until waits until something is so.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not so: %s", what)
		}
	}
}

// heldBy checks that an error says that a run has it.
func heldBy(t *testing.T, err error, run string) {
	t.Helper()
	var held *mutex.HeldError
	if !errors.As(err, &held) || held.Holder.Run != run {
		t.Fatalf("it is not held by %q: %v", run, err)
	}
}

func TestMain(m *testing.M) { sqltest.Main(m) }

// onShared runs a test with a database of each kind, on a server that other tests use too.
func onShared(t *testing.T, test func(t *testing.T, server *sqltest.Server)) {
	t.Parallel()
	for _, kind := range sqltest.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			test(t, sqltest.Shared(t, kind))
		})
	}
}

// onEach runs a test with a server of each kind of its own.
func onEach(t *testing.T, test func(t *testing.T, server *sqltest.Server)) {
	t.Parallel()
	for _, kind := range sqltest.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			test(t, sqltest.Start(t, kind))
		})
	}
}

func TestEachDatabaseKeepsTheContract(t *testing.T) {
	onShared(t, func(t *testing.T, server *sqltest.Server) {
		storetest.Contract(t, func(t *testing.T) func() mutex.Store {
			name := t.Name()
			return func() mutex.Store { return open(t, name, server.URL("")) }
		})
	})
}
