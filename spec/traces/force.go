//go:build schedtrace

package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A story is what some servers asked a store about one claim or one mutex, and what they were told.
// The model is forced to do the same, step by step.
type story struct {
	model   string // "claim" or "lease"
	sql     bool
	lease   time.Duration
	steps   []step
	example string
	tooLong bool // for the model

	accepted bool
	reached  int // steps that the model can do
	searched bool
}

// A step is one event of a story. The models read it from a file.
type step struct {
	who    int // a server of a claim; a run of a mutex
	event  int
	holder int // who has it, as an answer says; none or stranger
	peer   int // the step with the answer to a question, or with the question; none
	place  int // of a question of a mutex, and of its answer
	at     time.Duration
	text   string // for people
}

const none, stranger = -1, -2

// The events of both models.
const (
	asks = iota // a claim
	acquires
	renews
	releases
	got // or claimed, or renewed
	isHeld
	isLost
	isReleased
	isUnknown
	starts
	closes
	closed
	forgets
	forgot
)

//go:embed trace.pml
var forcing []byte

// force sets accepted for each story that the models have, too.
func force(spec string, all []*story) {
	dirs := map[string]string{}
	for _, s := range all {
		if _, known := dirs[s.kind()]; !known {
			dirs[s.kind()] = compileForced(spec, s)
			defer os.RemoveAll(dirs[s.kind()])
		}
	}
	sideBySide(all, func(s *story) { s.search(dirs[s.kind()]) })
}

func (s *story) kind() string { return fmt.Sprint(s.model, s.sql) }

func compileForced(spec string, s *story) string {
	switches := []string{"-DTRACE"}
	if s.sql {
		switches = append(switches, "-DSQL")
	}
	if s.model == "claim" {
		switches = append(switches, "-DCLAIM", "-DVERY_LATE", fmt.Sprint("-DSERVERS=", mostServers), "-DASKS=16")
	}
	return compile(filepath.Join(spec, s.model+".pml"), forcing, switches...)
}

// search has spin try every order of the steps of the model that leads on in the story.
func (s *story) search(dir string) {
	file := filepath.Join(dir, fmt.Sprintf("%p", s))
	must(os.WriteFile(file, s.text(), 0o600))
	out, ended := pan(dir, file, aloneLimit, "-w16")
	s.searched, s.accepted = ended, bytes.Contains(out, []byte("accepted\n"))
	for _, found := range regexp.MustCompile(`reached (\d+)\n`).FindAllSubmatch(out, -1) {
		at, _ := strconv.Atoi(string(found[1]))
		s.reached = max(s.reached, at)
	}
}

func (s *story) text() []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, len(s.steps), s.lease.Milliseconds())
	for _, t := range s.steps {
		fmt.Fprintln(&b, t.who, t.event, t.holder, t.peer, t.place, t.at.Milliseconds())
	}
	return b.Bytes()
}

// identity tells stories apart: the model cannot tell two stories with one identity apart, and one
// of them is enough. Times count for a mutex alone.
func (s *story) identity() string {
	if s.model == "lease" {
		return s.example
	}
	var b strings.Builder
	fmt.Fprint(&b, s.sql)
	for _, t := range s.steps {
		fmt.Fprint(&b, " ", t.who, t.event, t.holder)
	}
	return b.String()
}

// reportForced prints which stories were refused, and where. It returns how many.
func reportForced(all []*story) (refused int) {
	slices.SortFunc(all, func(a, b *story) int { return cmp.Compare(a.example, b.example) })
	count, steps, tooLong := map[string]int{}, 0, 0
	for _, s := range all {
		count[s.model]++
		steps += len(s.steps)
		switch {
		case s.tooLong:
			tooLong++
		case !s.accepted:
			refused++
			cut := map[bool]string{false: ", when its time was over"}[s.searched]
			fmt.Printf("refused%s: the %s of %s, at step %d of %d:\n",
				cut, s.model, s.example, s.reached+1, len(s.steps))
			for _, t := range s.steps[max(0, s.reached-8):min(len(s.steps), s.reached+1)] {
				fmt.Printf("  %9.3f s  %s\n", t.at.Seconds(), t.text)
			}
		}
	}
	fmt.Printf("%d claims and %d mutexes with %d steps: %d accepted, %d refused, %d too long for the model\n",
		count["claim"], count["lease"], steps, len(all)-refused-tooLong, refused, tooLong)
	return refused + tooLong
}
