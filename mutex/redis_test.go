package mutex_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/mutex/redistest"
)

// dial opens a store as one more process would.
func dial(t testing.TB, servers ...string) *mutex.Redis {
	t.Helper()
	return dialWith(t, mutex.Config{Servers: servers})
}

func dialWith(t testing.TB, c mutex.Config) *mutex.Redis {
	t.Helper()
	c.Namespace = "shop"
	r, err := mutex.Dial(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// do sends a command to a server past the store.
func do(t testing.TB, url string, args ...any) any {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(options)
	defer c.Close()
	reply, err := c.Do(ctx, args...).Result()
	if err != nil && err != redis.Nil {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

// three starts three independent servers.
func three(t *testing.T) (servers []*redistest.Server, urls []string) {
	for range 3 {
		s := redistest.Start(t)
		servers, urls = append(servers, s), append(urls, s.URL)
	}
	return servers, urls
}

func TestRedisKeepsTheContract(t *testing.T) {
	t.Run("miniredis", func(t *testing.T) {
		testStore(t, func(t *testing.T) opener {
			m := miniredis.RunT(t)
			return func() mutex.Locks { return dial(t, "redis://"+m.Addr()) }
		})
	})
	t.Run("redis-server", func(t *testing.T) {
		s := redistest.Start(t)
		testStore(t, func(t *testing.T) opener {
			name := t.Name()
			return func() mutex.Locks { return named(t, name, s.URL) }
		})
	})
	t.Run("redis-server on a unix socket, in another database", func(t *testing.T) {
		s := redistest.Start(t)
		testStore(t, func(t *testing.T) opener {
			name := t.Name()
			return func() mutex.Locks { return named(t, name, "unix://"+s.Socket+"?db=3") }
		})
	})
	for name, start := range map[string]func(*testing.T) string{
		"Sentinels": func(t *testing.T) string { return redistest.StartSentinels(t).URL },
		"a Cluster": func(t *testing.T) string { return redistest.StartCluster(t).URL },
		"TLS with certificates": func(t *testing.T) string {
			c := redistest.MakeCertificates(t)
			return "rediss://" + redistest.Start(t, c.Options()...).Address + "?ca=" + c.CA + "&cert=" + c.Cert + "&key=" + c.Key
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := start(t)
			testStore(t, func(t *testing.T) opener {
				name := t.Name()
				return func() mutex.Locks { return named(t, name, url) }
			})
		})
	}
	t.Run("three of them", func(t *testing.T) {
		_, urls := three(t)
		testStore(t, func(t *testing.T) opener {
			name := t.Name()
			return func() mutex.Locks { return named(t, name, urls...) }
		})
	})
}

// named opens a store of another schedule.
func named(t *testing.T, name string, servers ...string) *mutex.Redis {
	t.Helper()
	r, err := mutex.Dial(mutex.Config{Servers: servers, Namespace: name, Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestSharedKeepsTheContract(t *testing.T) {
	t.Run("miniredis", func(t *testing.T) {
		testStore(t, func(t *testing.T) opener {
			m, dir := miniredis.RunT(t), filepath.Join(t.TempDir(), "locks")
			return func() mutex.Locks { return mutex.NewStore(mutex.Files{Dir: dir}, dial(t, "redis://"+m.Addr())) }
		})
	})
	t.Run("redis-server", func(t *testing.T) {
		s := redistest.Start(t)
		testStore(t, func(t *testing.T) opener {
			name, dir := t.Name(), filepath.Join(t.TempDir(), "locks")
			return func() mutex.Locks { return mutex.NewStore(mutex.Files{Dir: dir}, named(t, name, s.URL)) }
		})
	})
}

// With the fewest rights that are enough, without those to see the clock and the age of the server.
func TestAUserWithTheFewestRightsGetsLocks(t *testing.T) {
	s := redistest.Start(t)
	do(t, s.URL, "ACL", "SETUSER", "poor", "on", ">secret", "~sched:*", "+@read", "+@write", "+@scripting", "+time", "+@connection", "-info")
	r := dial(t, "redis://poor:secret@"+s.Address)
	lock := acquire(t, r, "backup", "run-1")
	if err := lock.Renew(ctx); err != nil {
		t.Error(err)
	}
	held(t, r, "backup", "run-1")
	release(t, lock)
}
