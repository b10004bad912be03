//go:build linux

// Command herd is a model of many servers whose ticks begin at the same moment, on one real redis-server that may use a part of a processor. A
// server is a goroutine that sends what a tick sends, through the same packages, with connections of its own: it reads the controls,
// announces itself, claims the slots whose turn it has, and asks for and claims the others when they are left to it. No command runs,
// nothing is written down, and all clients share this machine: a row says how much of its lateness is that of the machine. See
// bench/README.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/controls"
	"sched/schedule/oneserver"
	"sched/schedule/remote"
	"sched/schedule/servers"
)

// A herd is the servers, and what became of the tick of each.
type herd struct {
	url   string
	dir   string
	names []string
	tasks []*schedule.Task
	flat  bool // each server claims everything, within a tenth of a second

	mu       sync.Mutex
	failed   []failure       // one for each tick that failed
	quiet    int             // ticks that could not announce themselves, or read the controls
	claims   map[string]int  // by slot
	starts   []time.Duration // when each slot was claimed, after the beginning
	asked    int             // claims that were sent
	decided  time.Duration   // when the last tick knew of all slots
	peak     int
	begun    time.Time
	minute   time.Time
	cpu      time.Duration
	commands int
	machine  lateness // of this machine, while the ticks lasted
}

// A failure is the last claim of a tick of which nothing is known.
type failure struct {
	server                string
	planned, asked, ended time.Duration // after the beginning: when it was this server's turn, when the claim was sent, when it was given up
	own                   bool          // it was the turn of no other server
	err                   error
}

func (f failure) String() string {
	which := "a slot that others had left"
	if f.own {
		which = "its own slot"
	}
	return fmt.Sprintf("%s: %s, planned at %d ms, asked for at %d, given up at %d: %v", f.server, which, f.planned.Milliseconds(), f.asked.Milliseconds(), f.ended.Milliseconds(), f.err)
}

