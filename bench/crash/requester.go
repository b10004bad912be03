//go:build linux

package main

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/state"
)

// requests are the runs that this program asked for. Safe for concurrent use.
type requests struct {
	mu        sync.Mutex
	asked     []asked
	uncertain map[string]int // by task: how many commands were killed or failed before they printed a run
}

// An asked run is a run that sched promised.
type asked struct {
	run, task string
	cancelled bool // sched said that it will not run
}

// The commands that ask for runs.
const (
	trigger = "trigger"
	retry   = "retry"
	cancel  = "cancel"
)

// request asks for runs and takes requests back until over is closed.
func (c *campaign) request(over <-chan struct{}) {
	r := c.random("requests")
	var able []string
	for _, t := range c.tasks {
		if t.answersRequests() {
			able = append(able, t.name)
		}
	}
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(200+r.IntN(1200)) * time.Millisecond):
		}
		task, later := able[r.IntN(len(able))], []string{"", "1m", "3m", "5m"}[r.IntN(4)]
		switch n := r.IntN(1000); {
		case n < 600:
			waiting.Go(func() { c.ask(trigger, task, task, later) })
		case n < 800:
			waiting.Go(func() { c.retryOne(able, n, later) })
		default:
			waiting.Go(func() { c.takeBack(n) })
		}
	}
}

// answersRequests reports whether a request for a task is answered while the task is also due. If a
// background task takes the mutex first in each minute, the mutex is never free for the request.
func (t task) answersRequests() bool {
	return t.mutex == "" || t.mutex == "-" && (t.every > 1 || !t.background()) && t.does != "daemon"
}

// ask asks for a run of a task with one of the commands. what is a task or a run.
func (c *campaign) ask(command, what, task, later string) {
	args := []string{command, what, "--json"}
	if later != "" {
		args = append(args, "--in", later)
	}
	out, status := c.sched(command, task, args...)
	var one struct{ Run string }
	if json.Unmarshal(out, &one) != nil {
		var several []struct{ Run string }
		if json.Unmarshal(out, &several); len(several) > 0 {
			one.Run = several[0].Run
		}
	}
	c.journal.write(event{what: requestEnded, task: task, slot: one.Run, detail: command, outcome: ending(status)})
	c.requests.mu.Lock()
	defer c.requests.mu.Unlock()
	if status == 0 && one.Run != "" {
		c.requests.asked = append(c.requests.asked, asked{run: one.Run, task: task})
	} else if status != 0 {
		c.requests.uncertain[task]++
	}
}

// retryOne asks for a retry of one of the newest records of tasks that answer requests.
func (c *campaign) retryOne(able []string, n int, later string) {
	records, err := c.recorded("-n", "50")
	records = slices.DeleteFunc(records, func(r record) bool { return !slices.Contains(able, r.Task) })
	if err == nil && len(records) > 0 {
		r := records[n%len(records)]
		c.ask(retry, r.Run, r.Task, later)
	}
}

// takeBack cancels one of the requests that wait.
func (c *campaign) takeBack(n int) {
	waiting := c.waiting()
	if len(waiting) == 0 {
		return
	}
	run := waiting[n%len(waiting)]
	_, status := c.sched(cancel, "", trigger, "--cancel", run)
	c.journal.write(event{what: requestEnded, slot: run, detail: cancel, outcome: ending(status)})
	c.requests.mu.Lock()
	defer c.requests.mu.Unlock()
	for i := range c.requests.asked {
		if a := &c.requests.asked[i]; a.run == run && status == 0 {
			a.cancelled = true
		}
	}
}

// waiting returns the runs of the requests that wait.
func (c *campaign) waiting() (runs []string) {
	db, err := state.OpenRead(c.state(), state.Patience)
	if err != nil {
		return nil // damaged at this moment
	}
	defer db.Close()
	rows, _ := db.Runs().Waiting(context.Background())
	for _, row := range rows {
		if !row.Scheduled {
			runs = append(runs, row.ID)
		}
	}
	return runs
}

// sched runs a command of sched that may be killed, and returns what it printed on stdout.
func (c *campaign) sched(command, task string, args ...string) (stdout []byte, status unix.WaitStatus) {
	c.journal.write(event{what: requestBegan, task: task, detail: command})
	out, err := os.CreateTemp(c.dir, "request-")
	must(err)
	defer os.Remove(out.Name())
	defer out.Close()
	ended := make(chan unix.WaitStatus, 1)
	attr := &os.ProcAttr{Dir: c.dir, Env: c.watched(), Files: []*os.File{nil, out, nil}}
	c.reaper.start(c.path("sched"), append([]string{"sched"}, args...), attr, func(s unix.WaitStatus) { ended <- s })
	status = <-ended
	stdout, err = os.ReadFile(out.Name())
	must(err)
	return stdout, status
}
