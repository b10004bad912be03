//go:build schedtrace

package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// events are the events of the model, in the order of their numbers.
var events = []string{"PLAN", "BACK", "MISSED", "BEGIN", "SKIP", "TO_SUPERVISOR", "TO_FINISH", "TO_TICK", "RETRY",
	"START", "FORK", "AGAIN", "DEFER", "FINISH", "END"}

// A tree has a node for each beginning of a shape. Node 0 is the empty beginning.
type tree struct {
	next []map[string]int
	ends []int // by shape
}

func newTree(all []*shape) *tree {
	t := &tree{next: []map[string]int{{}}}
	for _, s := range all {
		at := 0
		for _, event := range s.events {
			next, known := t.next[at][event]
			if !known {
				next = len(t.next)
				t.next = append(t.next, map[string]int{})
				t.next[at][event] = next
			}
			at = next
		}
		t.ends = append(t.ends, at)
	}
	return t
}

// traceInclude is what the model includes: a slot may do only what leads on in the tree, and a node
// is printed when it is reached. The tree itself is in a file.
func traceInclude() string {
	var b strings.Builder
	for i, event := range events {
		fmt.Fprintf(&b, "#define E_%s %d\n", event, i)
	}
	fmt.Fprintf(&b, `c_decl {
static short onward[%d][%d];
static char arrived[%d];
static int nodes, reachedNodes;
static void readTree(void) {
	FILE *f = fopen(getenv("TRACE"), "r");
	int i, j;
	if (!f || fscanf(f, "%%d", &nodes) != 1) exit(3);
	for (i = 0; i < nodes; i++) for (j = 0; j < %d; j++) if (fscanf(f, "%%hd", &onward[i][j]) != 1) exit(3);
	fclose(f);
}
static void arrive(int at) {
	if (arrived[at]) return;
	arrived[at] = 1;
	printf("reached %%d\n", at);
	if (++reachedNodes == nodes - 1) { printf("all\n"); exit(0); }
}
}
short at;
`, mostNodes, len(events), mostNodes, len(events))
	b.WriteString("#define SOON(what) c_expr { onward[now.at][what] }\n")
	b.WriteString("#define EVENT(s, what) c_expr { onward[now.at][what] } -> c_code { now.at = onward[now.at][what]; arrive(now.at); };\n")
	return b.String()
}

const mostNodes = 4000

// sideBySide does something with each of several things, with one of them on each processor.
func sideBySide[T any](all []T, do func(T)) {
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for _, one := range all {
		group.Go(func() error { do(one); return nil })
	}
	group.Wait()
}

// write writes the tree into a file.
func (t *tree) write(path string) {
	var b strings.Builder
	fmt.Fprintln(&b, len(t.next))
	for _, next := range t.next {
		for _, event := range events {
			fmt.Fprint(&b, next[event], " ")
		}
		b.WriteString("\n")
	}
	must(os.WriteFile(path, []byte(b.String()), 0o600))
}

// The searches of spin, in time of a processor: first for all shapes together, which need not end,
// and then for each that is left, which should.
const (
	togetherLimit = 30 * time.Second
	aloneLimit    = 20 * time.Second
)

// accept sets accepted for each shape that the model has, too, in the background or in the
// foreground. A run that lost several supervisors needs more ticks: with them the search takes
// longer.
func accept(plan string, all []*shape) {
	var open []*shape
	for _, s := range all {
		if !slices.ContainsFunc(s.events, func(event string) bool { return !slices.Contains(events, event) }) {
			open = append(open, s)
		}
	}
	for _, more := range [][]string{{"-DQUEUES", "-DTICKS=5"}, {"-DFOREGROUND", "-DTICKS=5"},
		{"-DQUEUES", "-DTICKS=9"}} {
		if len(open) == 0 {
			return
		}
		switches := slices.Concat(more, []string{"-DTRACE", "-DSLOTS=1", "-DKILLS=1", "-DRETRIES=3", "-DSTORE_WAITS"})
		dir := compile(plan, []byte(traceInclude()), switches...)
		search(dir, open, togetherLimit)
		sideBySide(open, func(s *shape) {
			if !s.accepted {
				s.searched = search(dir, []*shape{s}, aloneLimit)
			}
		})
		open = slices.DeleteFunc(open, func(s *shape) bool { return s.accepted })
		os.RemoveAll(dir)
	}
}

// search has spin try every order of the steps of the model that leads on in the tree of the
// shapes. It reports whether it came to an end.
func search(dir string, shapes []*shape, limit time.Duration) (ended bool) {
	if len(shapes) == 0 {
		return true
	}
	t := newTree(shapes)
	tree := filepath.Join(dir, fmt.Sprintf("tree-%p", shapes[0]))
	t.write(tree)
	out, ended := pan(dir, tree, limit, "-w22")
	for _, found := range regexp.MustCompile(`reached (\d+)\n`).FindAllSubmatch(out, -1) {
		node, _ := strconv.Atoi(string(found[1]))
		for i, s := range shapes {
			s.accepted = s.accepted || t.ends[i] == node
		}
	}
	return ended
}

// pan searches with a program of compile and the file of a trace. It returns what that printed, and
// whether it came to an end within so much time of a processor.
func pan(dir, trace string, limit time.Duration, room string) (out []byte, ended bool) {
	search := fmt.Sprintf("ulimit -t %.0f; exec ./pan -n -E -A -m200000 %s", limit.Seconds(), room)
	c := exec.Command("sh", "-c", search)
	c.Dir, c.Env = dir, append(os.Environ(), "TRACE="+trace)
	out, err := c.Output()
	return out, err == nil
}

// compile makes the program that searches.
func compile(path string, include []byte, switches ...string) (dir string) {
	dir, err := os.MkdirTemp("", "traces-")
	must(err)
	model, err := os.ReadFile(path)
	must(err)
	must(os.WriteFile(filepath.Join(dir, "model.pml"), model, 0o600))
	must(os.WriteFile(filepath.Join(dir, "trace.pml"), include, 0o600))
	for _, argv := range [][]string{
		append(append([]string{"spin", "-a"}, switches...), "model.pml"),
		{"gcc", "-O0", "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=2048", "-DVECTORSZ=4096", "-o", "pan", "pan.c"},
	} {
		c := exec.Command(argv[0], argv[1:]...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			log.Fatalf("%v: %v: %s", argv, err, out)
		}
	}
	return dir
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
