//go:build linux

// Command field runs the same jobs under the same faults on a dozen schedulers, and judges them by
// what the jobs wrote. See README.md in this folder.
//
// targets.go lists the schedulers and faults.go the faults. trial.go is one of each, in a folder of
// its own, stores.go starts the servers that some need, judge.go finds what went wrong, and page.go
// writes the table.
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// bin is the folder with the programs.
var bin string

// together is how many of the faults are tried at the same time, before all others.
const together = 5

func main() {
	only := flag.String("only", "", "the schedulers whose names have this in them; separate several by commas")
	some := flag.String("fault", "", "the faults whose names have this in them; separate several by commas")
	page := flag.String("page", "", "write the table to this file")
	check := flag.String("check", "", "fail if a cell differs from the table in this file and is not noisy there")
	keep := flag.Bool("keep", false, "leave the folders of the trials")
	flag.Parse()
	log.SetFlags(0)
	dir, err := os.MkdirTemp("", "sched-field-")
	must(err)
	must(os.Chmod(dir, 0o755)) // for the user postgres
	bin = filepath.Join(dir, "bin")
	begun := time.Now()
	go cleanUpAtSignal(dir)
	install()
	rows, columns := chosen(targets(), *only, func(t target) string { return t.name }),
		chosen(faults, *some, func(f fault) string { return f.name })
	results := newTable(rows, columns)
	first := min(together, len(columns))
	runTogether(dir, rows, columns[:first], results)
	runTogether(dir, rows, columns[first:], results)
	if *some == "" || *some == "figures" {
		results.figures = measure(dir, rows)
	}
	results.remember(cmp.Or(*check, *page))
	text := results.page(begun, time.Since(begun))
	fmt.Print(text)
	if *page != "" {
		must(os.WriteFile(*page, []byte(text), 0o644))
		results.compare(filepath.Join(filepath.Dir(*page), "comparison.md"))
	}
	if *keep {
		fmt.Println("\nThe folders of the trials are in", dir)
	} else {
		must(os.RemoveAll(dir))
	}
	if changed := results.changed(); *check != "" && changed != nil {
		log.Fatal(strings.Join(changed, "\n"))
	}
}

// cleanUpAtSignal ends all processes and mounts of the trials when somebody stops the bench.
func cleanUpAtSignal(dir string) {
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt, syscall.SIGTERM)
	<-stopped
	for _, p := range allProcesses(time.Now()) {
		if bytes.Contains(p.environ, []byte("\x00FIELD_OF="+dir+"/")) {
			syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
	sh(`umount -l ` + dir + `/*/state 2>/dev/null || true; rm -rf ` + dir)
	os.Exit(1)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// chosen returns what of all has one of the words in its name. Without words it is all.
func chosen[T any](all []T, words string, name func(T) string) (some []T) {
	for _, one := range all {
		if slices.ContainsFunc(strings.Split(words, ","), func(word string) bool {
			return strings.Contains(strings.ToLower(name(one)), strings.ToLower(word))
		}) {
			some = append(some, one)
		}
	}
	return some
}

// runTogether tries faults on all targets at the same time.
func runTogether(dir string, rows []target, batch []fault, results *table) {
	if len(batch) == 0 {
		return
	}
	first := time.Now().Add(25 * time.Second).Truncate(time.Minute).Add(time.Minute)
	log.Printf("%s: %d faults on %d schedulers, about five minutes", first.Format("15:04"), len(batch), len(rows))
	var all sync.WaitGroup
	for i, row := range rows {
		for _, f := range batch {
			if why := untested(row, f); why != "" {
				results.set(row, f, notApplicable, why)
				continue
			}
			t := &trial{target: row, fault: f, first: first, jobs: jobsOf(f),
				dir: filepath.Join(dir, fmt.Sprintf("%d-%s", i, strings.ReplaceAll(f.name, " ", "-")))}
			all.Go(func() {
				err := t.run()
				switch {
				case err != nil:
					results.set(row, f, "not tested", err.Error())
				case t.unseen != "":
					results.set(row, f, "not tested", t.unseen)
				default:
					results.set(row, f, t.verdict.String(), "")
				}
			})
		}
	}
	all.Wait()
}

// untested says why a fault cannot be tried on a target.
func untested(t target, f fault) string {
	switch {
	case f.store && t.store == nil:
		return "it has no store"
	case f.night != nil && t.clock == nil:
		return "its clock cannot be set"
	case f.night != nil && t.servers > 1:
		return "one server is enough"
	case t.root && os.Geteuid() != 0, f.disk && os.Geteuid() != 0:
		return "needs root"
	}
	return ""
}

// jobsOf are the jobs of the trials of a fault.
func jobsOf(f fault) []job {
	if f.night != nil {
		return []job{{name: "daily", cron: f.night.daily}, {name: "often", cron: "*/5 * * * *"}}
	}
	jobs := []job{
		{name: "short", cron: "* * * * *"},
		{name: "long", cron: "* * * * *", single: true, seconds: 80},
	}
	if f.never {
		jobs = append(jobs, job{name: "endless", cron: "* * * * *", single: true, seconds: 100_000})
	}
	return jobs
}

// install builds the programs, and has apt and npm bring the others. It is run in the folder of
// this module.
func install() {
	must(os.MkdirAll(bin, 0o755))
	sh(`
	lacking=
	[ -x /usr/sbin/cron ] || lacking="$lacking cron"
	command -v redis-server >/dev/null || lacking="$lacking redis-server"
	command -v npm >/dev/null || lacking="$lacking nodejs npm"
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || lacking="$lacking postgresql"
	ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || lacking="$lacking faketime"
	/usr/bin/python3 -c 'import apscheduler, sqlalchemy' 2>/dev/null || lacking="$lacking python3-apscheduler python3-sqlalchemy"
	[ -z "$lacking" ] || { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends $lacking >/dev/null; }`)
	sh(`CGO_ENABLED=0 go -C ../.. build -tags schedtest -o "$1/sched" .
	CGO_ENABLED=0 go build -o "$1" ./drivers/...
	GOBIN="$1" go install github.com/aptible/supercronic@` + supercronicVersion + `
	cd "$1"
	apt-get -qq download busybox-static 2>/dev/null || { apt-get -qq update; apt-get -qq download busybox-static 2>/dev/null; }
	dpkg-deb -x busybox-static*.deb busybox.deb
	mv busybox.deb/*bin/busybox busybox.deb/usr/*bin/busybox . 2>/dev/null || [ -x busybox ]
	cd - >/dev/null
	cp -r drivers/node "$1"
	cp drivers/apscheduler/main.py "$1/aps.py"
	npm ci --silent --no-audit --no-fund --prefix "$1/node" >/dev/null`)
}

const supercronicVersion = "v0.2.48"

func sh(script string) {
	c := exec.Command("sh", "-euc", script, "sh", bin)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	must(c.Run())
}
