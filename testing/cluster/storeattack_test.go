//go:build linux

package cluster_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/testing/redistest"
)

// dial connects a client that is not ours.
func dial(t *testing.T, server *redistest.Server) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: server.Address})
	t.Cleanup(func() { client.Close() })
	return client
}

// forge writes an entry of the board as somebody may who has the password.
func forge(t *testing.T, client *redis.Client, table, key string, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	entry := fmt.Sprintf("%d %d %s", now.UnixMicro(), now.Add(10*time.Minute).UnixMicro(), text)
	if err := client.HSet(t.Context(), "sched:{shop}:board:"+table, key, entry).Err(); err != nil {
		t.Fatal(err)
	}
}

// A nightly task once ran on none of three servers, because a Redis with all its data was taken for
// one that had lost its data.
func TestTwoRestartsWithDataAndAnIdleTickCostNoSlot(t *testing.T) {
	t.Parallel()
	store := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	s := newServers(t, 3, store.URL, `tasks: [{name: nightly, cron: "30 2 * * *", one_server: true, command: echo $SCHED_SLOT >> $SHARED/ran}]`+"\n")
	night := time.Now().UTC().Truncate(24 * time.Hour).Add(2*time.Hour + 30*time.Minute)
	if night.After(time.Now()) {
		night = night.Add(-24 * time.Hour)
	}
	tickAll := func(at time.Time) {
		t.Helper()
		for _, one := range s {
			if out, code, _ := one.tick("-q", "--at", at.Format(time.RFC3339)); code != 0 {
				t.Errorf("exit code %d:\n%s", code, out)
			}
		}
	}
	tickAll(night.Add(-3 * time.Minute))
	store.Restart()
	tickAll(night.Add(-2 * time.Minute))
	store.Restart()
	tickAll(night)
	if ran := s[0].linesOf("ran"); len(ran) != 1 {
		t.Errorf("it ran %d times", len(ran))
	}
	store.Restart()
	tickAll(night)
	if ran := s[0].linesOf("ran"); len(ran) != 1 {
		t.Errorf("after a third restart it ran %d times", len(ran))
	}
}

