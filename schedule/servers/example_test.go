package servers_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/mutex"
	"sched/schedule/outcome"
	"sched/schedule/servers"
)

// Two servers share a schedule. Either sees what runs on the other, and what is finished.
func Example() {
	redis, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer redis.Close()
	store, err := mutex.Dial(mutex.Config{Servers: []string{"redis://" + redis.Addr()}, Namespace: "shop", Lease: time.Minute})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	ctx, minute := context.Background(), time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)

	// A tick on web-1 starts a run.
	report := servers.Running{Run: "01920ba4-7a00-7c11-9d0e-5c2f9a1b3d4e", Task: "nightly-report", Slot: minute, Since: minute}
	if _, err := servers.Announce(ctx, store, time.Now, servers.Server{Name: "web-1", Version: "1.4.0", Minute: minute, Running: []servers.Running{report}}); err != nil {
		panic(err)
	}
	list := func() {
		all, err := servers.List(ctx, store)
		if err != nil {
			panic(err)
		}
		for _, s := range all {
			fmt.Printf("%s (%s) runs %d\n", s.Name, s.Version, len(s.Running))
		}
	}
	list()

	// It ends.
	record := outcome.Record{Run: report.Run, Task: report.Task, Slot: minute, Server: "web-1", Outcome: outcome.Succeeded, Started: minute, Ended: minute.Add(time.Second)}
	if err := servers.Publish(ctx, store, []outcome.Record{record}); err != nil {
		panic(err)
	}
	list()
	last, err := servers.Last(ctx, store, []string{"nightly-report"})
	if err != nil {
		panic(err)
	}
	fmt.Println("nightly-report", last["nightly-report"].Outcome, "on", last["nightly-report"].Server)
	// Output:
	// web-1 (1.4.0) runs 1
	// web-1 (1.4.0) runs 0
	// nightly-report succeeded on web-1
}
