package redisserver_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"sched/mutex/redisserver"
	"sched/mutex/redistest"
	"sched/mutex/redisurl"
)

// granted is the key of what each instance granted.
const granted = "sched:{shop}:granted"

// open returns a server as one more process would have it.
func open(t *testing.T, url string) *redisserver.Server {
	t.Helper()
	server, _ := remembering(t, url, "")
	return server
}

// remembering is open for a process that has the file of instances at the path.
func remembering(t *testing.T, url, path string) (*redisserver.Server, *redisserver.Instances) {
	t.Helper()
	target, err := redisurl.Parse(url, "/srv/shop")
	if err != nil {
		t.Fatal(err)
	}
	known := new(redisserver.Instances)
	if path != "" {
		known.Load(path, time.Minute)
	}
	server := redisserver.New(target, time.Minute, granted, known)
	t.Cleanup(server.Close)
	return server, known
}

var (
	setScript   = redisserver.Script{Text: `redis.call('SET', KEYS[1], ARGV[2], 'PX', 60000) return {'ours'}`}
	grantScript = redisserver.Script{Text: `redis.call('SET', KEYS[1], ARGV[2], 'PX', 60000) return {'ours', '', '', '', count(KEYS[2], ARGV[3])}`}
)

// set is a request that writes a key.
func set(key string) redisserver.Request {
	return redisserver.Request{Script: &setScript, Keys: []string{"sched:{shop}:" + key}, Args: []any{"run-1"}, End: time.Now().Add(redisserver.Timeout)}
}

// grant is a request that writes a key, and counts that as a grant.
func grant(key string) redisserver.Request {
	q := set(key)
	q.Script, q.Keys, q.Grants = &grantScript, append(q.Keys, granted), true
	return q
}

func ours(t *testing.T, a redisserver.Answer) {
	t.Helper()
	if a.Err != nil || a.Word(0) != "ours" {
		t.Fatalf("%q, %v", a.Words, a.Err)
	}
}

// unknown returns why there is no answer.
func unknown(t *testing.T, a redisserver.Answer) (e *redisserver.Error) {
	t.Helper()
	if !errors.As(a.Err, &e) {
		t.Fatalf("%q, %v", a.Words, a.Err)
	}
	return e
}

// send sends a command to a server.
func send(t *testing.T, url string, args ...any) {
	t.Helper()
	err := open(t, url).Do(t.Context(), func(ctx context.Context, c *redis.Client) error { return c.Do(ctx, args...).Err() })
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}

// A connection that a server or a box on the way has closed says nothing about the server.
func TestAConnectionThatBreaksIsReplaced(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	server := open(t, s.URL)
	for range 50 {
		ours(t, server.Run(grant("key")))
		send(t, s.URL, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		ours(t, server.Run(set("key")))
		send(t, s.URL, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	}
	if err := server.Down(); err != nil {
		t.Error(err)
	}
}

// Nobody knows whether a request was done whose connection breaks, and each may be done twice.
func TestARequestWhoseConnectionBreaksIsSentAgain(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := redistest.StartProxy(t, s)
	server := open(t, p.URL)
	for _, cut := range []redistest.Cut{redistest.AtRequest, redistest.AtAnswer} {
		ours(t, server.Run(grant("key"))) // on a connection that is there
		p.Set(redistest.Fault{Cut: cut})
		ours(t, server.Run(set("key")))
	}
	if err := server.Down(); err != nil {
		t.Error(err)
	}
}

// A request that waited behind another until its sender had given up was sent all the same, with those that came after it.
func TestWhatNobodyWaitsForIsNotSent(t *testing.T) {
	s := redistest.Start(t)
	p := redistest.StartProxy(t, s)
	server := open(t, p.URL)
	ours(t, server.Run(grant("warm")))
	asked := s.TrafficOf(t, func() {
		var both sync.WaitGroup
		s.Pause()
		before := p.Requests()
		both.Go(func() { server.Run(grant("first")) })
		for end := time.Now().Add(20 * time.Second); p.Requests() == before && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		both.Go(func() { server.Run(grant("second")) })
		third := grant("third")
		third.End = time.Now().Add(50 * time.Millisecond)
		if server.Run(third).Err == nil {
			t.Error("a Redis that is stopped answers")
		}
		s.Resume()
		both.Wait()
	})
	if n := asked.Commands["EVALSHA"] + asked.Commands["EVAL"]; n > 2 {
		t.Errorf("%d requests were sent: %v", n, asked.Commands)
	}
}

// The clock of Redis is set while we are connected: a wrong deadline is corrected by the answer.
func TestAClockThatIsSetStopsNoRequest(t *testing.T) {
	m := miniredis.RunT(t)
	server := open(t, "redis://"+m.Addr())
	for _, now := range []time.Time{time.Now(), time.Now().Add(time.Hour), time.Now().Add(-48 * time.Hour), time.Now().Add(24 * time.Hour)} {
		m.SetTime(now)
		ours(t, server.Run(grant("key")))
		ours(t, server.Run(set("key")))
	}
}

func TestAFileOfInstancesThatIsDamagedOrCannotBeWrittenIsAsNone(t *testing.T) {
	s := redistest.Start(t)
	for _, text := range []string{"", "{", "null", `{"a": 7}`, "[]"} {
		path := filepath.Join(t.TempDir(), "redis.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			server, known := remembering(t, s.URL, path)
			ours(t, server.Run(grant("key")))
			known.Save()
		}
		if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
			t.Errorf("%q", left)
		}
	}
	server, _ := remembering(t, s.URL, "/no/such/folder/redis.json")
	ours(t, server.Run(grant("key")))
}
