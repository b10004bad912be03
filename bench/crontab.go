//go:build linux

package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// crontabMinutes is how many whole minutes each program runs the crontab.
const crontabMinutes = 2

// crontab runs the same crontab with `sched work`, and then with supercronic if that is on the
// PATH. The crontab has a hundred commands of two seconds that are due in each minute, and a
// command that is due each second.
func (b *bench) crontab() {
	b.crontabWith("sched work", b.path("sched"), "work", "-q", "-c")
	program, err := exec.LookPath("supercronic")
	if err != nil {
		log.Print("without supercronic, which is not on the PATH")
		return
	}
	b.crontabWith("supercronic", program, "-quiet")
}

// crontabWith measures one of the programs. The crontab is added as the last argument.
func (b *bench) crontabWith(what, program string, args ...string) {
	dir := b.path("crontab-" + filepath.Base(program))
	must(os.Mkdir(dir, 0o700))
	stamp := filepath.Join(dir, "stamp") // a script, because cron has a rule of its own for %
	must(os.WriteFile(stamp, []byte(`date +%s%N >>"$0.$1"`+"\n"), 0o600))
	lines := strings.Repeat(fmt.Sprintf("* * * * * sh %s minute; sleep 2\n", stamp), 100) +
		fmt.Sprintf("* * * * * * * sh %s second\n", stamp)
	crontab := filepath.Join(dir, "crontab")
	must(os.WriteFile(crontab, []byte(lines), 0o600))
	b.rest()
	first := time.Now().Add(5 * time.Second).Truncate(time.Minute).Add(time.Minute)
	argv := append(append([]string{program}, args...), crontab)
	p, err := os.StartProcess(program, argv,
		&os.ProcAttr{Dir: dir, Env: os.Environ(), Files: []*os.File{nil, b.out, b.out}})
	must(err)
	var atRest, waiting []float64
	for i := range crontabMinutes {
		minute := first.Add(time.Duration(i) * time.Minute)
		time.Sleep(time.Until(minute.Add(1600 * time.Millisecond)))
		waiting = append(waiting, memoryOf(program))
		time.Sleep(time.Until(minute.Add(30*time.Second + 600*time.Millisecond)))
		atRest = append(atRest, memoryOf(program))
	}
	end := first.Add(crontabMinutes * time.Minute)
	time.Sleep(time.Until(end.Add(-500 * time.Millisecond)))
	must(p.Signal(unix.SIGTERM))
	for err = nil; err != unix.ECHILD; {
		_, err = unix.Wait4(-1, nil, 0, nil)
	}
	inTime := func(name string) (all []time.Time) {
		for _, at := range times(dir, name) {
			if !at.Before(first) {
				all = append(all, at)
			}
		}
		return all
	}
	var second, half, most []float64
	for _, at := range inTime("stamp.second") {
		second = append(second, ms(at.Sub(at.Truncate(time.Second))))
	}
	minutes := inTime("stamp.minute")
	for _, late := range byMinute(minutes) {
		half, most = append(half, percentile(late, 50)), append(most, percentile(late, 100))
	}
	if len(half) == 0 || len(second) == 0 {
		log.Fatalf("%s started nothing; see %s", what, b.out.Name())
	}
	what = "a crontab with " + what + ": "
	b.row(what+"starts too many or too few, of 320",
		abs(100*crontabMinutes-len(minutes))+abs(60*crontabMinutes-len(second)), "", none)
	b.row(what+"half of 100 lines of one minute have started after", median(half), "ms", none)
	b.row(what+"all of them have started after", median(most), "ms", none)
	b.row(what+"a line of each second: lateness, 50th percentile", percentile(second, 50), "ms", none)
	b.row(what+"a line of each second: lateness, 99th percentile", percentile(second, 99), "ms", none)
	b.row(what+"memory (PSS) with a line of each second", median(atRest), "MiB", none)
	b.row(what+"memory (PSS) while 100 commands wait, too", median(waiting), "MiB", none)
}

func abs(n int) float64 { return float64(max(n, -n)) }
