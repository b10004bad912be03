package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/schedule/cluster"
	"sched/schedule/state"
	"sched/testing/machine"
	"sched/testing/redistest"
	"sched/testing/schedtest"
)

const served = `
timezone: UTC
include: [schedule.d/*.yaml]
tasks:
  - {name: hourly, every: hour, command: "echo hallo", tags: [x]}
  - {name: fails, every: hour, command: "false", days: [sunday], description: "<b> & co"}
  - {name: slow, every: year, background: true, command: "echo begun; await go; echo done"}
`

// asFrozen lets a command live at one moment.
func (b *box) asFrozen(at string) func(*exec.Cmd) {
	b.Write("clock", at+" "+at+" 0")
	return func(c *exec.Cmd) { c.Env = append(c.Env, "SCHED_TEST_CLOCK_FILE="+b.Path("clock")) }
}

// The API answers what the commands print with --json, but for the list around it.
func TestTheAPIAnswersWhatTheCommandsPrint(t *testing.T) {
	t.Parallel()
	b := newBox(t, served)
	b.Command("run", "--at", "2026-03-01T12:00:00Z").Run()
	frozen := b.asFrozen("2026-03-01T12:00:30Z")
	s := b.Serve(frozen)
	for _, tt := range []struct{ path, command string }{
		{"/tasks", "list --json"},
		{"/tasks?times=3&tag=x", "list --json --next 3 --tag x"},
		{"/runs", "history --json"},
		{"/runs?task=fails&outcome=failed", "history fails --failed --json"},
		{"/runs?since=2026-03-01T13:00:00Z", "history --since 2026-03-01T13:00:00Z --json"},
		{"/status", "status --json"},
		{"/tasks/hourly/why", "why hourly --json"},
		{"/schema", "schema"},
		{"/forecast", "forecast --json --since 2026-03-01T12:00:00Z"},
		{"/forecast?since=2026-03-28T06:30:00Z&for=36h", "forecast --json --since 2026-03-28T06:30:00Z --for 36h"},
		{"/tasks/fails/why?at=2026-03-02T12:00:00Z", "why fails --at 2026-03-02T12:00:00Z --json"},
	} {
		c := b.Command(strings.Fields(tt.command)...)
		frozen(c)
		printed, _ := c.Output()
		code, body := s.Ask("GET", tt.path, "")
		var want, got any
		if err := json.Unmarshal(printed, &want); err != nil || code != 200 {
			t.Fatalf("%s: %v: %s; %d", tt.command, err, printed, code)
		}
		json.Unmarshal([]byte(body), &got)
		if list, ok := got.(map[string]any); ok && list["items"] != nil {
			got = list["items"]
		}
		if list, ok := want.([]any); ok && strings.HasPrefix(tt.command, "list") {
			for _, task := range list { // what the API never shows: it may have values of env
				delete(task.(map[string]any), "settings")
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%s\n%s:\n%s", tt.path, body, tt.command, printed)
		}
	}
}

// The commands show requests that came through the API, and the API shows requests of the commands,
// each with its author.
func TestTheAPIAndTheCommandsShowEachOther(t *testing.T) {
	t.Parallel()
	b := newBox(t, served)
	s := b.Serve(func(*exec.Cmd) {})
	code, body := s.Ask("POST", "/tasks/slow/trigger", `{"reason": "it is late"}`)
	if code != 202 {
		t.Fatal(code, body)
	}
	var asked struct{ Run, Origin string }
	json.Unmarshal([]byte(body), &asked)
	if out, _ := b.Sched("list"); !strings.Contains(out, "trigger by ci") || !strings.Contains(out, "it is late") {
		t.Error(out)
	}
	events, err := http.NewRequest("GET", s.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	events.Header.Set("Authorization", "Bearer "+s.Token)
	stream, err := http.DefaultClient.Do(events)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	heard := bufio.NewReader(stream.Body)
	schedtest.ReadUntil(t, heard, "event: ready")

	tick := b.Command("run") // the next one, in a minute
	tick.Env = append(tick.Env, "SCHED_TEST_CLOCK="+time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
	if out, err := tick.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b.Until("the run lives", func() bool {
		_, body := s.Ask("GET", "/runs/"+asked.Run, "")
		return strings.Contains(body, `"state": "running"`)
	})
	schedtest.ReadUntil(t, heard, asked.Run)
	follow, _ := http.NewRequest("GET", s.URL+"/runs/"+asked.Run+"/log/stream", nil)
	follow.Header.Set("Authorization", "Bearer "+s.Token)
	log, err := http.DefaultClient.Do(follow)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Body.Close()
	printed := bufio.NewReader(log.Body)
	schedtest.ReadUntil(t, printed, `begun\n`)
	if code, body := s.Ask("POST", "/runs/"+asked.Run+"/stop", `{"reason": "enough"}`); code != 200 || !strings.Contains(body, `"outcome": "stopped"`) {
		t.Error(code, body)
	}
	schedtest.ReadUntil(t, printed, "event: end")
	if r := b.Outcome("slow", 1); r.Outcome != "stopped" || !strings.Contains(r.Reason, "sched stop by ci") ||
		!strings.Contains(r.Reason, ": enough") {
		t.Errorf("%+v", r)
	}
	if out, _ := b.Sched("history", "slow"); !strings.Contains(out, "it is late") {
		t.Error(out)
	}

	if out, code := b.Sched("pause", "hourly", "--reason", "by hand"); code != 0 {
		t.Fatal(out)
	}
	if _, body := s.Ask("GET", "/pauses", ""); !strings.Contains(body, `"reason": "by hand"`) {
		t.Error(body)
	}
	if code, body := s.Ask("POST", "/pauses", `{"tasks": ["fails"], "for": 3600, "reason": "by the API"}`); code != 201 {
		t.Error(code, body)
	}
	if out, _ := b.Sched("list"); !strings.Contains(out, "by the API") {
		t.Error(out)
	}
	if code, body := s.Ask("DELETE", "/pauses/hourly", ""); code != 204 {
		t.Error(code, body)
	}
	if out, _ := b.Sched("list"); strings.Contains(out, "by hand") {
		t.Error(out)
	}
	from := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
	begins, ends := from.Format(time.RFC3339), from.Add(time.Hour).Format(time.RFC3339)
	if code, body := s.Ask("POST", "/pauses", `{"tasks": ["hourly"], "from": "`+begins+`", "for": 3600, "stop": true}`); code != 201 ||
		!strings.Contains(body, `"planned": true`) || !strings.Contains(body, `"until": "`+ends+`"`) {
		t.Error(code, body)
	}
	if code, body := s.Ask("POST", "/pauses", `{"from": "`+begins+`"}`); code != 400 ||
		!strings.Contains(body, "a planned pause needs an end: for or until") {
		t.Error(code, body)
	}
	id := "hourly@" + begins
	if _, body := s.Ask("GET", "/pauses", ""); !strings.Contains(body, `"id": "`+id+`"`) {
		t.Error(body)
	}
	for _, want := range []int{204, 404} {
		if code, body := s.Ask("DELETE", "/pauses/"+id, ""); code != want {
			t.Error(code, body)
		}
	}
	s.Process.Signal(syscall.SIGTERM)
	s.Wait()
	if code := s.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit code %d", code)
	}
}

// A store that comes into the schedule, is changed, or leaves it is seen without a restart.
func TestServeFollowsTheStoreOfTheSchedule(t *testing.T) {
	t.Parallel()
	b := newBox(t, served)
	s := b.Serve(func(*exec.Cmd) {})
	stores := map[string]*miniredis.Miniredis{"": nil, "one": miniredis.RunT(t), "two": miniredis.RunT(t)}
	for _, name := range []string{"one", "two"} {
		b.announce(stores[name].Addr(), "web-"+name)
	}
	for _, name := range []string{"", "one", "two", ""} {
		text, want := served, "stands alone"
		if name != "" {
			text, want = "name: shop\nstore: redis://"+stores[name].Addr()+served, `"name": "web-`+name+`"`
		}
		b.Write("schedule.yaml", text)
		b.Until("the servers with the store "+name, func() bool {
			_, body := s.Ask("GET", "/servers", "")
			return strings.Contains(body, want)
		})
	}
}

// If the file of the schedule is gone, no other usual file is served in its place.
func TestServeTakesNoOtherFile(t *testing.T) {
	t.Parallel()
	b := newBox(t, served)
	os.MkdirAll(b.Path(".config/sched"), 0o700)
	b.Write(".config/sched/schedule.yaml", "tasks: [{name: mine, every: hour, command: 'true'}]\n")
	s := b.Serve(func(*exec.Cmd) {})
	os.Remove(b.Path("schedule.yaml"))
	b.Until("the schedule is gone", func() bool {
		status, body := s.Ask("GET", "/tasks", "")
		return status != http.StatusOK || strings.Contains(body, "mine")
	})
	if status, body := s.Ask("GET", "/tasks", ""); status != http.StatusServiceUnavailable {
		t.Errorf("%d: %s", status, body)
	}
	b.Write("schedule.yaml", served)
	b.Until("the schedule is back", func() bool {
		_, body := s.Ask("GET", "/tasks", "")
		return strings.Contains(body, "hourly")
	})
}

// announce makes a server known to the store at that address.
func (b *box) announce(address, server string) {
	b.Helper()
	store := redistest.Dial(b.T, "redis://"+address)
	if _, _, err := cluster.Announce(context.Background(), store, time.Now,
		cluster.Server{Name: server, Minute: time.Now()}); err != nil {
		b.Fatal(err)
	}
}

// asSomebody lets commands run as a user who is not root: root may not write tasks.
func (b *box) asSomebody() func(*exec.Cmd) {
	const daemon = 1
	if os.Geteuid() != 0 {
		return func(*exec.Cmd) {}
	}
	for dir := b.Dir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	filepath.Walk(b.Dir, func(path string, _ os.FileInfo, _ error) error { return os.Chown(path, daemon, daemon) })
	return func(c *exec.Cmd) {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: daemon, Gid: daemon}}
	}
}

