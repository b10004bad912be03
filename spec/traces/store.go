//go:build schedtrace

package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// A line is one of the file into which a sched with -tags schedtrace writes what it asks its store,
// or one that bench/faults has added.
type line struct {
	What     string // trial, claim, acquire, renew, release, close, fork, forgets, forgot
	Name     string // of the claim or the mutex; of the fault
	Run      string
	Server   string
	Pid, Ask int // a question and its answer have the same
	Answer   string
	Holder   string // a run, as the answer says
	Task     string
	Slot     time.Time // of a fork
	At       time.Duration
	Database bool // of a trial: its store is one
	Lease    time.Duration
}

// linesOf reads a file, in the order of the times.
func linesOf(path string) (all []line) {
	file, err := os.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			log.Fatalf("%s: %v", path, err)
		}
		all = append(all, l)
	}
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(a.At, b.At) })
	return all
}

// storiesOf returns what became of each claim and each mutex of a trial.
func storiesOf(path string) (stories []*story) {
	lines := linesOf(path)
	trial := lines[slices.IndexFunc(lines, func(l line) bool { return l.What == "trial" })]
	claims, mutexes := map[string][]line{}, map[string][]line{}
	asked := map[int]map[string]bool{} // the claims that a process has asked for
	for _, l := range lines {
		switch l.What {
		case "claim":
			claims[l.Name] = append(claims[l.Name], l)
			if asked[l.Pid] == nil {
				asked[l.Pid] = map[string]bool{}
			}
			asked[l.Pid][l.Name] = true
		case "close":
			for name := range asked[l.Pid] {
				claims[name] = append(claims[name], l)
			}
			if l.Answer != "" {
				delete(asked, l.Pid)
			}
		case "acquire", "renew", "release":
			mutexes[l.Name] = append(mutexes[l.Name], l)
		case "fork":
			if key := l.Task + "@" + l.Slot.UTC().Format("20060102T150405Z"); claims[key] != nil {
				claims[key] = append(claims[key], l)
			} else if mutexes[l.Task] != nil {
				mutexes[l.Task] = append(mutexes[l.Task], l)
			}
		case "forgets", "forgot":
			for _, of := range []map[string][]line{claims, mutexes} {
				for name := range of {
					of[name] = append(of[name], l)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		stories = append(stories, claimStory(claims[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(mutexes)) {
		stories = append(stories, leaseStory(mutexes[name], trial.Lease))
	}
	for _, s := range stories {
		s.sql, s.example = trial.Database, fmt.Sprintf("%s (%s)", s.example, trial.Name)
	}
	return stories
}

// A teller tells a story line by line.
type teller struct {
	*story
	runs  map[string]int // their numbers
	asked map[[2]int]int // the steps with questions, by process and number
	begun time.Duration
}

func newTeller(model string, lines []line) *teller {
	return &teller{&story{model: model}, map[string]int{}, map[[2]int]int{}, lines[0].At}
}

var answers = map[string]int{"ok": got, "held": isHeld, "lost": isLost, "unknown": isUnknown}

// tell adds a step, and joins an answer with its question.
func (t *teller) tell(l line, question int) *step {
	s := step{who: t.runs[l.Run], event: question, holder: none, peer: none, at: l.At - t.begun, text: l.String()}
	if l.Answer != "" {
		s.event, s.peer = answers[l.Answer], t.asked[[2]int{l.Pid, l.Ask}]
		t.steps[s.peer].peer = len(t.steps)
		if number, known := t.runs[l.Holder]; known {
			s.holder = number
		} else if l.Holder != "" {
			s.holder = stranger
		}
	} else if l.Ask != 0 {
		t.asked[[2]int{l.Pid, l.Ask}] = len(t.steps)
	}
	t.steps = append(t.steps, s)
	return &t.steps[len(t.steps)-1]
}

func (l line) String() string {
	run := l.Run[max(0, len(l.Run)-6):]
	switch {
	case l.Answer == "":
		return strings.TrimSpace(fmt.Sprint(l.What, " of ", run, " on ", l.Server, ", process ", l.Pid))
	case l.Holder != "":
		return fmt.Sprint(l.What, " of ", run, ": ", l.Answer, ", by ", l.Holder[max(0, len(l.Holder)-6):])
	}
	return fmt.Sprint(l.What, " of ", run, ": ", l.Answer)
}

const mostServers = 15

// claimStory is what became of a claim. Each run is a server: a server asks for one run of a slot.
func claimStory(lines []line) *story {
	t := newTeller("claim", lines)
	t.example = lines[0].Name
	process, started := map[int]string{}, map[string]bool{} // which run a process asks for
	for _, l := range lines {
		if _, known := t.runs[l.Run]; !known && l.Run != "" {
			t.runs[l.Run] = len(t.runs)
		}
		switch l.What {
		case "claim":
			process[l.Pid] = l.Run
			t.tell(l, asks)
		case "close":
			l.Run = process[l.Pid]
			if s := t.tell(l, closes); l.Answer != "" {
				s.event = closed
			}
		case "fork":
			if !started[l.Run] { // later attempts need no claim
				t.tell(l, starts)
			}
			started[l.Run] = true
		default:
			t.tell(l, map[string]int{"forgets": forgets, "forgot": forgot}[l.What])
		}
	}
	t.tooLong = len(t.runs) > mostServers
	return t.story
}

// The model of a mutex has room for so many runs that change something, and for so many questions
// that may be carried out at the same time. A store carries out a question without an answer so
// late.
const (
	mostRuns   = 249
	mostPlaces = 199
	latest     = 30 * time.Second
)

// leaseStory is what became of a mutex.
func leaseStory(lines []line, lease time.Duration) *story {
	t := newTeller("lease", lines)
	t.example, t.lease = lines[0].Name, lease
	held := map[[2]int]bool{}
	for _, l := range lines {
		held[[2]int{l.Pid, l.Ask}] = l.What == "acquire" && l.Answer == "held"
	}
	active, acquired := 0, map[string]int{} // the step with the last answer that says so, by run
	for _, l := range lines {
		_, known := t.runs[l.Run]
		switch looker := held[[2]int{l.Pid, l.Ask}]; {
		case looker && !known:
			t.runs[l.Run] = mostRuns // it changes nothing
		case !looker && l.Run != "" && (!known || t.runs[l.Run] == mostRuns):
			t.runs[l.Run] = active
			active++
		}
		switch l.What {
		case "fork":
			s := t.tell(l, starts)
			if at, has := acquired[l.Run]; has {
				s.peer = at
			}
		case "forgets", "forgot":
			t.tell(l, map[string]int{"forgets": forgets, "forgot": forgot}[l.What])
		default:
			s := t.tell(l, map[string]int{"acquire": acquires, "renew": renews, "release": releases}[l.What])
			switch {
			case l.What == "release" && s.event == got:
				s.event = isReleased
			case l.What == "acquire" && s.event == got:
				acquired[l.Run] = len(t.steps) - 1
			}
		}
	}
	t.tooLong = active > mostRuns || !t.givePlaces() || len(t.steps) > 6000
	return t.story
}

// givePlaces gives each question a place, from 1 on, for as long as it may be carried out.
func (t *teller) givePlaces() bool {
	var free [mostPlaces + 1]time.Duration // when a place is free again
	for i := range t.steps {
		s := &t.steps[i]
		if s.event > releases {
			if s.event < starts {
				s.place = t.steps[s.peer].place
			}
			continue
		}
		until := s.at + latest
		if s.peer != none {
			if until += t.steps[s.peer].at - s.at; t.steps[s.peer].event != isUnknown {
				until = t.steps[s.peer].at
			}
		}
		place := 1 + slices.IndexFunc(free[1:], func(at time.Duration) bool { return at <= s.at })
		if place == 0 {
			return false
		}
		s.place, free[place] = place, until
	}
	return true
}
