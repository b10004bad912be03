//go:build linux

package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"sched/mutex"
	"sched/mutex/stores"
)

// servers measures locks on a Redis of this machine, and ticks in which 100 one_server tasks are
// due. It waits for single processes: the Redis is a child of ours that lives on.
func (b *bench) servers() {
	url, stop := b.redis()
	if url == "" {
		log.Print("there is no redis-server: left out")
		return
	}
	defer stop()
	b.row("locks on Redis: acquired and released, one after another", b.locks(url, 1), "/s", none)
	b.row("locks on Redis: acquired and released, 8 at once", b.locks(url, 8), "/s", none)

	shared := func(name, schedule, keys string) string {
		dir := b.due(name, 100, `command: "true", `+keys)
		text, err := os.ReadFile(dir + "/schedule.yaml")
		must(err)
		must(os.WriteFile(dir+"/schedule.yaml", []byte("name: "+schedule+"\nstore: "+url+"\n"+string(text)), 0o600))
		return dir
	}
	plain := b.due("alone", 100, `command: "true"`)
	claiming, late := shared("first", "two", "one_server: true"), shared("second", "two", "one_server: true")
	background := b.due("fork-alone", 100, `command: "true", background: true`)
	claimingBackground := shared("fork", "alone", "one_server: true, background: true")
	took := map[string][]float64{} // by folder, in ms
	for i := range 12 {
		at := time.Now().Add(time.Duration(i-30) * time.Minute).Format(time.RFC3339)
		for _, dir := range []string{plain, claiming, late, background, claimingBackground} {
			if dir != claiming && dir != late { // these two come right after the one before
				b.rest()
			}
			ms := b.took(dir, at)
			if i > 0 { // the first makes the state folders
				took[dir] = append(took[dir], ms)
			}
		}
	}
	b.row("100 foreground tasks: `sched run`", median(took[plain]), "ms", none)
	b.row("100 foreground one_server tasks: `sched run`", median(took[claiming]), "ms", none)
	b.row("100 one_server tasks that another server runs: `sched run`", median(took[late]), "ms", none)
	b.row("100 background tasks: `sched run`", median(took[background]), "ms", none)
	b.row("100 background one_server tasks: `sched run`", median(took[claimingBackground]), "ms", none)
}

// took runs the tick of a minute, and returns the milliseconds that it took.
func (b *bench) took(dir, at string) float64 {
	begun := time.Now()
	b.wait(b.start(dir, "sched", "run", "--at", at))
	return 1e3 * time.Since(begun).Seconds()
}

// locks returns how many locks a second a number of goroutines take and release, for two seconds.
func (b *bench) locks(url string, goroutines int) float64 {
	store, err := stores.Open(mutex.Config{Servers: []string{url}, Namespace: "locks"})
	must(err)
	defer store.Close()
	var all sync.WaitGroup
	counts, end := make([]int, goroutines), time.Now().Add(2*time.Second)
	for i := range goroutines {
		all.Go(func() {
			for ; time.Now().Before(end); counts[i]++ {
				name := fmt.Sprintf("task-%d", i)
				lock, err := store.Acquire(context.Background(), name,
					mutex.Holder{Run: fmt.Sprintf("run-%d", i), Since: time.Now()})
				must(err)
				must(lock.Release(context.Background()))
			}
		})
	}
	all.Wait()
	var sum int
	for _, n := range counts {
		sum += n
	}
	return float64(sum) / 2
}

// redis starts a Redis on a free port of this machine. Without redis-server on the PATH the URL is
// empty.
func (b *bench) redis() (url string, stop func()) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return "", nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	address := listener.Addr().String()
	must(listener.Close())
	port := address[strings.LastIndex(address, ":")+1:]
	c := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir",
		b.dir, "--logfile", b.path("redis.log"))
	must(c.Start())
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(end) {
			must(err)
		}
	}
	return "redis://" + address, func() {
		c.Process.Kill()
		c.Wait()
	}
}