// A server is killed in the middle of an edit, a trigger and a pause. Each of them is done or
// undone, and every change is in the audit log. A trigger that is repeated with its key asks once.
func TestServeIsKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t, served)
	os.Mkdir(b.Path("schedule.d"), 0o755)
	as := b.asSomebody()
	run := func(args ...string) string {
		c := b.Command(args...)
		as(c)
		out, _ := c.CombinedOutput()
		return string(out)
	}
	rounds := machine.Sized(3, 12)
	token := ""
	for round := range rounds {
		s := b.Serve(as, "--edit", "schedule.d")
		if token == "" {
			token = s.Token
		}
		s.Token = token
		var all sync.WaitGroup
		for _, ask := range []func(){
			func() { s.Ask("POST", "/tasks/hourly/trigger", `{"in": 86400}`) },
			func() {
				s.Ask("POST", "/pauses", `{"tasks": ["fails"], "for": 3600, "reason": "`+strings.Repeat("x", 400)+`"}`)
			},
			func() { s.Ask("DELETE", "/pauses/fails", "") },
			func() {
				body := "every: day\ncommand: |\n" +
					strings.Repeat("  echo "+strings.Repeat("x", 70)+"\n", 300) + "  true # whole\n"
				s.Ask("PUT", "/tasks/new", body, "Content-Type", "application/yaml", "If-Match", s.Etag("/tasks/new"))
			},
		} {
			all.Go(ask)
		}
		if round == rounds-1 { // on a busy machine no request may have come so far
			all.Wait()
		}
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
		s.Process.Kill()
		s.Wait()
		all.Wait()
		if out := run("check"); !strings.Contains(out, "is valid") {
			t.Fatalf("round %d: %s", round, out)
		}
		if text, err := os.ReadFile(b.Path("schedule.d/new.yaml")); err == nil &&
			!strings.HasSuffix(string(text), "true # whole\n") {
			t.Fatalf("round %d: half a task: %d bytes", round, len(text))
		}
		if out := run("list"); strings.Contains(out, "sched: ") && !strings.Contains(out, "no tick") {
			t.Fatalf("round %d: %s", round, out)
		}
	}
	b.audited(rounds)
}

// audited checks that every change is in the audit log.
func (b *box) audited(rounds int) {
	b.Helper()
	// Root opens no database in a folder of another user (asSomebody).
	filepath.Walk(b.Dir, func(path string, _ os.FileInfo, _ error) error {
		return os.Chown(path, os.Getuid(), os.Getgid())
	})
	db, err := state.OpenRead(b.Path(".sched"), state.Patience)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	changes, err := db.Audit().Newest(context.Background(), 0, 1000)
	if err != nil {
		b.Fatal(err)
	}
	log := map[string]int{}
	for _, c := range changes {
		log[c.Action]++
	}
	requests, err := db.Runs().Waiting(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	if lines := log["trigger"]; len(requests) > lines || len(requests) > rounds || len(requests) == 0 {
		b.Errorf("%d requests, %d lines of the audit log, %d rounds", len(requests), lines, rounds)
	}
	if _, err := os.Stat(b.Path("schedule.d/new.yaml")); err == nil && log["write"] == 0 {
		b.Error("the task is not in the audit log")
	}
	if strings.Contains(fmt.Sprint(b.Pauses()), "xxxx") && log["pause"] == 0 {
		b.Error("the pause is not in the audit log")
	}
}
