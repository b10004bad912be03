//go:build linux

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// count counts signals and commands.
func (c *check) count() {
	c.kills = map[string]int{}
	for _, e := range c.events {
		if e.what == signalSent {
			c.kills[e.detail+" "+e.outcome]++
		}
	}
	for _, s := range c.traces {
		if len(s.attempts) > 0 {
			c.runs++
		}
	}
}

// print prints the figures, and then the violations.
func (f findings) print(w *campaign) {
	quiet, dead, replays := 0, 0, 0
	for _, t := range w.ticks {
		if t.quiet {
			quiet++
		}
		if t.replay {
			replays++
		}
		if t.status.Signaled() {
			dead++
		}
	}
	fmt.Printf("ticks: %d, of which %d were killed, %d replayed a minute and %d were quiet at the end\n",
		len(w.ticks), dead, replays, quiet)
	fmt.Printf("requests: %d confirmed, of which %d were taken back\n", f.asked, f.cancelled)
	fmt.Printf("chains: %d runs that trigger another one\n", f.triggered)
	fmt.Printf("order: %d times one stood in the queue when another one came that has begun\n", f.compared)
	fmt.Printf("reports: %d values\n", f.values)
	fmt.Printf("signals: %s\n", list(f.kills))
	fmt.Printf("slots: %d; commands that ran: %d; outcomes: %s\n", f.all, f.runs, list(f.outcomes))
	fmt.Printf("damaged histories set aside: %d\n", len(f.setAside))
	fmt.Printf("losses that are allowed: %s\n", list(f.losses))
	if *verbose {
		for _, e := range f.excused {
			fmt.Println("allowed: " + e)
		}
	}
	for _, note := range w.notes {
		fmt.Println("note: " + note)
	}
	const shown = 10
	for _, v := range f.violations[:min(shown, len(f.violations))] {
		fmt.Print(v)
	}
	for _, v := range f.violations[min(shown, len(f.violations)):] { // without the evidence
		first, _, _ := strings.Cut(v, "\n")
		fmt.Println(first)
	}
	fmt.Printf("violations: %d\n", len(f.violations))
}

func list(counts map[string]int) string {
	if len(counts) == 0 {
		return "none"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
	}
	return strings.Join(parts, ", ")
}
