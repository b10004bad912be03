// Command croncheck waits for two minutes of sched under cron and checks them. Its arguments are
// the folder that .ci/cron makes, and the pid of a cron that runs nothing else.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	poll     = 200 * time.Millisecond
	patience = 200 * time.Second
	soon     = 20 * time.Second // after the minute began: long for a busy machine, short for a task of 70 s
)

var (
	dir      = os.Args[1]
	deadline = time.Now().Add(patience)
	faults   int
)

func main() {
	log.SetFlags(log.Ltime)
	until("the first tick with background tasks only has ended", func() bool { return ticks("background") >= 1 })
	returned := time.Now()
	first := returned.Truncate(time.Minute)
	check(returned.Sub(first) < soon, "it ended %.1f s after its minute began", returned.Sub(first).Seconds())
	until("the first tick with foreground tasks has ended", func() bool { return ticks("foreground") >= 1 })
	if cron := os.Args[2]; cron != "" {
		until("cron has no child left", func() bool { return len(children(cron)) == 0 })
		lives := len(notes("slow", first, "start")) == 1 && len(notes("slow", first, "end")) == 0
		check(lives, "a background task lives on, %.1f s after the minute began", time.Since(first).Seconds())
	}
	minutes := []time.Time{first, first.Add(time.Minute)}
	until("the second ticks have ended", func() bool { return ticks("background") >= 2 && ticks("foreground") >= 2 })
	until("the slow task has ended, and its hook", func() bool { return len(notes("slow", first, "after")) > 0 })
	until("every run is recorded", func() bool { return len(history("foreground")) >= 8 && len(history("background")) >= 4 })

	for _, name := range []string{"foreground", "background"} {
		check(ticks(name) == 2 && ticks(name+" 0") == 2, "%s: two ticks, both with exit code 0", name)
	}
	check(len(history("foreground")) == 8 && len(history("background")) == 4, "12 slots were due, and 12 are recorded")
	for _, minute := range minutes {
		for _, task := range []string{"first", "second", "third", "beside", "quick"} {
			checkRun(task, minute)
		}
		ordered := at("first", minute, "after") < at("second", minute, "start") &&
			at("second", minute, "after") < at("third", minute, "start")
		check(ordered, "%s: foreground tasks ran one after another, in order", clock(minute))
		check(at("beside", minute, "start") < at("first", minute, "end"),
			"%s: the background task did not wait for them", clock(minute))
	}
	checkRun("slow", minutes[0])
	skipped := records("slow", minutes[1])
	check(len(skipped) == 1 && skipped[0].Outcome == "skipped" && strings.Contains(skipped[0].Reason, "still running"),
		"%s slow: skipped: %v", clock(minutes[1]), skipped)
	check(len(notes("slow", minutes[1], "")) == 0, "%s slow: and did not run", clock(minutes[1]))
	check(at("slow", minutes[0], "end") > minutes[1].UnixNano(),
		"%s slow: while the one before still ran", clock(minutes[1]))
	checkImported(minutes)
	checkWork(minutes)
	if faults > 0 {
		dump()
		log.Fatalf("%d faults", faults)
	}
}

// checkImported checks that the lines of a crontab and the tasks that were made of them ran in the
// same minutes, in the same folder and environment.
func checkImported(minutes []time.Time) {
	for _, minute := range minutes {
		same := func() bool { return slices.Equal(ran("ran", minute), ran("ran-by-sched", minute)) }
		for !same() && time.Now().Before(deadline) {
			time.Sleep(poll)
		}
		lines := ran("ran", minute)
		check(same() && len(lines) >= 6, "%s: %d imported lines ran as cron ran them", clock(minute), len(lines))
		if !same() {
			log.Printf("cron:\n%s\nsched:\n%s", strings.Join(lines, "\n"),
				strings.Join(ran("ran-by-sched", minute), "\n"))
		}
	}
}

