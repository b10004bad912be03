//go:build schedtrace

// Command traces compares what a sched did that was built with -tags schedtrace with the model of
// the plan, of claims and of leases: see spec/README.md. Its arguments are folders that bench/crash
// or bench/faults has kept.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/state"
)

func main() {
	verbose := flag.Bool("v", false, "print every shape")
	spec := flag.String("spec", "spec", "the folder with the models")
	flag.Parse()
	log.SetFlags(0)
	shapes := map[string]*shape{}
	slots, left := 0, 0
	var stories []*story
	for _, folder := range flag.Args() {
		trials, _ := filepath.Glob(filepath.Join(folder, "*", "trace")) // of bench/faults
		for _, trial := range trials {
			stories = append(stories, storiesOf(trial)...)
		}
		for _, slot := range read(folder, trials) {
			slots++
			if slot.setBack || slot.byHand || !slot.over {
				left++
				continue
			}
			key := strings.Join(slot.events, " ")
			if shapes[key] == nil {
				shapes[key] = &shape{events: slot.events, example: slot.name}
			}
			shapes[key].slots++
		}
	}
	all := slices.SortedFunc(maps.Values(shapes), func(a, b *shape) int {
		return cmp.Or(b.slots-a.slots, strings.Compare(strings.Join(a.events, " "), strings.Join(b.events, " ")))
	})
	different := map[string]*story{}
	for _, s := range stories {
		different[s.same()] = s
	}
	stories = slices.Collect(maps.Values(different))
	force(*spec, slices.DeleteFunc(slices.Clone(stories), func(s *story) bool { return s.tooLong }))
	accept(filepath.Join(*spec, "plan.pml"), all)
	refused := 0
	for _, s := range all {
		switch {
		case !s.accepted:
			refused++
			cut := ""
			if !s.searched {
				cut = ", when its time was over"
			}
			fmt.Printf("refused%s: %d slots, as %s: %s\n", cut, s.slots, s.example, strings.Join(s.events, " "))
		case *verbose:
			fmt.Printf("accepted: %d slots, as %s: %s\n", s.slots, s.example, strings.Join(s.events, " "))
		}
	}
	fmt.Printf("%d slots with %d different traces: %d accepted, %d refused; %d slots left out: the clock was set back, or they ran by hand\n",
		slots-left, len(all), len(all)-refused, refused, left)
	refused += reportForced(stories)
	if refused > 0 || len(all)+len(stories) == 0 {
		os.Exit(1)
	}
}

// A shape is what happened to the rows of some slots.
type shape struct {
	events  []string
	example string
	slots   int

	accepted bool
	searched bool // all of the model, when it was not accepted
}

// A slot is what happened to the rows of one.
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
	of := map[string][]state.Traced{}
	for _, c := range changes {
		if c.IsSlot {
			name := c.Task + " " + time.UnixMicro(c.Slot).UTC().Format(time.RFC3339)
			of[name] = append(of[name], c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		slots = append(slots, newSlot(name, of[name], forked))
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
	add := func(events ...string) { s.events = append(s.events, events...) }
	for i := 0; i < len(changes); i++ {
		c := changes[i]
		if _, known := forksOf[c.Run]; !known {
			forksOf[c.Run] = slices.Sorted(slices.Values(forked[c.Run]))
		}
		for len(forksOf[c.Run]) > 0 && forksOf[c.Run][0] < c.At {
			forksOf[c.Run] = forksOf[c.Run][1:]
			add("FORK")
		}
		replaced := c.Phase == "" && i+1 < len(changes) && changes[i+1].PhaseBefore == "" && changes[i+1].Run == c.Run
		if replaced { // Owned.Begin, or Record: the row makes way for another one with its id
			i++
			before := c.PhaseBefore
			c = changes[i]
			c.PhaseBefore = before
		}
		switch step := c.PhaseBefore + ">" + c.Phase; {
		case step == ">planned", step == "waiting>planned":
			add("PLAN")
		case step == "planned>planned" && replaced: // of a dead tick
			add("BACK", "PLAN")
		case step == "planned>":
			add("BACK")
		case step == "planned>waiting", step == "ready>waiting" && c.Attempt == 0:
			add("BACK")
		case step == ">ended" && (c.Outcome == "missed"):
			add("MISSED")
		case step == "planned>ready", step == "waiting>ready" && replaced:
			add("BEGIN")
		case step == "planned>finishing", step == "waiting>finishing":
			add("SKIP")
		case step == "planned>ended", step == "waiting>ended":
			add("SKIP", "END")
		case step == "waiting>ready":
			add("RETRY")
		case step == "ready>running":
			add("START")
		case step == "running>ready":
			add("AGAIN")
		case step == "running>waiting", step == "ready>waiting":
			add("DEFER")
		case step == "ready>finishing", step == "running>finishing":
			add("FINISH")
		case step == "ready>ended", step == "running>ended":
			add("FINISH", "END")
		case step == "finishing>ended":
			add("END")
		case c.PhaseBefore == c.Phase && c.OwnerBefore != c.Owner:
			add(map[string]string{"tick": "TO_TICK", "supervisor": "TO_SUPERVISOR", "finish": "TO_FINISH"}[c.OwnerKind])
		case c.PhaseBefore == "ended": // pruned, or missed and then run
		default:
			add(step)
		}
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
