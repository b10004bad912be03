//go:build schedtrace

// Command traces compares what a sched did that was built with -tags schedtrace with the model of
// the plan, of claims and of leases: see spec/README.md. Its arguments are folders that bench/crash
// or bench/faults has kept.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	verbose := flag.Bool("v", false, "print every shape")
	spec := flag.String("spec", "spec", "the folder with the models")
	flag.Parse()
	log.SetFlags(0)
	shapes := map[string]*shape{}
	slots, leftOut := 0, 0
	var stories []*story
	for _, folder := range flag.Args() {
		trials, _ := filepath.Glob(filepath.Join(folder, "*", "trace")) // of bench/faults
		for _, trial := range trials {
			stories = append(stories, storiesOf(trial)...)
		}
		for _, slot := range read(folder, trials) {
			slots++
			if slot.setBack || slot.byHand || !slot.over {
				leftOut++
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
		different[s.identity()] = s
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
		slots-leftOut, len(all), len(all)-refused, refused, leftOut)
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
