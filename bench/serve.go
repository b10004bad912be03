//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// serve measures the answers of `sched serve` with 1,000 tasks and a million runs, its memory with
// 200 streams, and a tick beside it.
func (b *bench) serve() {
	const tasks = 1000
	dir := b.due("serve", tasks, `command: "true", background: true`)
	b.fill(filepath.Join(dir, ".sched"))
	b.sched(dir, "run") // so that all is well for status, which has its runs to look at
	url, token, server := b.startServe(dir)
	defer func() { server.Process.Kill(); server.Wait() }()
	deep, site := deepPath(url, token), strings.TrimSuffix(url, "/api/v1")
	for _, path := range []string{"/status", "/tasks", "/tasks?limit=1000", "/tasks/task-7", "/tasks/task-7/why",
		"/upcoming", "/summary", "/runs", "/runs?limit=1",
		deep, "/runs?task=task-7", "/runs?outcome=failed", "/runs?outcome=succeeded", "/metrics", "page /",
		"page /tasks", "page /timeline", "page /timeline?hours=6", "page /timeline?hours=168", "page /tasks/task-7",
		"page /runs"} {
		at := url + path
		if page, is := strings.CutPrefix(path, "page "); is {
			at = site + page
		}
		var ms []float64
		for range 21 {
			begun := time.Now()
			get(at, token)
			ms = append(ms, 1e3*time.Since(begun).Seconds())
		}
		if path == deep {
			path = "/runs?cursor=… in the middle"
		}
		budget := 100.0
		if strings.HasSuffix(path, "hours=168") {
			budget = 250
		}
		b.row(fmt.Sprintf("a million runs, %d tasks: GET %s", tasks, path), median(ms), "ms", budget)
	}
	b.openStreams(url, token, 200)
	b.crowd(site, token)
	b.row("`sched serve` with them and 200 streams: memory", anonymous(server.Process.Pid), "MiB", 64)
	b.beside(dir, url, token)
}

// crowd has eight people look at the largest pages at the same time, several times. Then the server
// uses as much memory as it ever does.
func (b *bench) crowd(site, token string) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				get(site+"/tasks", token)
				get(site+"/timeline?hours=6", token)
			}
		})
	}
	all.Wait()
}

// beside measures ticks that record 20 runs each. They run in turn in the folder of the server,
// whose pages are open, and in another folder with the same history.
func (b *bench) beside(dir, url, token string) {
	const tasks = 20
	text, err := os.ReadFile(filepath.Join(b.due("beside", tasks, `command: "true"`), "schedule.yaml"))
	must(err)
	alone := b.path("beside")
	must(os.WriteFile(filepath.Join(dir, "schedule.yaml"), text, 0o600))
	b.uncover(dir)
	b.wait(b.start(dir, "sched", "run")) // puts away the runs of the 1,000 tasks
	must(os.Mkdir(filepath.Join(alone, ".sched"), 0o700))
	// the log may be gone: nobody has the database open
	files, _ := filepath.Glob(filepath.Join(dir, ".sched", "sched.db*"))
	must(exec.Command("cp", append(files, filepath.Join(alone, ".sched"))...).Run())
	b.uncover(alone)
	b.wait(b.start(alone, "sched", "run"))
	closed := make(chan bool)
	go b.browse(strings.TrimSuffix(url, "/api/v1"), token, closed)
	var wall, cpu [2][]float64
	for range 81 {
		for i, where := range []string{alone, dir} {
			b.uncover(where)
			before, begun := used(), time.Now()
			b.wait(b.start(where, "sched", "run"))
			wall[i] = append(wall[i], 1e3*time.Since(begun).Seconds())
			cpu[i] = append(cpu[i], 1e3*(used()-before).Seconds())
			time.Sleep(50 * time.Millisecond)
		}
	}
	closed <- true
	tenth := func(ms []float64) float64 { return slices.Sorted(slices.Values(ms))[len(ms)/10] }
	b.row("a tick of 20 runs without it: wall time, the fastest tenth", tenth(wall[0]), "ms", none)
	b.row("the same beside it, with open pages: wall time", tenth(wall[1])/tenth(wall[0]), "times", 1.05)
	b.row("the same: CPU, half of them", median(cpu[1])/median(cpu[0]), "times", 1.05)
}

// browse looks at pages like three people who have them open, until closed is written to.
func (b *bench) browse(site, token string, closed chan bool) {
	for {
		for _, page := range []string{"/", "/timeline", "/tasks/task-7"} {
			select {
			case <-closed:
				return
			case <-time.After(300 * time.Millisecond):
				get(site+page, token)
			}
		}
	}
}

// startServe starts `sched serve` with a token for looking.
func (b *bench) startServe(dir string) (url, token string, server *exec.Cmd) {
	command := func(args ...string) *exec.Cmd {
		c := exec.Command(b.path("sched"), args...)
		c.Dir, c.Stderr = dir, os.Stderr
		return c
	}
	made, err := command("serve", "token", "--scope", "read").Output()
	must(err)
	words := strings.Fields(string(made))
	server = command("serve", "--listen", "127.0.0.1:0")
	out, err := server.StdoutPipe()
	must(err)
	must(server.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must(err)
	return strings.TrimSuffix(line[strings.Index(line, "http://"):], "/\n") + "/api/v1", words[len(words)-1], server
}

// deepPath returns the path of a page in the middle of the history.
func deepPath(url, token string) string {
	middle := time.Now().Add(-manyMinutes / 2 * time.Minute).UTC().Format(time.RFC3339)
	body := get(url+"/runs?limit=1&until="+middle, token)
	_, cursor, _ := strings.Cut(body, `"next": "`)
	cursor, _, _ = strings.Cut(cursor, `"`)
	return "/runs?cursor=" + cursor
}

// openStreams opens streams, and leaves them open.
func (b *bench) openStreams(url, token string, n int) {
	for range n {
		response := ask(url+"/events", token)
		go io.Copy(io.Discard, response.Body)
	}
}

func get(url, token string) string {
	response := ask(url, token)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(err)
	return string(body)
}

func ask(url, token string) *http.Response {
	request, err := http.NewRequest("GET", url, nil)
	must(err)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	must(err)
	if response.StatusCode != http.StatusOK {
		must(fmt.Errorf("%s: %s", url, response.Status))
	}
	return response
}
