package redis_test

import (
	"strings"
	"testing"

	"sched/testing/redistest"
)

func TestWhatMayGoWrongWithAServerIsKnown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what string
		url  func(t *testing.T) string
		want []string
	}{
		{"a Redis that saves", func(t *testing.T) string { return redistest.Start(t, "--appendonly", "yes").URL }, nil},
		{"a Redis that forgets and evicts", func(t *testing.T) string {
			return redistest.Start(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru").URL
		}, []string{"may throw locks away when its memory is full", "keeps nothing on disk"}},
		{"a Cluster", func(t *testing.T) string { return redistest.StartCluster(t, "--appendonly", "yes").URL },
			[]string{"takes writes while no replica gets them"}},
		{"Sentinels", func(t *testing.T) string { return redistest.StartSentinels(t, "--appendonly", "yes").URL },
			[]string{"takes writes while no replica gets them"}},
		{"a Redis that is full", func(t *testing.T) string {
			full := redistest.Start(t, "--appendonly", "yes")
			do(t, full.URL, "CONFIG", "SET", "maxmemory", "1")
			return full.URL
		}, []string{"is full, and takes no writes: it uses "}},
		{"a replica", func(t *testing.T) string {
			return redistest.Start(t, "--replicaof", "127.0.0.1", "1", "--repl-diskless-load", "disabled").URL
		}, []string{"is a replica, which takes no writes"}},
		{"a Redis that is down", func(t *testing.T) string { return "redis://" + closedPort(t) }, nil},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			risks, err := open(t, "shop", tt.url(t)).Risks(ctx)
			if len(risks) != len(tt.want) || (err != nil) != (tt.what == "a Redis that is down") {
				t.Fatalf("%+v, %v", risks, err)
			}
			for i, want := range tt.want {
				if !strings.Contains(risks[i].Text, want) || risks[i].Hint == "" ||
					risks[i].Evicts != strings.Contains(want, "throw") ||
					risks[i].Refuses != strings.Contains(want, "takes no writes") {
					t.Errorf("%+v, and not %s", risks[i], want)
				}
			}
		})
	}
}
