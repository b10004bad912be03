//go:build linux

// Command faults ticks one schedule on many servers, each with real processes, while Redis, the
// network, the clocks or a server itself fails in one way after the other. Then it reads a file
// that all commands write, and finds slots that ran twice or nowhere, and tasks that ran beside
// themselves. See README.md in this folder.
//
// fault.go lists the faults, store.go starts the stores that fail, trial.go ticks the servers, and
// verdict.go judges the runs.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func main() {
	size := trialSize{}
	flag.IntVar(&size.servers, "servers", 15, "how many servers tick")
	flag.IntVar(&size.tasks, "tasks", 15, "how many one_server tasks are due in each minute")
	flag.IntVar(&size.minutes, "minutes", 20, "how many minutes are judged")
	flag.DurationVar(&size.minute, "minute", 3*time.Second, "how long a minute takes")
	only := flag.String("only", "", "the fault with this name, or the faults whose names have this in them")
	keep := flag.Bool("keep", false, "leave the folder with what each server did")
	flag.Parse()
	log.SetFlags(0)
	dir, err := os.MkdirTemp("", "sched-faults-")
	must(err)
	fmt.Printf("%d servers, %d slots under each fault, in %s\n", size.servers, size.tasks*size.minutes, dir)
	p := &program{dir: dir}
	size.binary = build(p, dir)
	bad, exactly := 0, slices.ContainsFunc(faults(), func(f fault) bool { return f.name == *only })
	for _, f := range faults() {
		if f.name == *only || !exactly && strings.Contains(f.name, *only) {
			v := f.try(p, size)
			fmt.Println(v)
			bad += len(v.violations)
		}
		p.cleanUp()
	}
	if bad > 0 {
		fmt.Printf("%d violations; the evidence is in %s\n", bad, dir)
		os.Exit(1)
	}
	if *keep {
		fmt.Printf("the evidence is in %s\n", dir)
		return
	}
	os.RemoveAll(dir)
}

var tags = flag.String("tags", "", "more tags to build sched with: with schedtrace each question to the store is traced (spec/README.md)")

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A program stands in for a testing.TB, so that the helpers which start servers for tests serve
// this program, too.
type program struct {
	testing.TB
	dir     string
	folders int
	cleanup []func()
}

func (p *program) Helper()                      {}
func (p *program) Fatal(args ...any)            { p.cleanUp(); log.Fatal(args...) }
func (p *program) Fatalf(f string, args ...any) { p.cleanUp(); log.Fatalf(f, args...) }
func (p *program) Skipf(f string, args ...any)  { p.Fatalf(f, args...) }
func (p *program) Cleanup(f func())             { p.cleanup = append(p.cleanup, f) }

func (p *program) TempDir() string {
	p.folders++
	dir := fmt.Sprintf("%s/%d", p.dir, p.folders)
	must(os.Mkdir(dir, 0o700))
	return dir
}

func (p *program) cleanUp() {
	for _, f := range slices.Backward(p.cleanup) {
		f()
	}
	p.cleanup = nil
}
