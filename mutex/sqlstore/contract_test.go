package sqlstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/sqlstore"
	"sched/testing/sqltest"
	"sched/testing/storetest"
)

var (
	ctx = context.Background()

	holder, acquire, heldBy = storetest.Holder, storetest.Acquire, storetest.HeldBy
	until, useAll           = storetest.Until, storetest.UseAll
)

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

// The servers of tests are set up to be fast.
func TestAServerThatMayForgetItsCommitsIsARisk(t *testing.T) {
	onShared(t, func(t *testing.T, server *sqltest.Server) {
		risks, err := open(t, "shop", server.URL("")).Risks(ctx)
		if err != nil || len(risks) != 1 || !strings.Contains(risks[0].Text, "may forget the last commits") {
			t.Errorf("%v, %v", risks, err)
		}
	})
}

func TestAServerThatTakesNoWritesIsARisk(t *testing.T) {
	onEach(t, func(t *testing.T, server *sqltest.Server) {
		useAll(t, open(t, "shop", server.URL("")))
		readOnly := "SET GLOBAL read_only = 1"
		if server.Name == sqltest.Postgres.Name {
			readOnly = "ALTER DATABASE " + server.Database() + " SET default_transaction_read_only = on"
		}
		server.Exec(readOnly)
		risks, err := open(t, "shop", server.URL("")).Risks(ctx)
		if err != nil || len(risks) != 1 || !risks[0].Refuses || !strings.Contains(risks[0].Text, "takes no writes") {
			t.Errorf("%+v, %v", risks, err)
		}
	})
}

func TestEachDatabaseKeepsTheContract(t *testing.T) {
	onShared(t, func(t *testing.T, server *sqltest.Server) {
		storetest.Contract(t, func(t *testing.T) func() mutex.Store {
			name := t.Name()
			return func() mutex.Store { return open(t, name, server.URL("")) }
		})
	})
}
