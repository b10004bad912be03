package redistest

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/mutex"
	"sched/mutex/stores"
)

// Main runs the tests of a package, more of them at a time than there are processors: a Redis
// Cluster is up after two seconds, in which nobody has anything to do.
func Main(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	}
	m.Run()
}

// OnEachStore runs a test on each kind of store: a miniredis, a redis-server if it is installed,
// three servers, and a Redis Cluster. It runs beside other tests, and so do its four parts: they
// have nothing in common.
func OnEachStore(t *testing.T, test func(*testing.T, mutex.Store)) {
	t.Parallel()
	OnEachStoreInTurn(t, func(t *testing.T, open func() mutex.Store) {
		t.Parallel()
		test(t, open())
	})
}

// OnEachStoreInTurn is OnEachStore for a test that changes what all tests of a package have: it
// runs alone, on one store after the other. Open starts the store.
func OnEachStoreInTurn(t *testing.T, test func(t *testing.T, open func() mutex.Store)) {
	for kind, urls := range map[string]func(*testing.T) []string{
		"miniredis":     func(t *testing.T) []string { return []string{small(t)} },
		"redis-server":  func(t *testing.T) []string { return []string{Start(t).URL} },
		"three servers": func(t *testing.T) []string { return []string{small(t), small(t), small(t)} },
		"Redis Cluster": func(t *testing.T) []string { return []string{StartCluster(t).URL} },
	} {
		t.Run(kind, func(t *testing.T) { test(t, func() mutex.Store { return Dial(t, urls(t)...) }) })
	}
}

// small starts a miniredis, and returns its URL.
func small(t *testing.T) string { return "redis://" + miniredis.RunT(t).Addr() }

// Dial opens a store with a namespace of tests, and closes it when the test has ended.
func Dial(t *testing.T, urls ...string) mutex.Store {
	t.Helper()
	r, err := stores.Open(mutex.Config{Servers: urls, Namespace: "shop", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}
