package mutex_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/mutex"
	"sched/mutex/stores"
)

// A second run does not get the mutex, and learns at once who has it.
func ExampleFiles_Acquire() {
	dir, _ := os.MkdirTemp("", "locks")
	defer os.RemoveAll(dir)
	store, ctx := mutex.Files{Dir: dir}, context.Background()

	lock, err := store.Acquire(ctx, "backup", mutex.Holder{Run: "run-1", PID: 3121, Host: "web-1", Since: time.Now()})
	if err != nil {
		fmt.Println("unknown:", err)
		return
	}
	_, err = store.Acquire(ctx, "backup", mutex.Holder{Run: "run-2"})
	var held *mutex.HeldError
	if errors.As(err, &held) {
		fmt.Printf("%s is held by %s, pid %d on %s\n", held.Name, held.Holder.Run, held.Holder.PID, held.Holder.Host)
	}

	lock.Release(ctx)
	_, err = store.Acquire(ctx, "backup", mutex.Holder{Run: "run-2"})
	fmt.Println("after the release:", err)
	// Output:
	// backup is held by run-1, pid 3121 on web-1
	// after the release: <nil>
}

// The process that ends a run is often not the process that began it. It knows the run, and adopts
// its lock.
func ExampleStore_adopt() {
	dir, _ := os.MkdirTemp("", "locks")
	defer os.RemoveAll(dir)
	store, ctx := mutex.NewLocks(mutex.Files{Dir: dir}, nil), context.Background()

	lock, _ := store.Acquire(ctx, "backup", mutex.Holder{Run: "run-1"})
	defer lock.Release(ctx)
	fmt.Println(store.Adopt("backup", mutex.Holder{Run: "run-2"}, nil).Release(ctx)) // another run frees nothing
	_, err := store.Acquire(ctx, "backup", mutex.Holder{Run: "run-3"})
	fmt.Println("held:", err != nil)

	fmt.Println(store.Adopt("backup", mutex.Holder{Run: "run-1"}, nil).Release(ctx))
	_, err = store.Acquire(ctx, "backup", mutex.Holder{Run: "run-3"})
	fmt.Println("held:", err != nil)
	// Output:
	// <nil>
	// held: true
	// <nil>
	// held: false
}

// If two servers claim a slot, one of them runs it. If the store does not answer, nobody knows
// which one: a *StoreError says why.
func ExampleStore_claim() {
	server := miniredis.NewMiniRedis()
	server.Start()
	defer server.Close()
	url := "redis://" + server.Addr()
	ctx, until := context.Background(), time.Now().Add(time.Hour)

	claim := func(host string) {
		store, err := stores.Open(mutex.Config{Servers: []string{url}, Namespace: "shop"})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer store.Close()
		err = store.Claim(ctx, "nightly-report@02:30", until, mutex.Holder{Run: "run-on-" + host, Host: host})
		var held *mutex.HeldError
		var down *mutex.StoreError
		switch {
		case err == nil:
			fmt.Println(host, "runs it")
		case errors.As(err, &held):
			fmt.Println(host, "leaves it to", held.Holder.Host)
		case errors.As(err, &down):
			fmt.Println(host, "does not know whether another server runs it")
		}
	}
	claim("web-1")
	claim("web-2")
	server.Close()
	claim("web-3")
	// Output:
	// web-1 runs it
	// web-2 leaves it to web-1
	// web-3 does not know whether another server runs it
}

// The lease is renewed while the run lives.
func ExampleLock_renew() {
	server := miniredis.NewMiniRedis()
	server.Start()
	defer server.Close()
	ctx := context.Background()
	store, err := stores.Open(mutex.Config{Servers: []string{"redis://" + server.Addr()}, Namespace: "shop",
		Lease: 30 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	late, err := store.Acquire(ctx, "backup", mutex.Holder{Run: "run-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("a lease of", late.Lease(), "renewed:", late.Renew(ctx))

	server.FastForward(time.Minute) // its process was stopped, or its machine slept
	if _, err := store.Acquire(ctx, "backup", mutex.Holder{Run: "run-2"}); err != nil {
		fmt.Println(err)
		return
	}
	var lost *mutex.LostError
	if errors.As(late.Renew(ctx), &lost) {
		fmt.Println("lost to", lost.Holder.Run)
	}
	// Output:
	// a lease of 30s renewed: <nil>
	// lost to run-2
}
