//go:build linux

package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// stamp is a command that writes down when it runs, in nanoseconds. It counts its own start, too: a
// shell and date(1).
const stamp = `command: "date +%s%N >> started"`

// lateness measures with `sched work`, in real minutes, how late commands are. First it measures a
// hundred background tasks of two seconds, beside a hundred bare forks. Then it measures tasks that
// are due every second and every ten seconds, beside a loop that waits for the clock and starts the
// same command.
func (b *bench) lateness() {
	hundred := b.due("late-hundred", 100, `background: true, command: "`+waits+`"`)
	var bare [][]float64
	b.work(hundred, 5, func() {
		time.Sleep(30 * time.Second) // in the middle of a minute: by then the machine has been idle, as before a tick
		bare = append(bare, b.forks(100, strings.Replace(waits, "started", "forks", 1)))
	})
	slower, bareLate := map[int][]float64{}, map[int][]float64{} // by percentile
	for i, late := range byMinute(times(hundred, "started")) {
		if len(late) != 100 {
			log.Fatalf("%d of 100 tasks were started", len(late))
		}
		for _, p := range []int{50, 95, 100} {
			slower[p] = append(slower[p], percentile(late, p)/percentile(bare[i], p))
			bareLate[p] = append(bareLate[p], percentile(bare[i], p))
		}
	}
	for _, p := range []int{50, 95, 100} {
		limit := float64(none)
		if p == 50 {
			limit = 1.1
		}
		b.rowBeside(fmt.Sprintf("100 background tasks of 2 s with `sched work`: %d have started after", p),
			median(slower[p]), "× bare forks", limit, inUnit(median(bareLate[p]), "ms"))
	}
	b.latenessOften()
}

// latenessOften is the part of lateness about tasks that are due more than once in a minute.
func (b *bench) latenessOften() {
	often := b.path("late-often")
	must(os.Mkdir(often, 0o700))
	must(os.WriteFile(filepath.Join(often, "schedule.yaml"), []byte(`timezone: UTC
tasks:
  - {name: second, every: second, `+stamp+`}
  - {name: ten, every: 10 seconds, background: true, `+strings.Replace(stamp, "started", "background", 1)+`}
`), 0o600))
	var loop []float64
	b.work(often, 2, func() {
		for range 50 { // between the seconds, when sched has nothing to do
			at := time.Now().Truncate(time.Second).Add(1500 * time.Millisecond)
			time.Sleep(time.Until(at))
			loop = append(loop, ms(time.Since(at))+b.forks(1, "date +%s%N >> forks")[0])
		}
	})
	b.latenessRows("every second, in the foreground", times(often, "started"), time.Second, 120)
	b.latenessRows("every 10 seconds, in the background", times(often, "background"), 10*time.Second, 12)
	b.row("a bare loop beside it: lateness, 50th percentile", percentile(loop, 50), "ms", none)
	b.row("a bare loop beside it: lateness, 99th percentile", percentile(loop, 99), "ms", none)
}

// latenessRows adds the rows of a task that was due n times.
func (b *bench) latenessRows(what string, at []time.Time, every time.Duration, n int) {
	if len(at) != n {
		log.Fatalf("%s: started %d times and not %d", what, len(at), n)
	}
	var late []float64
	for _, t := range at {
		late = append(late, ms(t.Sub(t.Truncate(every))))
	}
	b.row(what+": lateness, 50th percentile", percentile(late, 50), "ms", none)
	b.row(what+": lateness, 99th percentile", percentile(late, 99), "ms", 20)
}

// work runs `sched work` for whole minutes, and beside in each minute.
func (b *bench) work(dir string, minutes int, beside func()) {
	pid := b.start(dir, "sched", "work", "-q")
	for range minutes {
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		beside()
	}
	// Half a second before the minute ends: all tasks due in it have started, and the next tick has
	// not.
	time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(59*time.Second + 500*time.Millisecond)))
	must(unix.Kill(pid, unix.SIGTERM))
	var status unix.WaitStatus
	for {
		ended, err := unix.Wait4(-1, &status, 0, nil)
		if err == unix.ECHILD {
			return
		}
		if ended == pid && status.ExitStatus() != 143 {
			log.Fatalf("sched work ended with status %#x; see %s", status, b.out.Name())
		}
	}
}

// forks starts n bare shells at once, with a command that writes its time into forks, and returns
// how late each was in ms.
func (b *bench) forks(n int, command string) (late []float64) {
	os.Remove(b.path("forks"))
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	must(err)
	defer null.Close()
	begun := time.Now()
	var all []*os.Process
	for range n {
		p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", command},
			&os.ProcAttr{Dir: b.dir, Files: []*os.File{null, null, null}, Env: os.Environ()})
		must(err)
		all = append(all, p)
	}
	for _, p := range all {
		p.Wait()
	}
	for _, t := range times(b.dir, "forks") {
		late = append(late, ms(t.Sub(begun)))
	}
	return late
}

// times reads what stamp wrote.
func times(dir, name string) (all []time.Time) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if !os.IsNotExist(err) {
		must(err)
	}
	for _, line := range strings.Fields(string(text)) {
		ns, err := strconv.ParseInt(line, 10, 64)
		must(err)
		all = append(all, time.Unix(0, ns))
	}
	return all
}

// byMinute returns how many ms after the beginning of their minute the times are: a list for each
// minute, in the order in which the minutes come first.
func byMinute(all []time.Time) (late [][]float64) {
	index := map[time.Time]int{}
	for _, t := range all {
		minute := t.Truncate(time.Minute)
		if _, known := index[minute]; !known {
			index[minute] = len(late)
			late = append(late, nil)
		}
		i := index[minute]
		late[i] = append(late[i], ms(t.Sub(minute)))
	}
	return late
}

// percentile is the smallest value that p percent of them do not exceed (the nearest rank).
func percentile(values []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

func ms(d time.Duration) float64 { return 1e3 * d.Seconds() }
