//go:build linux

package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// waits is the command of starts: it writes down when it runs, and takes two seconds.
const waits = "date +%s%N >> started; sleep 2"

// starts measures a hundred background tasks of two seconds that are due together, with `sched
// run`. It measures how long after the call they start, beside bare forks of the same commands by
// another Go program. While they run, it measures the memory of all processes of sched.
func (b *bench) starts() {
	dir := b.due("starts", 100, `background: true, after: "true", command: "`+waits+`"`)
	slower, bareLate := map[int][]float64{}, map[int][]float64{} // by percentile
	var memory, private, returned []float64
	for i := range 8 {
		b.rest()
		bare := b.bareForks(100, waits)
		b.rest()
		ours, used, took := b.startsOf(dir, 100)
		if i == 0 {
			continue // it makes the state folder
		}
		for _, p := range []int{50, 95, 100} {
			slower[p] = append(slower[p], percentile(ours, p)/percentile(bare, p))
			bareLate[p] = append(bareLate[p], percentile(bare, p))
		}
		memory, private = append(memory, used.pss), append(private, used.private)
		returned = append(returned, took)
	}
	for _, p := range []int{50, 95, 100} {
		limit := float64(none)
		if p == 50 {
			limit = 1.1
		}
		b.rowBeside(fmt.Sprintf("100 background tasks of 2 s: %d have started after", p), median(slower[p]),
			"× bare forks", limit, inUnit(median(bareLate[p]), "ms"))
	}
	b.row("100 background tasks of 2 s: `sched run` returns after", median(returned), "ms", none)
	b.row("100 waiting background runs: memory (PSS) of all that is ours", median(memory), "MiB", 16)
	b.row("100 waiting background runs: private memory of all that is ours", median(private), "MiB", 8)
}

// startsOf runs a tick of n tasks. It returns how many ms after the call each command ran, the
// memory of sched while all wait, and how many ms `sched run` took.
func (b *bench) startsOf(dir string, n int) (late []float64, used memory, returned float64) {
	os.Remove(filepath.Join(dir, "started"))
	b.uncover(dir)
	begun := time.Now()
	b.wait(b.start(dir, "sched", "run"))
	returned = ms(time.Since(begun))
	for len(times(dir, "started")) < n && time.Since(begun) < time.Minute {
		time.Sleep(10 * time.Millisecond)
	}
	// tasks wait for 2 s; after 1 s the supervisor is at rest
	time.Sleep(time.Until(begun.Add(1600 * time.Millisecond)))
	used = memoryOf(b.path("sched"))
	for b.wait(-1) != 0 {
	}
	for _, t := range times(dir, "started") {
		late = append(late, ms(t.Sub(begun)))
	}
	if len(late) != n {
		log.Fatalf("%d of %d tasks were started", len(late), n)
	}
	return late, used, returned
}

// bareForks has a Go program that does nothing else (bench/forks) start n shells with the command
// at once. It returns how many ms after the call each ran. The call starts a process, as with
// `sched run`.
func (b *bench) bareForks(n int, command string) (late []float64) {
	dir := b.path("bare")
	os.MkdirAll(dir, 0o700)
	os.Remove(filepath.Join(dir, "started"))
	begun := time.Now()
	b.tree(dir, "forks", strconv.Itoa(n), command)
	for _, t := range times(dir, "started") {
		late = append(late, ms(t.Sub(begun)))
	}
	return late
}

// A memory is the memory of processes, in MiB. In pss, memory that processes share counts in parts;
// private is what no other process has (proc_pid_smaps(5)).
type memory struct{ pss, private float64 }

// memoryOf returns the memory of all processes of the program at a path.
func memoryOf(program string) (m memory) {
	programs, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, exe := range programs {
		if target, err := os.Readlink(exe); err != nil || target != program {
			continue
		}
		text, _ := os.ReadFile(filepath.Join(filepath.Dir(exe), "smaps_rollup"))
		for line := range strings.Lines(string(text)) {
			var kib float64
			name, rest, _ := strings.Cut(line, ":")
			fmt.Sscan(rest, &kib)
			switch name {
			case "Pss":
				m.pss += kib / 1024
			case "Private_Clean", "Private_Dirty":
				m.private += kib / 1024
			}
		}
	}
	return m
}
