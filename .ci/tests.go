// Tests runs `go test` with the arguments given, and what failed once more: alone, on a machine that may have been busy.
//
//	go run .ci/tests.go [--notes FILE] -race -timeout 30m ./...
//
// Of a test that failed by its parts alone, such as a script of TestScripts, those parts are run and not all of it.
//
// It is never silent about it: each test that failed and then passed is named, and added to the file of notes. A test that fails
// twice fails, and so does, at once, what no busy machine explains: a package that does not build, or whose tests did not come to
// their end (a panic, a timeout, an exit), a data race, and more than a few failures.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// few are as many failed tests as are run again.
const few = 8

func main() {
	args, notes := os.Args[1:], ""
	if len(args) > 1 && args[0] == "--notes" {
		args, notes = args[2:], args[1]
	}
	if err := run(args, notes); err != nil {
		fmt.Println("tests:", err)
		os.Exit(1)
	}
}

func run(args []string, notes string) error {
	packages, err := test(args)
	if err == nil {
		return nil
	}
	again := map[string][]string{} // the names of failed tests, by package
	count := 0
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		p := packages[name]
		if !p.failed {
			continue
		}
		if why := p.hopeless(); why != "" {
			return fmt.Errorf("%s: %s", name, why)
		}
		again[name] = p.failures()
		count += len(again[name])
	}
	if count == 0 {
		return err
	}
	if count > few {
		return fmt.Errorf("%d tests failed: too many for a busy machine", count)
	}
	flags := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "./") })
	for _, name := range slices.Sorted(maps.Keys(again)) {
		for _, failed := range again[name] {
			fmt.Printf("\nagain, alone: %s of %s\n", failed, name)
			alone := append(slices.Clone(flags), "-count=1", "-p=1", "-parallel=1", "-run="+pattern(failed), name)
			packages, err := test(alone)
			if err != nil {
				return fmt.Errorf("%s of %s failed twice: %w", failed, name, err)
			}
			if p := packages[name]; p == nil || p.came[failed] != "pass" {
				return fmt.Errorf("%s of %s did not run again", failed, name)
			}
			if err := note(notes, fmt.Sprintf("failed once, passed alone: %s of %s", failed, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// pattern is what -run takes for one test, or for one part of one.
func pattern(test string) string {
	return "^" + strings.ReplaceAll(regexp.QuoteMeta(test), "/", "$/^") + "$"
}

// note prints a line, and adds it to the file of notes.
func note(file, line string) error {
	fmt.Println(line)
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, line)
	return err
}

// A tested package has what became of its tests and of their parts, whose names have a slash.
type tested struct {
	failed bool
	came   map[string]string // run, pass, fail or skip, by the name of the test
	spoke  map[string]bool   // the tests that printed something themselves
	ended  bool              // it said FAIL at the end of all tests
	raced  bool
	output map[string]*strings.Builder // by test with its parts, until it is known whether to show it
}

// hopeless says why a failed package needs no second look, or nothing.
func (p *tested) hopeless() string {
	switch {
	case p.raced:
		return "a data race"
	case !p.ended || len(p.names("run")) > 0:
		return "it does not build, or its tests did not come to their end"
	case len(p.names("fail")) == 0:
		return "it failed, and none of its tests"
	}
	return ""
}

// names returns the tests of which that became, without their parts.
func (p *tested) names(came string) (names []string) {
	for name, c := range p.came {
		if c == came && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// failures returns what to run again: the smallest parts that failed. A test that failed and said something itself is one failure:
// nobody knows whether its parts are all that was wrong.
func (p *tested) failures() (all []string) {
	var add func(test string)
	add = func(test string) {
		parts := p.failedParts(test)
		if len(parts) == 0 || p.spoke[test] {
			all = append(all, test)
			return
		}
		for _, part := range parts {
			add(part)
		}
	}
	for _, test := range p.names("fail") {
		add(test)
	}
	return all
}

// failedParts returns the failed parts of a test, without parts of them. The name of a part may have a slash.
func (p *tested) failedParts(test string) (parts []string) {
	for _, name := range slices.Sorted(maps.Keys(p.came)) {
		within := func(whole string) bool { return strings.HasPrefix(name, whole+"/") }
		if p.came[name] == "fail" && within(test) && !slices.ContainsFunc(parts, within) {
			parts = append(parts, name)
		}
	}
	return parts
}

// test runs go test, and prints what it would: the output of what failed, and a line for each package.
func test(args []string) (map[string]*tested, error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	packages := map[string]*tested{}
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			event(packages, line)
		}
		if err != nil {
			break
		}
	}
	return packages, cmd.Wait()
}

func event(packages map[string]*tested, line []byte) {
	var e struct{ Action, Package, Test, Output string }
	if json.Unmarshal(line, &e) != nil || e.Package == "" {
		if e.Action == "" || e.Action == "build-output" {
			fmt.Print(e.Output)
		}
		return
	}
	p := packages[e.Package]
	if p == nil {
		p = &tested{came: map[string]string{}, spoke: map[string]bool{}, output: map[string]*strings.Builder{}}
		packages[e.Package] = p
	}
	name, _, part := strings.Cut(e.Test, "/")
	switch e.Action {
	case "output":
		p.raced = p.raced || strings.Contains(e.Output, "WARNING: DATA RACE")
		if name == "" {
			p.ended = p.ended || e.Output == "FAIL\n"
			if e.Output != "PASS\n" {
				fmt.Print(e.Output)
			}
			return
		}
		if line := strings.TrimSpace(e.Output); !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			p.spoke[e.Test] = true
		}
		if p.output[name] == nil {
			p.output[name] = &strings.Builder{}
		}
		p.output[name].WriteString(e.Output)
	case "run", "pass", "fail", "skip":
		switch {
		case name == "":
			if p.failed = e.Action == "fail"; p.failed {
				p.show(p.names("run"))
			}
		case part:
			p.came[e.Test] = e.Action
		default:
			p.came[name] = e.Action
			if e.Action == "fail" {
				p.show([]string{name})
			}
			if e.Action != "run" {
				delete(p.output, name)
			}
		}
	}
}

// show prints what tests have said.
func (p *tested) show(names []string) {
	for _, name := range names {
		if said := p.output[name]; said != nil {
			fmt.Print(said)
		}
	}
}
