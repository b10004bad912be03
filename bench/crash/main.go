//go:build linux

// Command crash starts ticks of a real sched, kills its processes at random, takes away its disk
// and damages its history. Then it compares what sched recorded with what the commands wrote down
// themselves. See README.md in this folder.
//
// schedule.go makes the schedule. ticker.go starts the ticks and replays, and sets the clock.
// requester.go asks for runs and takes requests back. killer.go and faults.go disturb all of it.
// queues.go watches the queues. The files check*.go and truth.go look for runs that were lost,
// recorded wrongly, done twice or out of turn.
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
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A campaign is one schedule with its folder, and the state of this program.
type campaign struct {
	dir      string // of the schedule, the journal, and all else but the state folder
	disk     string // holds the state folder, and is small where we may mount
	mounted  bool
	seed     uint64
	tasks    []task
	journal  *journal
	reaper   *reaper
	ticks    []*tick
	from     time.Time // the first minute
	clock    testClock
	longGap  time.Time // the first minute of the last long gap; zero: no gap yet
	asides   map[string]bool
	requests requests
	looks    []look   // at the queues
	before   []record // that were in the history when it was damaged
	// goingBefore are the slots whose rows had no outcome at that time. Such a row is lost unless a
	// process of its run lives and writes it again.
	goingBefore map[string]bool
	notes       []string // steps that this program could not do
}

func main() {
	length := flag.Duration("for", 2*time.Minute, "how long to kill, and damage the disk")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano())%1e6, "chooses the schedule, the victims and the moments")
	keep := flag.Bool("keep", false, "leave the folder with the journal, the ticks' output and the history")
	flag.Parse()
	log.SetFlags(0)
	if enterNamespace() {
		return
	}
	c := newCampaign(*seed)
	fmt.Printf("seed %d, %s, in %s\n", c.seed, *length, c.dir)
	quiet := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { c.observe(quiet) })
	c.runFor(*length)
	c.quiesce()
	close(quiet)
	watching.Wait()
	found := judge(c)
	found.print(c)
	if *keep || len(found.violations) > 0 {
		c.save()
		fmt.Printf("the evidence is in %s\n", c.dir)
	} else {
		defer os.RemoveAll(c.dir)
	}
	c.unmount()
	if len(found.violations) > 0 {
		os.Exit(1)
	}
}

// enterNamespace starts this program again, as root in mounts of its own, so that its mounts are
// gone when it ends. It waits for that process and exits with its code. It returns false if we are
// not root, are in the mounts already, or the start fails.
func enterNamespace() bool {
	if os.Geteuid() != 0 || os.Getenv("CRASH_NAMESPACE") != "" {
		return false
	}
	c := exec.Command("/proc/self/exe", os.Args[1:]...)
	c.Env = append(os.Environ(), "CRASH_NAMESPACE=1")
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGTERM}
	signal.Ignore(os.Interrupt) // the signal is for the child, which has something to clean up
	runtime.LockOSThread()      // Pdeathsig is sent when the thread ends
	if err := c.Start(); err != nil {
		return false
	}
	c.Wait()
	os.Exit(c.ProcessState.ExitCode())
	return true
}

func newCampaign(seed uint64) *campaign {
	dir, err := os.MkdirTemp("", "sched-crash-")
	must(err)
	c := &campaign{dir: dir, disk: filepath.Join(dir, "disk"), seed: seed, asides: map[string]bool{},
		goingBefore: map[string]bool{}}
	c.requests.uncertain = map[string]int{}
	c.from = time.Now().UTC().Truncate(time.Minute)
	must(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) // so that killed processes leave no zombies
	for _, name := range []string{"disk", "ticks", "tmp"} {
		must(os.Mkdir(c.path(name), 0o700))
	}
	build := exec.Command("go", "build", "-tags", "schedtest,"+*tags, "-o", c.path("sched"), "sched")
	build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	must(build.Run())
	c.mount()
	c.tasks = makeTasks(c.random("schedule"))
	writeSchedule(c.dir, c.tasks)
	c.journal = openJournal(c.path("journal"))
	c.reaper = startReaper()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stop
		c.killAll()
		c.unmount()
		log.Fatalf("stopped; what there is stays in %s", c.dir)
	}()
	return c
}

// random returns numbers that depend on the seed and the purpose alone.
func (c *campaign) random(purpose string) *rand.Rand {
	var sum uint64
	for _, letter := range purpose {
		sum = sum*31 + uint64(letter)
	}
	return rand.New(rand.NewPCG(c.seed, sum))
}

func (c *campaign) path(name string) string { return filepath.Join(c.dir, name) }
func (c *campaign) state() string           { return filepath.Join(c.disk, "state") }

// runFor ticks, kills and makes faults for the given time.
func (c *campaign) runFor(length time.Duration) {
	over := make(chan struct{})
	time.AfterFunc(length, func() { close(over) })
	var beside sync.WaitGroup
	beside.Go(func() { c.kill(over) })
	beside.Go(func() { c.injectFaults(over) })
	beside.Go(func() { c.request(over) })
	c.tick(over)
	beside.Wait()
}

// patience is how long processes that are not killed may take to end. The machine may be slow.
const patience = 90 * time.Second

// quiesce waits until all processes have ended, with ticks that are not killed. These ticks finish
// lost runs, answer the requests that wait, and put all of it into the history.
func (c *campaign) quiesce() {
	const least, most = 3, 20 // requests wait for five minutes at most, and for the requests before them
	for n := 0; n < least || n < most && len(c.waiting()) > 0; n++ {
		c.tickQuietly(c.nextMinute())
	}
	newest := slices.MaxFunc(c.ticks, func(a, b *tick) int { return a.minute.Compare(b.minute) })
	c.tickQuietly(newest.minute.Add(time.Minute)) // all is due in it, even if the clock was set back
	c.noteSetAside()
}

// tickQuietly starts a tick when all has ended, kills nothing of it, and waits until all has ended.
func (c *campaign) tickQuietly(minute time.Time) {
	c.settle()
	t := c.startTick(minute)
	t.quiet = true
	c.awaitTick(t, patience)
	c.settle()
}

// settle waits until only daemons are left. It looks three times: one look can miss a process that
// has just begun.
func (c *campaign) settle() {
	for none, end := 0, time.Now().Add(patience); none < 3 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if none++; len(busy(c.processes())) > 0 {
			none = 0
		}
	}
}

var without = flag.String("without", "", "faults to leave out, as in full,read-only,damaged: a fault excuses what may be lost while it lasts")

var tags = flag.String("tags", "", "more tags to build sched with: with schedtrace its changes of rows are traced (spec/README.md)")

var verbose = flag.Bool("v", false, "print every loss that is allowed")

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
