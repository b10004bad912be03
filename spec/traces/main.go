//go:build schedtrace

// Command traces compares what a sched did that was built with -tags schedtrace with the model of
// the plan: see spec/README.md. Its arguments are folders that bench/crash has kept, each with a
// database in evidence/state or disk/state, and a file forks.
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
	plan := flag.String("plan", "spec/plan.pml", "the model")
	flag.Parse()
	log.SetFlags(0)
	shapes := map[string]*shape{}
	slots, left := 0, 0
	for _, folder := range flag.Args() {
		for _, slot := range read(folder) {
			slots++
			if slot.setBack || !slot.over {
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
	accept(*plan, all)
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
	fmt.Printf("%d slots with %d different traces: %d accepted, %d refused; %d slots left out, over which the clock was set back\n",
		slots-left, len(all), len(all)-refused, refused, left)
	if refused > 0 || len(all) == 0 {
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
	over    bool
}

// read returns the slots of the schedule of which a database has a trace.
func read(folder string) (slots []*slot) {
	dir := filepath.Join(folder, "evidence", "state")
	if _, err := os.Stat(dir); err != nil {
		dir = filepath.Join(folder, "disk", "state")
	}
	db := state.At(dir, 10*time.Second)
	defer db.Close()
	changes, err := state.Traces(context.Background(), db)
	if err != nil {
		log.Fatal(err)
	}
	forked := forks(filepath.Join(folder, "forks"))
	of := map[string][]state.Traced{}
	for _, c := range changes {
		if c.One {
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
		var line struct {
			Run string
			At  int64
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil {
			forked[line.Run] = append(forked[line.Run], line.At)
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
		replaced := c.Phase == "" && i+1 < len(changes) && changes[i+1].Was == "" && changes[i+1].Run == c.Run
		if replaced { // Owned.Begin, or Record: the row makes way for another one with its id
			i++
			was := c.Was
			c = changes[i]
			c.Was = was
		}
		switch step := c.Was + ">" + c.Phase; {
		case step == ">planned", step == "waiting>planned":
			add("PLAN")
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
		case c.Was == c.Phase && c.Had != c.Owner:
			add(map[string]string{"tick": "TO_TICK", "supervisor": "TO_SUPERVISOR", "finish": "TO_FINISH"}[c.Kind])
		case c.Was == "ended": // pruned, or missed and then run
		default:
			add(step)
		}
		if c.Was == "ended" && c.Phase == "" && c.Outcome == "missed" {
			s.setBack = true
		}
		s.over = c.Phase == "ended" || c.Was == "ended"
	}
	return s
}
