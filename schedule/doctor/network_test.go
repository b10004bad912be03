package doctor

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule/cluster"
	"sched/testing/redistest"
)

// storeFound is what the check of the store finds, in lines.
func storeFound(s *Subject) string {
	var lines []string
	for _, f := range checkStore(context.Background(), s) {
		lines = append(lines, string(f.Level)+" "+f.Text)
	}
	return strings.Join(lines, "\n")
}

func TestAnotherScheduleOfTheSameNameIsFound(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r mutex.Store) {
		s := subjectIn(t, "{name: shop, tasks: []}")
		s.Store, s.Server = r, "web-1"
		tick := func(server, file, digest string) {
			t.Helper()
			tick := cluster.Server{Name: server, Minute: s.Now, File: file, Digest: digest}
			if _, _, err := cluster.Announce(context.Background(), r, time.Now, tick); err != nil {
				t.Fatal(err)
			}
		}
		tick("web-1", s.Schedule.File, "the text before an edit")
		tick("web-2", "/srv/shop/schedule.yaml", s.Schedule.Digest)
		if found := storeFound(s); strings.Contains(found, "name shop") {
			t.Errorf("one schedule: %s", found)
		}
		tick("web-2", "/srv/shop/schedule.yaml", "another")
		if found := storeFound(s); !strings.Contains(found,
			"warning web-2 ticks another text under the name shop: its /srv/shop/schedule.yaml") {
			t.Errorf("on another server: %s", found)
		}
		other := filepath.Join(t.TempDir(), "blog.yaml")
		tick("web-1", other, s.Schedule.Digest)
		if found := storeFound(s); !strings.Contains(found,
			"problem "+other+" is ticked on this server under the name shop, too") {
			t.Errorf("on this server: %s", found)
		}
	})
}

func TestARealRedisTellsHowItIsSetUp(t *testing.T) {
	for _, test := range []struct {
		name    string
		options []string
		want    string // empty for nothing
		level   Level
	}{
		{"that keeps nothing", nil, "keeps nothing on disk", Warning},
		{"with a log", []string{"--appendonly", "yes"}, "", OK},
		{"that saves now and then", []string{"--save", "60 1"}, "", OK},
		{"that evicts", []string{"--appendonly", "yes", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"},
			"may throw locks away", Bad},
		{"that is full rather", []string{"--appendonly", "yes", "--maxmemory", "100mb"}, "", OK},
	} {
		t.Run("a Redis "+test.name, func(t *testing.T) {
			s := subjectIn(t, "tasks: []")
			s.Store = redistest.Dial(t, redistest.Start(t, test.options...).URL)
			found := slices.DeleteFunc(checkStore(context.Background(), s), func(f Result) bool {
				return strings.HasPrefix(f.Text, "the store took ") // this machine is busy
			})
			if found = append(found, Result{Level: OK}); found[0].Level != test.level ||
				!strings.Contains(found[0].Text, test.want) {
				t.Errorf("%v", found)
			}
		})
	}
}

func TestAStoreThatAnswersSlowlyOrNotIsSaid(t *testing.T) {
	redis := redistest.Start(t, "--appendonly", "yes")
	s := subjectIn(t, "tasks: []")
	s.Store = redistest.Dial(t, redis.URL)
	redis.Pause()
	awake := make(chan struct{})
	time.AfterFunc(2*slowStore, func() {
		redis.Resume()
		close(awake)
	})
	if found := storeFound(s); !strings.HasPrefix(found, "warning the store took ") {
		t.Errorf("slow: %s", found)
	}
	<-awake
	redis.Kill()
	if found := storeFound(s); !strings.HasPrefix(found, "problem ") {
		t.Errorf("gone: %s", found)
	}
}

func TestClocksOfOtherServersThatAreOffAreNamed(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r mutex.Store) {
		s := subjectIn(t, "tasks: []")
		s.Store = r
		ahead := func() time.Time { return time.Now().Add(time.Minute) }
		if _, _, err := cluster.Announce(context.Background(), r, ahead, cluster.Server{Name: "web-3"}); err != nil {
			t.Fatal(err)
		}
		if found := storeFound(s); !strings.Contains(found, "warning the clock of web-3 is ") {
			t.Error(found)
		}
	})
}
