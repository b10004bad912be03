// Command forecastcheck compares what a forecast said of two minutes with what became of them: forecastcheck FROM FORECAST HISTORY.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"
)

// within is by how many seconds a start may be off: a machine is busy at times.
const within = 1.0

type foreseen struct {
	Task, Slot, Skipped string
	Lateness            float64
}

type record struct {
	Task, Slot, Outcome, Reason string
	Started                     *string
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: forecastcheck FROM FORECAST HISTORY")
	}
	from, err := time.Parse(time.RFC3339, os.Args[1])
	must(err)
	var said []foreseen
	var became []record
	read(os.Args[2], &said)
	read(os.Args[3], &became)
	real := map[string]record{}
	for _, r := range became {
		if at := parse(r.Slot); !at.Before(from) && at.Before(from.Add(2*time.Minute)) {
			real[r.Task+" "+r.Slot] = r
		}
	}
	wrong, starts, skips, worst, latest := 0, 0, 0, 0.0, "none"
	for _, f := range said {
		r, ok := real[f.Task+" "+f.Slot]
		off, problem := compare(f, r, ok)
		if problem != "" {
			wrong++
			fmt.Printf("%s %s: %s\n", f.Slot, f.Task, problem)
		}
		if off > worst {
			worst, latest = off, f.Task+" of "+f.Slot
		}
		if f.Skipped == "" {
			starts++
		} else {
			skips++
		}
		delete(real, f.Task+" "+f.Slot)
	}
	for slot := range real {
		wrong++
		fmt.Printf("%s: not foreseen\n", slot)
	}
	fmt.Printf("%d starts and %d skips were foreseen, %d wrongly; the start that is off most is that of %s: %.2f s\n",
		starts, skips, wrong, latest, worst)
	if wrong > 0 || starts < 70 || skips < 5 {
		os.Exit(1)
	}
}

// compare returns by how many seconds the start is off, and what is wrong with the forecast of a slot.
func compare(f foreseen, r record, ok bool) (off float64, problem string) {
	switch {
	case !ok:
		return 0, "it has no record"
	case (f.Skipped != "") != (r.Outcome == "skipped"):
		return 0, fmt.Sprintf("foreseen as %q, and it %s %s", f.Skipped, r.Outcome, r.Reason)
	case f.Skipped != "" || r.Started == nil:
		return 0, ""
	}
	late := parse(*r.Started).Sub(parse(r.Slot)).Seconds() // the history prints whole seconds, cut off
	if off = max(0, late-f.Lateness, f.Lateness-late-1); off > within {
		problem = fmt.Sprintf("foreseen to start %.1f s late, and it started %.1f s late", f.Lateness, late)
	}
	return off, problem
}

func parse(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	must(err)
	return at
}

func read(path string, into any) {
	text, err := os.ReadFile(path)
	must(err)
	must(json.Unmarshal(text, into))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