// ran returns the lines of a file about a minute, sorted.
func ran(name string, minute time.Time) (lines []string) {
	for line := range strings.Lines(read(name)) {
		if f := strings.Fields(line); slices.Contains(f, clock(minute)) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	slices.Sort(lines)
	return lines
}

// checkWork checks what `sched work` did in the same minutes, and ends it.
func checkWork(minutes []time.Time) {
	for _, minute := range minutes {
		for _, task := range []string{"worked", "worked-beside"} {
			checkRun(task, minute)
			late := time.Duration(at(task, minute, "start") - minute.UnixNano())
			check(late >= 0 && late < soon, "%s %s: started %.3f s after its minute began",
				clock(minute), task, late.Seconds())
		}
	}
	var pid int
	fmt.Sscan(read("work/.sched/work"), &pid)
	check(pid > 0 && syscall.Kill(pid, syscall.SIGTERM) == nil, "sched work is process %d, and gets SIGTERM", pid)
	until("sched work has ended", func() bool { return read("work.exit") != "" })
	check(read("work.exit") == "143\n", "its exit code: %q", read("work.exit"))
}

// checkRun checks that a task ran once for the minute, with its hook after it, and has one record
// of it.
func checkRun(task string, minute time.Time) {
	r := records(task, minute)
	once := len(r) == 1 && r[0].Outcome == "succeeded"
	all := notes(task, minute, "")
	events := ""
	for _, note := range all {
		once = once && note[2] == r[0].Run
		events += strings.Join(note[4:], " ") + ", "
	}
	check(once && events == "start, end, after succeeded, ", "%s %s: ran once: %s%d record",
		clock(minute), task, events, len(r))
}

// notes returns the lines of a task for a minute, with the event or, if that is empty, with any. A
// line is: task, slot, run, nanoseconds, event, more.
func notes(task string, minute time.Time, event string) (found [][]string) {
	for line := range strings.Lines(read("notes")) {
		f := strings.Fields(line)
		if len(f) >= 5 && f[0] == task && f[1] == minute.UTC().Format(time.RFC3339) && (event == "" || f[4] == event) {
			found = append(found, f)
		}
	}
	return found
}

// at returns when the task noted the event, in nanoseconds; 0 if it did not.
func at(task string, minute time.Time, event string) (ns int64) {
	if n := notes(task, minute, event); len(n) > 0 {
		fmt.Sscan(n[0][3], &ns)
	}
	return ns
}

type record struct{ Task, Slot, Run, Outcome, Reason string }

// history returns what `sched history` says of one of the two schedules.
func history(name string) (all []record) {
	c := exec.Command(filepath.Join(dir, "bin/sched"), "history", "--json", "-n", "0")
	c.Dir, c.Stderr = filepath.Join(dir, name), os.Stderr
	text, err := c.Output()
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		log.Fatalf("sched history: %v\n%s", err, text)
	}
	return all
}

func records(task string, minute time.Time) (found []record) {
	for _, r := range slices.Concat(history("foreground"), history("background"), history("work")) {
		if r.Task == task && r.Slot == minute.UTC().Format(time.RFC3339) {
			found = append(found, r)
		}
	}
	return found
}

// ticks counts the ticks that have ended. A line is: schedule, exit code.
func ticks(prefix string) int {
	return strings.Count("\n"+read("ticks"), "\n"+prefix)
}

// children returns the processes that a process waits for (proc_pid_stat(5): the fourth field).
func children(parent string) (found []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, _ := os.ReadFile(path)
		_, after, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(after); len(f) > 1 && f[1] == parent {
			found = append(found, path)
		}
	}
	return found
}

func read(name string) string {
	text, _ := os.ReadFile(filepath.Join(dir, name))
	return string(text)
}

func clock(minute time.Time) string { return minute.Format("15:04") }

// until waits for a condition. If it is not met in time, the program ends.
func until(what string, condition func() bool) {
	for ; !condition(); time.Sleep(poll) {
		if time.Now().After(deadline) {
			dump()
			log.Fatalf("not after %s: %s", patience, what)
		}
	}
	log.Print(what)
}

func check(ok bool, format string, args ...any) {
	verdict := "ok   "
	if !ok {
		verdict = "WRONG"
		faults++
	}
	log.Printf("%s %s", verdict, fmt.Sprintf(format, args...))
}

// dump shows the evidence.
func dump() {
	log.Printf("ticks:\n%s", read("ticks"))
	log.Printf("notes:\n%s", read("notes"))
	log.Printf("sched work:\n%s", read("work.out"))
	for _, name := range []string{"foreground", "background", "work"} {
		log.Printf("%s: %+v", name, history(name))
	}
}
