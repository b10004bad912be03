//go:build linux

package main

import (
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// kill sends signals until over is closed. Its choices follow the seed, as far as the same
// processes live at the moment.
func (c *campaign) kill(over <-chan struct{}) {
	r := c.random("kills")
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(30+r.IntN(270)) * time.Millisecond):
		}
		all := c.processes()
		if len(busy(all)) == 0 {
			continue
		}
		switch n := r.IntN(100); {
		case n < 65:
			c.signal(unix.SIGKILL, victim(r, all))
		case n < 77: // several at once
			for range 2 + r.IntN(3) {
				c.signal(unix.SIGKILL, victim(r, all))
			}
		case n < 84: // all of one run, or all that watch the runs of a tick
			chosen := victim(r, all)
			for _, p := range all {
				if (p.with(chosen) || chosen.watches() && p.watches() && p.tick == chosen.tick) && p.kind != daemon {
					c.signal(unix.SIGKILL, p)
				}
			}
		case n < 94: // one is stopped for a while
			p := victim(r, all)
			c.signal(unix.SIGSTOP, p)
			time.AfterFunc(time.Duration(20+r.IntN(800))*time.Millisecond, func() { unix.Kill(p.pid, unix.SIGCONT) })
		case n < 98: // a tick is asked to end
			if i := slices.IndexFunc(all, func(p process) bool { return p.kind == tickProcess }); i >= 0 {
				c.signal(unix.SIGTERM, all[i])
			}
		default: // all processes at once, as in a power cut
			c.killAll()
		}
	}
}

// victim first chooses a kind of process and then a process of that kind, because there are few
// ticks and many commands. It chooses ticks less often, or hardly any run would begin. It leaves
// the forks of ticks alone, because they show no run.
func victim(r *rand.Rand, all []process) process {
	for {
		kind := kinds[r.IntN(len(kinds))]
		if kind == tickProcess && r.IntN(3) > 0 {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(all),
			func(p process) bool { return p.kind != kind || p.kind == forked && p.run == "" })
		if len(of) > 0 {
			return of[r.IntN(len(of))]
		}
	}
}

// signal writes into the journal which process it signals, and signals it.
func (c *campaign) signal(s unix.Signal, p process) {
	name := map[unix.Signal]string{unix.SIGKILL: "killed", unix.SIGSTOP: "stopped", unix.SIGTERM: "asked to end"}[s]
	for _, run := range append([]string{p.run}, p.more...) {
		c.journal.write(event{what: signalSent, run: run, tick: p.tick, attempt: p.pid, detail: p.kind,
			slot: p.hook, outcome: name})
	}
	unix.Kill(p.pid, s)
}

// killAll kills all processes until no process is left. First it stops them: a process that lived
// on for a moment would react to the end of the others. Children are killed before their parents:
// the kernel wakes a stopped process with SIGHUP when its parent ends.
func (c *campaign) killAll() {
	stopped := map[int]bool{}
	for more := true; more; {
		more = false
		for _, p := range c.processes() {
			if !stopped[p.pid] {
				unix.Kill(p.pid, unix.SIGSTOP)
				stopped[p.pid], more = true, true
			}
		}
	}
	for all := c.processes(); len(all) > 0; all = c.processes() {
		for _, p := range slices.Backward(all) {
			c.signal(unix.SIGKILL, p)
		}
	}
}
