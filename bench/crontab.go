//go:build linux

package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// peer is the program beside which crontab measures `sched work`.
const peer = "github.com/aptible/supercronic@v0.2.48"

// crontabMinutes is how many minutes each of the two programs has. They take turns.
const crontabMinutes = 4

// sinceBoot returns a command that writes down in a folder when it runs, in seconds since boot. It
// starts no other program for that. The lines of a crontab start in the home of their user.
func sinceBoot(dir string) string {
	return "read u i < /proc/uptime; echo $u >> " + filepath.Join(dir, "started") + "; sleep 2"
}

// A crontabProgram is a program that runs a crontab of 100 lines every second minute.
type crontabProgram struct {
	path            string
	dir             string // in which its lines write
	atRest, waiting []float64
}

// crontab runs 100 lines with `sched work` in one minute, with supercronic in the next, and so on,
// both at the same time. In the middle of each minute it starts the same commands bare.
func (b *bench) crontab() {
	rival := b.path("supercronic")
	install := exec.Command("go", "install", "-trimpath", "-ldflags=-s -w", peer)
	install.Env, install.Stderr = append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+b.dir), os.Stderr
	if err := install.Run(); err != nil {
		log.Printf("left out: %s: %v", peer, err)
		return
	}
	ours, theirs := &crontabProgram{path: b.path("sched")}, &crontabProgram{path: rival}
	first := time.Now().Add(10 * time.Second).Truncate(time.Minute).Add(time.Minute)
	isEven := first.Minute()%2 == 0
	defer b.startCrontab(ours, isEven, "work", "-q", "-c")()
	defer b.startCrontab(theirs, !isEven, "-quiet")()
	var bare [][]float64
	for i := range 2 * crontabMinutes {
		minute, p := first.Add(time.Duration(i)*time.Minute), ours
		if i%2 == 1 {
			p = theirs
		}
		time.Sleep(time.Until(minute.Add(1600 * time.Millisecond)))
		p.waiting = append(p.waiting, memoryOf(p.path).pss)
		time.Sleep(time.Until(minute.Add(20 * time.Second)))
		p.atRest = append(p.atRest, memoryOf(p.path).pss)
		time.Sleep(time.Until(minute.Add(30 * time.Second)))
		bare = append(bare, b.uptimeForks())
	}
	oursLate, theirsLate := lateBy(ours.dir, first), lateBy(theirs.dir, first)
	for _, share := range []struct {
		percent int
		limit   float64
	}{{50, 0.98}, {100, 0.93}} {
		of := func(minutes [][]float64) float64 {
			var all []float64
			for _, late := range minutes {
				all = append(all, percentile(late, share.percent))
			}
			return median(all)
		}
		what := fmt.Sprintf("a crontab of 100 lines with `sched work`: %d have started after", share.percent)
		beside := fmt.Sprintf("%.0f ms; %.0f ms; bare forks %.0f ms", of(oursLate), of(theirsLate), of(bare))
		b.rowBeside(what, of(oursLate)/of(theirsLate), "× supercronic", share.limit, beside)
	}
	lacking := 2*100*crontabMinutes - count(oursLate) - count(theirsLate)
	b.row("the same: starts of both that lack, of 800", float64(lacking), "", 0)
	compare := func(what string, ours, theirs, limit float64) {
		b.rowBeside(what, ours/theirs, "× supercronic", limit, inUnit(ours, "MiB")+"; "+inUnit(theirs, "MiB"))
	}
	compare("the same: memory (PSS) at rest", median(ours.atRest), median(theirs.atRest), 0.35)
	compare("the same: memory (PSS) while 100 commands run", median(ours.waiting), median(theirs.waiting), 0.3)
}

// startCrontab starts the program with a crontab for the even minutes, or for the odd ones. The
// crontab is added as the last argument.
func (b *bench) startCrontab(p *crontabProgram, even bool, args ...string) (stop func()) {
	p.dir = b.path("crontab-" + filepath.Base(p.path))
	must(os.Mkdir(p.dir, 0o700))
	minutes := "1-59/2"
	if even {
		minutes = "*/2"
	}
	crontab := filepath.Join(p.dir, "crontab")
	must(os.WriteFile(crontab, []byte(strings.Repeat(minutes+" * * * * "+sinceBoot(p.dir)+"\n", 100)), 0o600))
	process, err := os.StartProcess(p.path, append(append([]string{p.path}, args...), crontab),
		&os.ProcAttr{Dir: p.dir, Env: os.Environ(), Files: []*os.File{nil, b.out, b.out}})
	must(err)
	return func() {
		must(process.Signal(unix.SIGTERM))
		for ended := 0; ended != process.Pid; {
			ended, err = unix.Wait4(-1, nil, 0, nil)
			must(err)
		}
	}
}

// uptimeForks starts 100 bare shells with the same command, and returns how late each was in ms.
func (b *bench) uptimeForks() (late []float64) {
	begun := time.Now()
	b.forks(100, sinceBoot(b.dir))
	for _, at := range uptimes(b.dir) {
		late = append(late, ms(at.Sub(begun)))
	}
	must(os.Remove(b.path("started")))
	return late
}

// lateBy returns how late the starts of each minute were, in ms, from the first minute on.
func lateBy(dir string, first time.Time) [][]float64 {
	var all []time.Time
	for _, at := range uptimes(dir) {
		if !at.Before(first) {
			all = append(all, at)
		}
	}
	return byMinute(all)
}

func count(minutes [][]float64) (n int) {
	for _, late := range minutes {
		n += len(late)
	}
	return n
}

// uptimes reads the times that the command sinceBoot wrote. They are cut to hundredths of a second.
func uptimes(dir string) (all []time.Time) {
	text, err := os.ReadFile(filepath.Join(dir, "started"))
	must(err)
	var up unix.Timespec
	must(unix.ClockGettime(unix.CLOCK_BOOTTIME, &up))
	boot := time.Now().Add(-time.Duration(up.Nano()))
	for _, line := range strings.Fields(string(text)) {
		seconds, err := strconv.ParseFloat(line, 64)
		must(err)
		all = append(all, boot.Add(time.Duration(seconds*1e9)).Round(0))
	}
	return all
}
