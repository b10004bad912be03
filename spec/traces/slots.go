//go:build schedtrace

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sched/schedule/state"
)

// A slot is what happened to the rows of one slot.
type slot struct {
	name    string
	events  []string
	setBack bool // it was called missed and ran after all: the model sets no clock
	byHand  bool // it was not planned: somebody has called sched run --at
	over    bool
}

// read returns the slots of the schedule of which the databases in a folder have a trace: one of
// bench/crash, or several in the folders of the trials of bench/faults.
func read(folder string, trials []string) (slots []*slot) {
	for _, trial := range trials {
		servers, _ := filepath.Glob(filepath.Join(filepath.Dir(trial), "web-*", ".sched"))
		for _, dir := range servers {
			slots = append(slots, slotsOf(dir, trial)...)
		}
	}
	if len(trials) > 0 {
		return slots
	}
	dir := filepath.Join(folder, "evidence", "state")
	if _, err := os.Stat(dir); err != nil {
		dir = filepath.Join(folder, "disk", "state")
	}
	return slotsOf(dir, filepath.Join(folder, "forks"))
}

// slotsOf returns the slots of a state folder; a file says when their commands were forked.
func slotsOf(dir, lines string) (slots []*slot) {
	db := state.At(dir, 10*time.Second)
	defer db.Close()
	changes, err := state.Traces(context.Background(), db)
	if err != nil {
		log.Fatal(err)
	}
	forked := forks(lines)
	changesOf := map[string][]state.Traced{} // by slot
	for _, c := range changes {
		if c.IsSlot {
			name := c.Task + " " + time.UnixMicro(c.Slot).UTC().Format(time.RFC3339)
			changesOf[name] = append(changesOf[name], c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(changesOf)) {
		slots = append(slots, newSlot(name, changesOf[name], forked))
	}
	return slots
}

// forks returns when commands were forked, by run.
func forks(path string) map[string][]int64 {
	forked := map[string][]int64{}
	file, err := os.Open(path)
	if err != nil {
		return forked
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var l line
		if json.Unmarshal(lines.Bytes(), &l) == nil && l.What == "fork" {
			forked[l.Run] = append(forked[l.Run], int64(l.At))
		}
	}
	return forked
}

// newSlot names the changes of the rows of a slot as the model does.
func newSlot(name string, changes []state.Traced, forked map[string][]int64) *slot {
	s := &slot{name: name}
	forksOf := map[string][]int64{}
	for i := 0; i < len(changes); i++ {
		c := changes[i]
		if _, known := forksOf[c.Run]; !known {
			forksOf[c.Run] = slices.Sorted(slices.Values(forked[c.Run]))
		}
		for len(forksOf[c.Run]) > 0 && forksOf[c.Run][0] < c.At {
			forksOf[c.Run] = forksOf[c.Run][1:]
			s.events = append(s.events, "FORK")
		}
		isReplaced := c.Phase == "" && i+1 < len(changes) && changes[i+1].PhaseBefore == "" && changes[i+1].Run == c.Run
		if isReplaced { // Owned.Begin, or Record: the row makes way for another one with its id
			i++
			before := c.PhaseBefore
			c = changes[i]
			c.PhaseBefore = before
		}
		s.events = append(s.events, eventsOf(c, isReplaced)...)
		if c.PhaseBefore == "ended" && c.Phase == "" && c.Outcome == "missed" {
			s.setBack = true
		}
		s.over = c.Phase == "ended" || c.PhaseBefore == "ended"
		if n := len(s.events); n >= 4 && slices.Equal(s.events[n-4:], []string{"RETRY", "DEFER", "RETRY", "DEFER"}) {
			s.events = s.events[:n-2] // as often as the mutex was not free
		}
	}
	s.byHand = changes[0].Phase != "planned" && changes[0].Outcome != "missed"
	return s
}

// eventsOf returns the events of one change of a row. A row that is replaced makes way for another
// row with its id.
func eventsOf(c state.Traced, isReplaced bool) []string {
	step := c.PhaseBefore + ">" + c.Phase
	switch step {
	case ">planned", "waiting>planned":
		return []string{"PLAN"}
	case "planned>", "planned>waiting":
		return []string{"BACK"}
	case "planned>ready":
		return []string{"BEGIN"}
	case "planned>finishing", "waiting>finishing":
		return []string{"SKIP"}
	case "planned>ended", "waiting>ended":
		return []string{"SKIP", "END"}
	case "planned>running": // a run in the foreground: nothing can happen between the two
		return []string{"BEGIN", "START"}
	case "ready>running":
		return []string{"START"}
	case "running>ready":
		return []string{"AGAIN"}
	case "running>waiting":
		return []string{"DEFER"}
	case "ready>finishing", "running>finishing":
		return []string{"FINISH"}
	case "ready>ended", "running>ended":
		return []string{"FINISH", "END"}
	case "finishing>ended":
		return []string{"END"}
	}
	switch {
	case step == "planned>planned" && isReplaced: // of a dead tick
		return []string{"BACK", "PLAN"}
	case step == "waiting>ready" && isReplaced:
		return []string{"BEGIN"}
	case step == "waiting>ready":
		return []string{"RETRY"}
	case step == "ready>waiting" && c.Attempt == 0:
		return []string{"BACK"}
	case step == "ready>waiting":
		return []string{"DEFER"}
	case step == ">ended" && c.Outcome == "missed":
		return []string{"MISSED"}
	case c.PhaseBefore == c.Phase && c.OwnerBefore != c.Owner:
		return []string{map[string]string{"tick": "TO_TICK", "supervisor": "TO_SUPERVISOR", "finish": "TO_FINISH"}[c.OwnerKind]}
	case c.PhaseBefore == "ended": // pruned, or missed and then run
		return nil
	}
	return []string{step} // the model has no such event
}
