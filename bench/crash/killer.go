//go:build linux

package main

import (
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// kill sends signals until over is closed. Its choices follow the seed as far as the processes that
// live at the moment do.
func (w *world) kill(over <-chan struct{}) {
	r := w.random("kills")
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(30+r.IntN(270)) * time.Millisecond):
		}
		all := w.processes()
		if len(busy(all)) == 0 {
			continue
		}
		switch n := r.IntN(100); {
		case n < 65:
			w.signal(unix.SIGKILL, victim(r, all))
		case n < 77: // several at once
			for range 2 + r.IntN(3) {
				w.signal(unix.SIGKILL, victim(r, all))
			}
		case n < 84: // all of one run
			run := victim(r, all).run
			for _, p := range all {
				if run != "" && p.run == run && p.kind != daemon {
					w.signal(unix.SIGKILL, p)
				}
			}
		case n < 94: // one is stopped for a while
			p := victim(r, all)
			w.signal(unix.SIGSTOP, p)
			time.AfterFunc(time.Duration(20+r.IntN(800))*time.Millisecond, func() { unix.Kill(p.pid, unix.SIGCONT) })
		case n < 98: // a tick is asked to end
			if i := slices.IndexFunc(all, func(p process) bool { return p.kind == theTick }); i >= 0 {
				w.signal(unix.SIGTERM, all[i])
			}
		default: // a power cut of processes
			w.killAll()
		}
	}
}

// victim chooses a kind that is there, and then one of it: there are few ticks and many commands, and a
// schedule of which no tick survives has little to tell. It
// leaves the forks of ticks alone, since nobody could tell of which run they are.
func victim(r *rand.Rand, all []process) process {
	for {
		kind := kinds[r.IntN(len(kinds))]
		if kind == theTick && r.IntN(3) > 0 {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(all), func(p process) bool { return p.kind != kind || p.kind == forked && p.run == "" })
		if len(of) > 0 {
			return of[r.IntN(len(of))]
		}
	}
}

// signal writes down whom it hits, and hits.
func (w *world) signal(s unix.Signal, p process) {
	name := map[unix.Signal]string{unix.SIGKILL: "killed", unix.SIGSTOP: "stopped", unix.SIGTERM: "asked to end"}[s]
	w.journal.write(event{what: signalled, run: p.run, tick: p.tick, attempt: p.pid, detail: p.kind, slot: p.hook, outcome: name})
	unix.Kill(p.pid, s)
}

// killAll kills all, over and over until nothing is left; first it stops them, since what lives on
// for a moment would react to the death of the others.
func (w *world) killAll() {
	stopped := map[int]bool{}
	for more := true; more; {
		more = false
		for _, p := range w.processes() {
			if !stopped[p.pid] {
				unix.Kill(p.pid, unix.SIGSTOP)
				stopped[p.pid], more = true, true
			}
		}
	}
	for all := w.processes(); len(all) > 0; all = w.processes() {
		for _, p := range all {
			w.signal(unix.SIGKILL, p)
		}
	}
}