// Three dead runs have a key on one server each. That costs its own task, and is no outage.
func TestSplitVotesAreNoOutage(t *testing.T) {
	t.Parallel()
	var urls []string
	for i := range 3 {
		server := redistest.Start(t)
		urls = append(urls, server.URL)
		dead := fmt.Sprintf(`{"run":"dead-%d","nonce":"x"}`, i)
		if err := dial(t, server).Set(t.Context(), "sched:{shop}:lock:split", dead, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s := newServers(t, 1, "["+strings.Join(urls, ", ")+"]", `tasks:
  - {name: split, cron: "* * * * *", without_overlapping: true, command: "true"}
  - {name: other, cron: "* * * * *", without_overlapping: true, one_server: true, command: "true"}
`)[0]
	out, code, _ := s.tick()
	if !strings.Contains(out, "split  skipped: nobody knows whether it is running: the servers of the store do not agree") ||
		!strings.Contains(out, "other  succeeded") || strings.Contains(out, "until that is over") || code != 1 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if out, code := s.sched("status"); strings.Contains(out, "does not") || strings.Contains(out, "down") || code != 0 {
		t.Errorf("status exits with %d:\n%s", code, out)
	}
}

// A server was killed with -9 after its run had ended, and others once showed the run as a live
// one.
func TestWhatASilentServerSaidLastIsShownAsThat(t *testing.T) {
	t.Parallel()
	store := redistest.Start(t)
	s := newServers(t, 1, store.URL, `tasks: [{name: import, cron: "0 0 1 1 *", one_server: true, command: "true"}]`+"\n")[0]
	last := time.Now().UTC().Add(-8 * time.Minute)
	run := outcome.NewIDAt(last)
	forge(t, dial(t, store), "servers", "web-9@0",
		cluster.Server{Name: "web-9", Machine: "m", Version: "1", Minute: last, Seen: last,
			Running: []cluster.Running{{Run: run, Task: "import", Slot: last, PID: 7, Since: last}}})
	if out, code, _ := s.tick("-q"); code != 0 {
		t.Fatal(out)
	}
	if out, code := s.sched("status"); !strings.Contains(out, "nothing was heard for three minutes or more of web-9") ||
		code != 1 {
		t.Errorf("status exits with %d:\n%s", code, out)
	}
	if out, _ := s.sched("history", "--all-servers"); !strings.Contains(out, "was running 8 m") ||
		strings.Contains(out, "running for") {
		t.Errorf("history:\n%s", out)
	}
	if out, _ := s.sched("servers"); !strings.Contains(out, "web-9 says nothing for 8 m") {
		t.Errorf("servers:\n%s", out)
	}
	if out, _ := s.sched("list"); !strings.Contains(out, "unknown: was running on web-9, which is silent") {
		t.Errorf("list:\n%s", out)
	}

	// The pid of a server that lives means nothing here.
	now := time.Now().UTC()
	forge(t, dial(t, store), "servers", "web-9@0",
		cluster.Server{Name: "web-9", Machine: "m", Version: "1", Minute: now, Seen: now,
			Running: []cluster.Running{{Run: run, Task: "import", Slot: now, PID: 1 << 30, Since: now}}})
	if out, _ := s.sched("list"); !strings.Contains(out, "running, pid 1073741824 on web-9") {
		t.Errorf("list:\n%s", out)
	}
}

// Somebody who can write to the store sends no escape sequence to the terminal of root.
func TestNoEscapeSequenceOfTheStoreReachesATerminal(t *testing.T) {
	t.Parallel()
	const escape = "\x1b]0;owned\x07\x1b[2J"
	store := redistest.Start(t)
	s := newServers(t, 1, store.URL, `tasks: [{name: import, cron: "* * * * *", one_server: true, without_overlapping: true, command: "true"}]`+"\n")[0]
	client, now := dial(t, store), time.Now().UTC()
	run := outcome.NewIDAt(now)
	forge(t, client, "servers", "web-9@0",
		cluster.Server{Name: escape + "web-9", Machine: "m", Version: escape, Minute: now, Seen: now,
			File: escape, Labels: []string{escape}, Environment: escape + "e", Zone: escape + "z",
			Running: []cluster.Running{{Run: run, Task: "import", Slot: now, PID: 7, Since: now}}})
	forge(t, client, "controls", "*", map[string]any{"by": escape + "eve", "server": escape, "reason": escape +
		"because", "at": now, "since": now, "until": now.Add(time.Hour), "version": now.UnixMicro()})
	row := state.Row{ID: outcome.NewIDAt(now.Add(-time.Minute)), Task: "import", Slot: now.Add(-time.Minute),
		Server: escape + "web-9", Result: state.Result{Outcome: outcome.Failed, Reason: escape + "reason", Ended: now},
		Started: now, Notes: []string{escape + "note"}}
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	client.LPush(t.Context(), "sched:{shop}:log:runs", text)
	forge(t, client, "last", "import@web-9", row)
	holder, _ := json.Marshal(map[string]any{"run": escape + "run", "host": escape + "host",
		"task": escape, "since": now})
	client.Set(t.Context(), "sched:{shop}:lock:import", holder, 0)

	shown := 0
	for _, args := range [][]string{{"run"}, {"list"}, {"status"}, {"servers"}, {"history"},
		{"history", "--all-servers"}, {"why", "import"}, {"logs", "import"},
		{"pause", "import"}, {"resume"}, {"stop", "import"}, {"check"}, {"doctor"},
		{"run", "--dry-run"}, {"unlock", "import"}} {
		out, _ := s.sched(args...)
		if strings.ContainsAny(out, "\x1b\x07") {
			t.Errorf("sched %s: %q", strings.Join(args, " "), out)
		}
		if strings.Contains(out, "web-9") {
			shown++
		}
	}
	if shown < 4 {
		t.Errorf("only %d commands show what was forged", shown)
	}
}
