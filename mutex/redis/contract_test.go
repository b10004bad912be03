package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/mutex/redis"
	"sched/testing/redistest"
	"sched/testing/storetest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

var (
	ctx = context.Background()

	holder, acquire, heldBy = storetest.Holder, storetest.Acquire, storetest.HeldBy
	until, useAll           = storetest.Until, storetest.UseAll
)

// open opens a store of a schedule as one more process would.
func open(t testing.TB, namespace string, urls ...string) mutex.Store {
	t.Helper()
	s, err := redis.Open(mutex.Config{Servers: urls, Namespace: namespace, Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// do sends a command to a server past the store.
func do(t testing.TB, url string, args ...any) any {
	t.Helper()
	options, err := goredis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := goredis.NewClient(options)
	defer c.Close()
	reply, err := c.Do(ctx, args...).Result()
	if err != nil && err != goredis.Nil {
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

func TestEachKindOfRedisKeepsTheContract(t *testing.T) {
	t.Parallel()
	small := func(t *testing.T) string { return "redis://" + miniredis.RunT(t).Addr() }
	for kind, start := range map[string]func(t *testing.T) []string{
		"miniredis":       func(t *testing.T) []string { return []string{small(t)} },
		"three miniredis": func(t *testing.T) []string { return []string{small(t), small(t), small(t)} },
		"redis-server":    func(t *testing.T) []string { return []string{redistest.Start(t).URL} },
		"a unix socket, in another database": func(t *testing.T) []string {
			return []string{"unix://" + redistest.Start(t).Socket + "?db=3"}
		},
		"three servers": func(t *testing.T) []string { _, urls := three(t); return urls },
		"Sentinels":     func(t *testing.T) []string { return []string{redistest.StartSentinels(t).URL} },
		"a Cluster":     func(t *testing.T) []string { return []string{redistest.StartCluster(t).URL} },
		"TLS with certificates": func(t *testing.T) []string {
			c := redistest.MakeCertificates(t)
			return []string{"rediss://" + redistest.Start(t, c.Options()...).Address + "?ca=" + c.CA + "&cert=" +
				c.Cert + "&key=" + c.Key}
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			urls := start(t)
			storetest.Contract(t, func(t *testing.T) func() mutex.Store {
				name := t.Name()
				return func() mutex.Store { return open(t, name, urls...) }
			})
		})
	}
}
