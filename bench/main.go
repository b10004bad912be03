//go:build linux

// Command bench measures whole processes of sched, each beside a yardstick that ran at the same
// time, and prints one table. See README.md in this folder.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/state"
)

// settle is how long the benchmark waits before a measured program makes files. For 5 s after files
// were removed, an ext4 without a journal is slow to make new ones (recently_deleted in
// fs/ext4/ialloc.c). In real life a minute lies between two ticks.
const settle = 6 * time.Second

type bench struct {
	dir  string
	out  *os.File // the output of the measured programs
	part string   // that is measured now
	rows []row
	over bool

	uncovered int // how often uncover was called
}

func main() {
	strict := flag.Bool("strict", false, "exit with 1 when a budget is exceeded")
	page := flag.String("page", "", "also write the rows into the table of this Markdown file")
	flag.Parse()
	log.SetFlags(0)
	for _, name := range flag.Args() {
		if !slices.ContainsFunc((*bench)(nil).parts(), func(p part) bool { return p.name == name }) {
			log.Fatalf("there is no part %q", name)
		}
	}
	dir, err := os.MkdirTemp("", "sched-bench")
	must(err)
	b := &bench{dir: dir}
	b.out, err = os.Create(b.path("out"))
	must(err)
	must(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	b.install("sched", "sched/bench/empty", "sched/bench/loop", "sched/bench/forks")

	for _, part := range b.parts() {
		if flag.NArg() == 0 || slices.Contains(flag.Args(), part.name) {
			log.Printf("part %s", part.name)
			b.part = part.name
			part.measure()
		}
	}
	fmt.Println(machine())
	fmt.Println()
	fmt.Print(table(b.rows))
	if *page != "" {
		must(updatePage(*page, b.rows))
	}
	os.RemoveAll(dir) // not before: see settle
	if *strict && b.over {
		os.Exit(1)
	}
}

// install builds programs as a release is built, and copies them as an installation does. The
// linker writes a file in small pieces, so the kernel later maps fewer pages of it at once. To
// start that file takes a tenth longer than to start its copy.
func (b *bench) install(packages ...string) {
	built := b.path("built")
	must(os.Mkdir(built, 0o700))
	build := exec.Command("go", append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", built}, packages...)...)
	build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	must(build.Run())
	must(os.CopyFS(b.dir, os.DirFS(built)))
}

// rest waits for settle. It keeps the program mapped meanwhile, so that it stays in memory, as on a
// server. Some virtual machines give back the pages of files that no process has mapped. Then each
// tick of a benchmark would read the program from the disk.
func (b *bench) rest() {
	program, err := os.Open(b.path("sched"))
	must(err)
	info, err := program.Stat()
	must(err)
	pages, err := unix.Mmap(int(program.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	must(errors.Join(err, program.Close()))
	time.Sleep(settle)
	must(unix.Munmap(pages)) // or it would have a part in the memory of sched (PSS)
}

type part struct {
	name    string
	measure func()
}

func (b *bench) parts() []part {
	return []part{
		{"idle", b.idle}, {"starts", b.starts}, {"hundred", b.hundred}, {"thousand", b.thousand},
		{"check", b.check}, {"lateness", b.lateness}, {"crontab", b.crontab},
		{"million", b.million}, {"serve", b.serve}, {"servers", b.servers}, {"forecast", b.forecast},
	}
}

// schedule makes a folder with a schedule of n tasks, and returns the folder.
func (b *bench) schedule(name string, n int, keys func(i int) string) (dir string) {
	var text strings.Builder
	text.WriteString("timezone: UTC\ntasks:\n")
	for i := range n {
		fmt.Fprintf(&text, "  - {name: task-%d, %s}\n", i, keys(i))
	}
	dir = b.path(name)
	must(os.Mkdir(dir, 0o700))
	must(os.WriteFile(filepath.Join(dir, "schedule.yaml"), []byte(text.String()), 0o600))
	return dir
}

// due is a schedule of n tasks that are due in every minute.
func (b *bench) due(name string, n int, keys string) (dir string) {
	return b.schedule(name, n, func(int) string { return `cron: "* * * * *", ` + keys })
}

// idle measures ticks in which nothing is due: daily tasks, but no task in this hour or the next
// two.
func (b *bench) idle() {
	hour := time.Now().UTC().Hour()
	limits := map[int]float64{100: 4.2, 1_000: 5, 10_000: 20}
	for _, n := range []int{100, 1_000, 10_000} {
		dir := b.schedule(fmt.Sprintf("idle-%d", n), n, func(i int) string {
			return fmt.Sprintf(`cron: "%d %d * * *", command: "true", background: true`, i%60, (hour+3+i%20)%24)
		})
		b.sched(dir, "test", "task-0") // so that there is a state folder with a history, as after a day
		b.sched(dir, "run")
		var wall, cpu, took, bare []float64
		for range 41 {
			empty, tick := b.tree(b.dir, "empty"), b.sched(dir, "run")
			wall, cpu = append(wall, ratio(tick.first, empty.first)), append(cpu, ratio(tick.cpu, empty.cpu))
			took, bare = append(took, ms(tick.first)), append(bare, ms(empty.first))
		}
		what := fmt.Sprintf("idle tick, %d tasks: ", n)
		beside := inUnit(median(took), "ms") + "; " + inUnit(median(bare), "ms")
		b.rowBeside(what+"wall", median(wall), "× an empty Go program", limits[n], beside)
		b.row(what+"CPU", median(cpu), "× an empty Go program", none)
	}
	b.gap()
}

// gap measures the first tick of a machine with 1,000 daily tasks that was off for a month.
func (b *bench) gap() {
	dir := b.path("idle-1000")
	last := time.Now().UTC().AddDate(0, -1, 0).Truncate(time.Minute)
	var ms []float64
	for range 11 {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			os.Remove(filepath.Join(dir, ".sched/sched.db"+suffix))
		}
		b.sched(dir, "run") // the new database
		db, err := state.Open(filepath.Join(dir, ".sched"), state.Patience)
		must(err)
		must(db.Values().Cover(context.Background(), last))
		must(db.Close())
		ms = append(ms, 1e3*b.tree(dir, "sched", "run").first.Seconds())
	}
	b.row("the tick after a month off, 1000 tasks: wall", median(ms), "ms", 200)
}

// hundred measures 100 foreground tasks, and 100 background tasks with a hook each. The folders are
// used again, so that each tick also puts the runs of the last tick into the history.
func (b *bench) hundred() {
	foreground := b.due("foreground", 100, `command: "true"`)
	background := b.due("background", 100, `command: "true", after: "true", background: true`)
	var fore, back []float64
	for i := range 10 {
		b.rest()
		inForeground := ratio(b.sched(foreground, "run").cpu, b.tree(b.dir, "loop").cpu)
		b.rest()
		inBackground := ratio(b.sched(background, "run").cpu, b.tree(b.dir, "loop").cpu)
		if i > 0 { // the first makes the state folders
			fore, back = append(fore, inForeground), append(back, inBackground)
		}
	}
	b.row("100 foreground tasks: CPU", median(fore), "× a Go loop of `sh -c true`", 2)
	b.row("100 background tasks, each with a hook: CPU", median(back), "× a Go loop of `sh -c true`", 5)
}

// thousand starts 1,000 background tasks at once, and looks whether each ran and is recorded. The
// folder is used again, as on a server. A first tick makes some thousand files. That may take long
// for five minutes after other files were removed (see settle).
func (b *bench) thousand() {
	const command, rounds = "echo $SCHED_TASK >> ran; date +%s%N >> started", 6
	dir := b.due("thousand", 1000, `background: true, command: "`+command+`"`)
	var tick, all, last []float64
	for i := range rounds {
		b.rest()
		bare := b.bareForks(1000, command)
		must(os.WriteFile(filepath.Join(dir, "started"), nil, 0o600))
		b.rest()
		begun := time.Now()
		s := b.sched(dir, "run")
		if i == 0 {
			continue // it makes the state folder
		}
		tick, all = append(tick, s.first.Seconds()), append(all, s.all.Seconds())
		last = append(last, ms(slices.MaxFunc(times(dir, "started"), time.Time.Compare).Sub(begun))/slices.Max(bare))
	}
	b.row("1000 background tasks at once: the last has started after", median(last), "× bare forks", 1.1)
	b.row("1000 background tasks at once: `sched run`", median(tick), "s", 60)
	b.row("1000 background tasks at once: all have ended", median(all), "s", none)
	b.row("1000 background tasks at once: not run once in each tick and recorded",
		float64(1000-b.recorded(dir, rounds)), "", 0)
}

// recorded counts the tasks that wrote the number of lines and have as many records, each a
// success.
func (b *bench) recorded(dir string, times int) (n int) {
	c := exec.Command(b.path("sched"), "history", "--json", "-n", "0")
	c.Dir = dir
	text, err := c.Output()
	must(err)
	var records []struct{ Task, Outcome string }
	must(json.Unmarshal(text, &records))
	ran, err := os.ReadFile(filepath.Join(dir, "ran"))
	must(err)
	became := map[string]string{}
	for _, r := range records {
		became[r.Task] += r.Outcome + " "
	}
	for _, task := range strings.Fields(string(ran)) {
		became[task] += "ran "
	}
	for _, s := range became {
		if s == strings.Repeat("succeeded ", times)+strings.Repeat("ran ", times) {
			n++
		}
	}
	return n
}
