package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestNothingIsMadeBeforeItIsNeeded holds what our packages do before main against a limit: each `sched finish` pays for it, of
// which a minute may have a thousand. Thirty regular expressions of `sched import` and the tables of schedule.yaml, made at
// every start, once took a sixth of it. The trace is that of the runtime (GODEBUG=inittrace=1).
func TestNothingIsMadeBeforeItIsNeeded(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var trace bytes.Buffer
	c := exec.Command(self, "-test.run=^$")
	c.Env, c.Stderr = append(os.Environ(), "GODEBUG=inittrace=1"), &trace
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	const most = 30 // allocations of one package
	ours := 0
	for lines := bufio.NewScanner(&trace); lines.Scan(); {
		line := strings.TrimPrefix(lines.Text(), "init sched/")
		if line == lines.Text() {
			continue
		}
		ours++
		if n := allocations(t, line); n > most {
			t.Errorf("it allocates %d times before main, of which %d are allowed; package schedule/lazy has what waits until it is needed: %s", n, most, line)
		}
	}
	if ours == 0 {
		t.Error("the trace has no package of ours")
	}
}

// allocations reads the last number but one word of a line such as "cmd @6.6 ms, 0.068 ms clock, 28712 bytes, 218 allocs".
func allocations(t *testing.T, line string) (n int) {
	words := strings.Fields(line)
	if len(words) < 2 || words[len(words)-1] != "allocs" {
		t.Fatalf("a line of the trace is %q", line)
	}
	n, err := strconv.Atoi(words[len(words)-2])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