func main() {
	limited := flag.Int("limit", 0, "(used by itself) limit the process with this id to the percentage that follows")
	n := flag.Int("servers", 500, "how many servers tick")
	tasks := flag.Int("tasks", 200, "how many one_server tasks are due")
	percents := flag.String("percent", "100,20,10,5", "the parts of a processor that Redis may use")
	flag.Parse()
	log.SetFlags(0)
	if *limited > 0 {
		percent, err := strconv.Atoi(flag.Arg(0))
		must(err)
		limit(*limited, percent)
		return
	}
	fmt.Printf("%d servers, %d tasks; the part of a processor that Redis may use, and what became of one tick of each\n\n", *n, *tasks)
	fmt.Println("| Redis may use | ticks that failed | not announced | slots claimed | started, median | 95 % | last | all decided | claims sent | commands | its CPU | connections | Redis waited for this machine | the servers did |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	bad := false
	type row struct {
		percent int
		flat    bool
	}
	var rows []row
	for _, text := range strings.Split(*percents, ",") {
		percent, err := strconv.Atoi(text)
		must(err)
		rows = append(rows, row{percent, false})
	}
	for _, row := range append(rows, row{100, true}, row{5, true}) {
		for attempt := 1; ; attempt++ {
			h := &herd{flat: row.flat, claims: map[string]int{}}
			h.make(*n, *tasks)
			h.measure(row.percent)
			fmt.Println(h.row(row.percent))
			for _, f := range h.failed[:min(3, len(h.failed))] {
				fmt.Printf("  %v\n", f)
			}
			failed := !row.flat && (len(h.failed) > 0 || len(h.claims) != *tasks)
			if !failed || !h.machine.tooMuch() || attempt == attempts {
				bad = bad || failed
				break
			}
			fmt.Println("  this machine had too much else to do: that says little about Redis")
		}
	}
	if bad {
		os.Exit(1)
	}
}

// attempts is how often a row is measured until this machine has time for it.
const attempts = 4

func (h *herd) make(n, tasks int) {
	for i := range n {
		h.names = append(h.names, fmt.Sprintf("web-%d", i+1))
	}
	slices.Sort(h.names)
	for i := range tasks {
		h.tasks = append(h.tasks, &schedule.Task{Name: fmt.Sprintf("task-%d", i+1), OneServer: true})
	}
}

// measure has all servers tick once on a Redis of their own. Each has ticked before: it has met the instance.
func (h *herd) measure(percent int) {
	dir, err := os.MkdirTemp("", "sched-herd-")
	must(err)
	defer os.RemoveAll(dir)
	h.dir = dir
	process := h.startRedis()
	defer process.Wait()
	defer process.Process.Kill()
	h.minute = time.Now().UTC().Truncate(time.Minute)
	first, err := mutex.Dial(h.config())
	must(err)
	first.RememberInstances(filepath.Join(dir, "store.json"))
	must(first.Claim(context.Background(), mutex.SlotKey("warm", h.minute), h.minute.Add(time.Hour), mutex.Holder{Run: "warm"}))
	servers.NewNeighbours(first, dir, "warm", "production") // notes what this machine is
	first.Close()
	instances, err := os.ReadFile(filepath.Join(dir, "store.json"))
	must(err)
	cpu, commands := h.used()
	end := startLimit(process.Process.Pid, percent)
	stop, peaked := make(chan struct{}), make(chan struct{})
	go func() { defer close(peaked); h.watchConnections(stop) }()
	ready := make(chan struct{})
	var all sync.WaitGroup
	for i, name := range h.names {
		path := filepath.Join(dir, fmt.Sprintf("%d.json", i))
		must(os.WriteFile(path, instances, 0o600))
		wait := h.turns(name)
		all.Go(func() {
			<-ready
			time.Sleep(time.Until(h.begun))
			h.tick(name, path, wait)
		})
	}
	h.begun = time.Now().Add(200 * time.Millisecond)
	late := watchLateness(process.Process.Pid, h.begun)
	close(ready)
	all.Wait()
	h.decided = time.Since(h.begun)
	h.machine = late()
	end()
	close(stop)
	<-peaked
	after, commandsAfter := h.used()
	h.cpu, h.commands = after-cpu, commandsAfter-commands
}

func (h *herd) config() mutex.Config {
	return mutex.Config{Servers: []string{h.url}, Namespace: "herd", Lease: time.Minute}
}

// tick sends what the tick of one server sends.
func (h *herd) tick(name, instances string, wait map[schedule.Slot]time.Duration) {
	r, err := mutex.Dial(h.config())
	must(err)
	defer r.Close()
	r.RememberInstances(instances)
	var beside sync.WaitGroup
	defer beside.Wait()
	spread := oneserver.Spread(h.minute, name, h.names)
	if h.flat {
		spread = 0
	}
	beside.Go(func() {
		time.Sleep(time.Until(h.begun.Add(spread)))
		_, err := servers.Announce(context.Background(), r, time.Now, servers.Server{Name: name, Version: "model", Minute: h.minute},
			remote.NewInbox(r, name).Also, servers.NewNeighbours(r, h.dir, name, "production").Also, servers.NewPresent(r).Also)
		if err != nil {
			h.mu.Lock()
			h.quiet++
			h.mu.Unlock()
		}
	})
	if !slices.Contains(slices.Collect(maps.Values(wait)), 0) {
		time.Sleep(time.Until(h.begun.Add(spread)))
	}
	controls.Source{Dir: filepath.Dir(instances), Store: r, ReadOnly: true}.Read() //nolint: it is the load that counts
	fail := h.claimAll(r, name, wait)
	h.mu.Lock()
	defer h.mu.Unlock()
	if fail != nil {
		h.failed = append(h.failed, *fail)
	}
}

// turns returns how long a server waits with each slot: servers work that out before they ask for anything, and each for itself.
func (h *herd) turns(name string) map[schedule.Slot]time.Duration {
	wait := map[schedule.Slot]time.Duration{}
	for _, task := range h.tasks {
		slot := schedule.Slot{Task: task, At: h.minute}
		wait[slot] = oneserver.Turn(slot, name, h.names)
		if h.flat {
			wait[slot] = wait[slot] % (100 * time.Millisecond)
		}
	}
	return wait
}

// claimAll decides about all slots, and returns an error of one of which nothing is known.
func (h *herd) claimAll(r *mutex.Redis, name string, wait map[schedule.Slot]time.Duration) (fail *failure) {
	var own, others []schedule.Slot
	for _, task := range h.tasks {
		slot := schedule.Slot{Task: task, At: h.minute}
		if wait[slot] == 0 || h.flat {
			own = append(own, slot)
		} else {
			others = append(others, slot)
		}
	}
	fail = h.claim(r, name, own, wait)
	if len(others) == 0 {
		return fail
	}
	slices.SortFunc(others, func(a, b schedule.Slot) int { return int(wait[a] - wait[b]) })
	time.Sleep(time.Until(h.begun.Add(wait[others[0]])))
	var keys []string
	for _, slot := range others {
		keys = append(keys, oneserver.Key(slot))
	}
	claimed, _ := r.Claims(context.Background(), keys...)
	others = slices.DeleteFunc(others, func(slot schedule.Slot) bool { _, taken := claimed[oneserver.Key(slot)]; return taken })
	return cmp.Or(h.claim(r, name, others, wait), fail)
}

// claim claims slots at the same time, each after its wait.
func (h *herd) claim(r *mutex.Redis, name string, slots []schedule.Slot, wait map[schedule.Slot]time.Duration) (fail *failure) {
	var all sync.WaitGroup
	for _, slot := range slots {
		all.Go(func() {
			time.Sleep(time.Until(h.begun.Add(wait[slot])))
			asked := time.Since(h.begun)
			err := r.Claim(context.Background(), oneserver.Key(slot), oneserver.Until(slot), mutex.Holder{Run: name + slot.Task.Name, Host: name, Since: time.Now()})
			var held *mutex.HeldError
			h.mu.Lock()
			defer h.mu.Unlock()
			h.asked++
			switch {
			case err == nil:
				h.claims[slot.Task.Name]++
				h.starts = append(h.starts, time.Since(h.begun))
			case !errors.As(err, &held):
				fail = &failure{name, wait[slot], asked, time.Since(h.begun), wait[slot] == 0, err}
			}
		})
	}
	all.Wait()
	return fail
}

func (h *herd) row(percent int) string {
	slices.Sort(h.starts)
	at := func(part float64) string {
		if len(h.starts) == 0 {
			return "-"
		}
		return fmt.Sprintf("%d ms", h.starts[int(part*float64(len(h.starts)-1))].Milliseconds())
	}
	twice := ""
	for _, n := range h.claims {
		if n > 1 {
			twice = ", some twice"
		}
	}
	how := fmt.Sprintf("%d %% of a core", percent)
	if h.flat {
		how += ", all claim all"
	}
	return fmt.Sprintf("| %s | %d | %d | %d%s | %s | %s | %s | %d ms | %d | %d | %d ms | %d | %d ms | %d ms |", how, len(h.failed), h.quiet, len(h.claims), twice,
		at(0.5), at(0.95), at(1), h.decided.Milliseconds(), h.asked, h.commands, h.cpu.Milliseconds(), h.peak,
		h.machine.redis.Milliseconds(), h.machine.servers.Milliseconds())
}

// startRedis starts a redis-server that speaks on a socket.
func (h *herd) startRedis() *exec.Cmd {
	socket := filepath.Join(h.dir, "s")
	c := exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", h.dir, "--logfile", filepath.Join(h.dir, "log"), "--tcp-backlog", "4096")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(c.Start())
	h.url = "unix://" + socket
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil {
			return c
		}
		if time.Now().After(end) {
			log.Fatal("redis-server does not start")
		}
	}
}

// info returns a number of INFO.
func (h *herd) info(section, key string) float64 {
	out, _ := exec.Command("redis-cli", "-s", filepath.Join(h.dir, "s"), "info", section).Output()
	for line := range strings.Lines(string(out)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+":"); ok {
			n, _ := strconv.ParseFloat(value, 64)
			return n
		}
	}
	return 0
}

func (h *herd) used() (cpu time.Duration, commands int) {
	return time.Duration((h.info("cpu", "used_cpu_user") + h.info("cpu", "used_cpu_sys")) * float64(time.Second)), int(h.info("stats", "total_commands_processed"))
}

// watchConnections notes how many there are at most.
func (h *herd) watchConnections(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(300 * time.Millisecond):
		}
		h.peak = max(h.peak, int(h.info("clients", "connected_clients"))-1)
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
