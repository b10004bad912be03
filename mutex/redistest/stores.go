package redistest

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/mutex"
)

// OnEachStore runs a test on each kind of store: a miniredis, a redis-server where there is one, three servers, and a Redis Cluster.
func OnEachStore(t *testing.T, test func(*testing.T, *mutex.Redis)) {
	t.Run("miniredis", func(t *testing.T) { test(t, Dial(t, "redis://"+miniredis.RunT(t).Addr())) })
	t.Run("redis-server", func(t *testing.T) { test(t, Dial(t, Start(t).URL)) })
	t.Run("three servers", func(t *testing.T) {
		test(t, Dial(t, "redis://"+miniredis.RunT(t).Addr(), "redis://"+miniredis.RunT(t).Addr(), "redis://"+miniredis.RunT(t).Addr()))
	})
	t.Run("Redis Cluster", func(t *testing.T) { test(t, Dial(t, StartCluster(t).URL)) })
}

// Dial opens a store with a namespace of tests, and closes it when the test has ended.
func Dial(t *testing.T, urls ...string) *mutex.Redis {
	t.Helper()
	r, err := mutex.Dial(mutex.Config{Servers: urls, Namespace: "shop", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}
