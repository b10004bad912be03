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
	"strings"
	"time"
)

// serve measures the answers of `sched serve` with 1,000 tasks and a million runs, its memory with 200 streams, and a tick beside it.
func (b *bench) serve() {
	const tasks = 1000
	dir := b.due("serve", tasks, `command: "true", background: true`)
	b.fill(filepath.Join(dir, ".sched"))
	b.sched(dir, "run") // so that all is well for status, which has its runs to look at
	alone := median(b.idleTicks(dir))
	url, token, server := b.startServe(dir)
	defer func() { server.Process.Kill(); server.Wait() }()
	deep := b.deep(url, token)
	for _, path := range []string{"/status", "/tasks", "/tasks?limit=1000", "/tasks/task-7", "/tasks/task-7/why", "/upcoming", "/runs", deep,
		"/runs?task=task-7", "/runs?outcome=failed", "/metrics", "/events"} {
		if path == "/events" {
			b.streams(url, token, 200)
			continue
		}
		var ms []float64
		for range 21 {
			begun := time.Now()
			get(url+path, token)
			ms = append(ms, 1e3*time.Since(begun).Seconds())
		}
		if path == deep {
			path = "/runs?cursor=… in the middle"
		}
		b.row(fmt.Sprintf("a million runs, %d tasks: GET %s", tasks, path), median(ms), "ms", 50)
	}
	time.Sleep(3 * time.Second) // three looks at the state folder
	b.row("`sched serve` with them and 200 streams: memory", anonymous(server.Process.Pid), "MiB", 64)
	b.row("a tick beside it, to one without it", median(b.idleTicks(dir))/alone, "times", 1.05)
}

// idleTicks returns how long ticks took in which nothing was due.
func (b *bench) idleTicks(dir string) (ms []float64) {
	for range 41 {
		begun := time.Now()
		pid := b.start(dir, "sched", "run", "--at", "2026-01-02T03:04:00Z", "--dry-run")
		b.wait(pid)
		ms = append(ms, 1e3*time.Since(begun).Seconds())
	}
	return ms
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

// deep returns the path of a page in the middle of the history.
func (b *bench) deep(url, token string) string {
	middle := time.Now().Add(-manyMinutes / 2 * time.Minute).UTC().Format(time.RFC3339)
	body := get(url+"/runs?limit=1&until="+middle, token)
	_, cursor, _ := strings.Cut(body, `"next": "`)
	cursor, _, _ = strings.Cut(cursor, `"`)
	return "/runs?cursor=" + cursor
}

// streams opens streams, and leaves them open.
func (b *bench) streams(url, token string, n int) {
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
