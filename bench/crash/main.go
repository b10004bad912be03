//go:build linux

// Command crash starts ticks of a real sched, kills its processes at random, takes away its disk and
// damages its history. Then it holds what sched recorded against what the tasks themselves wrote
// down. See README.md in this folder.
//
// schedule.go makes the schedule, ticker.go starts the ticks, killer.go and faults.go do the harm,
// and check.go and truth.go look for what was lost, untrue or done twice.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A world is one schedule with its folder, and all that happens in it.
type world struct {
	dir     string // of the schedule, the journal, and all else but the state folder
	disk    string // holds the state folder, and is small where we may mount
	mounted bool
	seed    uint64
	tasks   []task
	journal *journal
	reaper  *reaper
	ticks   []*tick
	from    time.Time // the first minute
	asides  map[string]bool
	before  []record // that were in the history before it was damaged
	notes   []string // what could not be done
}

func main() {
	length := flag.Duration("for", 2*time.Minute, "how long to kill")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano())%1e6, "chooses the schedule, the victims and the moments")
	keep := flag.Bool("keep", false, "leave the folder with the journal, the ticks' output and the history")
	flag.Parse()
	log.SetFlags(0)
	if enterNamespace() {
		return
	}
	w := newWorld(*seed)
	fmt.Printf("seed %d, %s, in %s\n", w.seed, *length, w.dir)
	w.harm(*length)
	w.calm()
	found := w.check()
	found.print(w)
	if *keep || len(found.violations) > 0 {
		w.save()
		fmt.Printf("the evidence is in %s\n", w.dir)
	} else {
		defer os.RemoveAll(w.dir)
	}
	w.unmount()
	if len(found.violations) > 0 {
		os.Exit(1)
	}
}

// enterNamespace starts this program again, as root in mounts of its own, so that what it mounts is gone
// with it. It reports whether it did, after that has ended.
func enterNamespace() bool {
	if os.Geteuid() != 0 || os.Getenv("CRASH_NAMESPACE") != "" {
		return false
	}
	c := exec.Command("/proc/self/exe", os.Args[1:]...)
	c.Env = append(os.Environ(), "CRASH_NAMESPACE=1")
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGTERM}
	signal.Ignore(os.Interrupt) // it is for the one that has something to clean up
	runtime.LockOSThread()      // Pdeathsig is sent when the thread ends
	if err := c.Start(); err != nil {
		return false
	}
	c.Wait()
	os.Exit(c.ProcessState.ExitCode())
	return true
}

func newWorld(seed uint64) *world {
	dir, err := os.MkdirTemp("", "sched-crash-")
	must(err)
	w := &world{dir: dir, disk: filepath.Join(dir, "disk"), seed: seed, asides: map[string]bool{}}
	w.from = time.Now().UTC().Truncate(time.Minute)
	must(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) // so that no zombie stays of what was killed
	for _, name := range []string{"disk", "ticks", "tmp"} {
		must(os.Mkdir(w.path(name), 0o700))
	}
	build := exec.Command("go", "build", "-tags", "schedtest", "-o", w.path("sched"), "sched")
	build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	must(build.Run())
	w.mount()
	w.tasks = makeTasks(w.random("schedule"))
	writeSchedule(w.dir, w.tasks)
	w.journal = openJournal(w.path("journal"))
	w.reaper = startReaper()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stop
		w.killAll()
		w.unmount()
		log.Fatalf("stopped; what there is stays in %s", w.dir)
	}()
	return w
}

// random returns numbers that depend on the seed and the purpose alone.
func (w *world) random(purpose string) *rand.Rand {
	var sum uint64
	for _, c := range purpose {
		sum = sum*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(w.seed, sum))
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }
func (w *world) state() string           { return filepath.Join(w.disk, "state") }

// harm ticks, kills and damages for so long.
func (w *world) harm(length time.Duration) {
	over := make(chan struct{})
	time.AfterFunc(length, func() { close(over) })
	done := make(chan struct{}, 2)
	go func() { w.kill(over); done <- struct{}{} }()
	go func() { w.damage(over); done <- struct{}{} }()
	w.tick(over)
	<-done
	<-done
}

// patience is how long what is left to itself may take to end. The machine may be slow.
const patience = 90 * time.Second

// calm waits until all has ended that nobody kills any more, with two quiet ticks: the first finishes
// what was lost.
func (w *world) calm() {
	for range 3 {
		w.settle()
		t := w.startTick(w.nextMinute())
		t.quiet = true
		w.awaitTick(t, patience)
	}
	w.settle()
	w.lookAside()
}

// settle waits until no process is left but daemons.
func (w *world) settle() {
	for end := time.Now().Add(patience); len(busy(w.processes())) > 0 && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
}

var verbose = flag.Bool("v", false, "tell of every loss that is allowed")

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
