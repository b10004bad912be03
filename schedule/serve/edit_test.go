package serve

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/load"
	"sched/schedule/proposal"
	"sched/schedule/statedir"
	"sched/schedule/view"
)

// yaml are the headers of a task that is sent as YAML, and as it was seen with that ETag.
func yaml(tag string) map[string]string {
	headers := map[string]string{"Content-Type": "application/yaml"}
	if tag != "" {
		headers["If-Match"] = tag
	}
	return headers
}

func (b *box) put(name, keys, tag string) answer {
	b.Helper()
	return b.call(call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}",
		values: []string{name}, body: keys, headers: yaml(tag)})
}

func (b *box) remove(name, tag string) answer {
	b.Helper()
	return b.call(call{scope: ScopeEdit, method: "DELETE", route: "/tasks/{name}",
		values: []string{name}, headers: map[string]string{"If-Match": tag}})
}

func (b *box) source(name string) answer {
	b.Helper()
	return b.call(call{scope: ScopeEdit, method: "GET", route: "/tasks/{name}",
		values: []string{name}, query: "?source"})
}

func (b *box) read(name string) string {
	b.Helper()
	text, err := os.ReadFile(b.Path(name))
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// A file that a person wrote, or made their own, is neither written nor removed, even by somebody
// who knows its ETag.
func TestFilesOfPeopleAreLeftAlone(t *testing.T) {
	written := string(taskText("x", []byte("every: day\ncommand: a\n")))
	head, keys, _ := strings.Cut(written, "\n")
	for _, tt := range []struct{ about, text, says string }{
		{"written by hand", "tasks:\n  - name: x\n    every: day\n    command: a\n", "schedule.d/x.yaml:1: "},
		{"whose first line was removed", keys, "schedule.d/x.yaml:1: "},
		{"with a neighbour", written + "  - {name: y, every: day, command: b}\n", "schedule.d/x.yaml:6: "},
		{"in which it is not the first", head + "\ntasks:\n  - {name: y, every: day, command: b}\n" +
			strings.TrimPrefix(keys, "tasks:\n"), "schedule.d/x.yaml:3: "},
		{"with a group", head + "\ntasks:\n  - group: g\n    tasks:\n      - {name: x, every: day, command: a}\n",
			"schedule.d/x.yaml:3: "},
		{"with the comment of a person", written + "# do not touch\n", "schedule.d/x.yaml:6: "},
		{"of another task", strings.Replace(written, `"x"`, `"z"`, 1), "schedule.d/x.yaml:3: "},
	} {
		b := newBox(t, shop)
		b.write("schedule.d/x.yaml", tt.text)
		for _, tag := range []string{"", "*", tagOf([]byte(tt.text))} {
			b.wants("PUT into a file "+tt.about, b.put("x", "every: hour\ncommand: c\n", tag), 409, tt.says,
				"left alone", "edit it there")
			b.wants("DELETE of a file "+tt.about, b.remove("x", tag), 409, tt.says)
		}
		got := b.call(call{scope: ScopeRead, method: "GET", route: "/tasks/{name}", values: []string{"x"}})
		if got.status == 200 {
			if _, tag := b.server.keysAndTag(mustLoad(b), mustTask(b, "x")); tag != "" {
				t.Errorf("a file %s has an ETag", tt.about)
			}
		}
		if after := b.read("schedule.d/x.yaml"); after != tt.text {
			t.Errorf("a file %s is now\n%s", tt.about, after)
		}
	}
	b := newBox(t, shop)
	b.write("mine.yaml", written)
	if err := os.Symlink("../mine.yaml", b.Path("schedule.d/x.yaml")); err != nil {
		t.Fatal(err)
	}
	b.server.current.forget()
	b.wants("PUT through a link", b.put("x", "every: hour\ncommand: c\n", tagOf([]byte(written))), 409, "left alone")
	b.wants("DELETE of a link", b.remove("x", tagOf([]byte(written))), 409, "left alone")
}

// A file that serve wrote may be changed by hand within its keys: it stays the file of serve, and
// the comments stay.
func TestAFileThatWasChangedByHandMayBeWritten(t *testing.T) {
	b := newBox(t, shop)
	b.wants("a new task", b.put("x", "every: day\ncommand: a\n", ""), 201)
	old := b.read("schedule.d/x.yaml")
	b.wants("what was seen before", b.put("x", "every: hour\ncommand: a\n", tagOf([]byte(old+"    # why\n"))),
		412, "somebody has changed")
	b.write("schedule.d/x.yaml", old+"    # why\n\n    tags: [night]\n")
	seen := b.source("x")
	b.wants("what a person changed", seen, 200)
	if want := "every: day\ncommand: a\n# why\n\ntags: [night]\n"; seen.body != want {
		t.Errorf("the source is %q, want %q", seen.body, want)
	}
	b.wants("a change of it", b.put("x", strings.Replace(seen.body, "night", "day", 1), seen.header.Get("ETag")), 200, `"day"`)
	if after := b.read("schedule.d/x.yaml"); after != old+"    # why\n\n    tags: [day]\n" {
		t.Errorf("the file is\n%s", after)
	}
}

// A DELETE says what is wrong with it in its own words, not as if somebody wrote a task.
func TestADeleteSaysWhatIsWrongWithIt(t *testing.T) {
	b := newBox(t, shop)
	seen := b.put("x", "every: day\ncommand: a\n", "").header.Get("ETag")
	b.wants("without an ETag", b.remove("x", ""), 428, "does not say what to remove", "If-Match")
	b.wants("of another text", b.remove("x", tagOf(nil)), 412, "somebody has changed x")
	b.wants("of what was seen", b.remove("x", seen), 204)
	b.wants("of what is gone", b.remove("x", seen), 404, "there is no task")
	b.wants("of what is gone, without an ETag", b.remove("x", ""), 404, "there is no task")
}

// Only who may write tasks sees their sources, because secrets are in them.
func TestSourcesAreForWhoMayWrite(t *testing.T) {
	b := newBox(t, shop)
	for _, scope := range []Scope{ScopeRead, ScopeOperate} {
		b.wants(string(scope), b.call(call{scope: scope, method: "GET", route: "/tasks/{name}",
			values: []string{"hourly"}, query: "?source=true"}), 403, "needs edit")
	}
	b.wants("edit", b.source("hourly"), 200, "https://hooks.example.com/s3cr3t")
	b.wants("no source", b.call(call{scope: ScopeEdit, method: "GET", route: "/tasks/{name}",
		values: []string{"hourly"}, query: "?source=false"}), 200, `"name": "hourly"`)
	b.wants("what is neither", b.call(call{scope: ScopeEdit, method: "GET", route: "/tasks/{name}",
		values: []string{"hourly"}, query: "?source=json"}), 400, "neither true nor false")
	b = newBox(t, shop, func(c *Config) { c.Edit = "" })
	b.wants("a server that writes none", b.source("hourly"), 404, "--edit")
}

// Each task of each example comes back as it was sent, and to send what came changes nothing.
func TestWhatPutTakesIsWhatGetGives(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	sent := 0
	for _, file := range append(files, "../../examples/includes/schedule.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b := newBox(t, shop)
		os.CopyFS(b.Dir, os.DirFS(filepath.Dir(file)))
		if !strings.Contains(string(text), "\ninclude:") {
			text = append(text, "\ninclude: [schedule.d/*.yaml]\n"...)
		}
		b.write("schedule.yaml", string(text))
		tasks, tag, writes, last := mustLoad(b).Tasks, "", 0, ""
		b.wants(file+": a task of its own", b.put(tasks[0].Name, "every: day\n", ""), 409, "edit it there")
		for _, task := range tasks {
			source := b.source(task.Name)
			b.wants(file+": the source of "+task.Name, source, 200)
			got := b.put("copy", source.body, tag)
			if strings.Contains(got.body, "the task has no time") { // that is in its group, or another task starts it
				source.body += "every: year\n"
				got = b.put("copy", source.body, tag)
			}
			if task.As.User != "" || task.As.Group != "" {
				b.wants(file+": "+task.Name, got, 403, "another user")
				continue
			}
			b.wants(file+": the copy of "+task.Name, got, map[bool]int{true: 201, false: 200}[tag == ""], `"name": "copy"`)
			if sent++; source.body != last { // two tasks may have the same keys
				writes, last = writes+1, source.body
			}
			back := b.source("copy")
			if tag = back.header.Get("ETag"); back.body != source.body ||
				back.header.Get("Content-Type") != yamlText || tag == "" {
				t.Errorf("%s: %s was sent as\n%s\nand came back as\n%s%v",
					file, task.Name, source.body, back.body, back.header)
			}
			before := stat(b, "schedule.d/copy.yaml")
			b.wants("what came back", b.put("copy", back.body, tag), 200, `"name": "copy"`)
			if stat(b, "schedule.d/copy.yaml") != before {
				t.Errorf("%s: %s was written though nothing had changed", file, task.Name)
			}
		}
		if audit := b.call(call{scope: ScopeRead, method: "GET", route: "/audit",
			query: "?limit=1000"}); strings.Count(audit.body, `"action": "write"`) != writes {
			t.Errorf("%s: it was written %d times: %s", file, writes, audit.body)
		}
	}
	if sent < 60 {
		t.Errorf("only %d tasks were sent", sent)
	}
}

func stat(b *box, name string) string {
	b.Helper()
	info, err := os.Stat(b.Path(name))
	if err != nil {
		b.Fatal(err)
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size())
}

// The members of JSON stay in their order, also inside of values: people see params in it.
func TestAPutAsJSONKeepsItsOrder(t *testing.T) {
	body := `{"name": "x", "params": {"z": {"b": 1.50, "a": [1, "<\u2028", null]}, "a": {}}, "command": "true"}`
	want := `"params": {"z": {"b": 1.50, "a": [1, "<\u2028", null]}, "a": {}}` + "\n" + `"command": "true"` + "\n"
	if got, err := yamlOf([]byte(body), "x"); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// A task that is nested deep is refused at once: to read it took ten seconds, as often as somebody
// sent it.
func TestATaskThatIsNestedDeepIsRefusedAtOnce(t *testing.T) {
	b := newBox(t, shop)
	deep := strings.Repeat("[", 31_000) + strings.Repeat("]", 31_000)
	for kind, body := range map[string]string{
		"application/json": `{"command": ` + deep + "}",
		"application/yaml": "command: " + deep,
	} {
		began := time.Now()
		answer := b.call(call{scope: ScopeEdit, method: "PUT", route: "/tasks/{name}", values: []string{"x"}, body: body,
			headers: map[string]string{"Content-Type": kind, "If-None-Match": "*"}})
		if answer.status/100 != 4 {
			t.Errorf("%s: %+v", kind, answer)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: it took %s", kind, took)
		}
	}
}

// Two servers write into one folder at the same time. Each change that was answered with success is
// in the file: nobody writes over what they have not seen.
func TestTwoServersLoseNoEdit(t *testing.T) {
	b := newBox(t, shop)
	other, err := New(b.server.Config)
	if err != nil {
		t.Fatal(err)
	}
	second := *b
	second.web = httptest.NewServer(other.Handler(nil))
	t.Cleanup(second.web.Close)
	b.wants("a new task", b.put("x", "every: day\ncommand: a\n", ""), 201)
	var done, refused atomic.Int64
	var all sync.WaitGroup
	for n := range 4 {
		mine := *b
		if n%2 == 1 {
			mine = second
		}
		mine.called = map[string]bool{}
		all.Go(func() {
			for range 10 {
				seen := mine.source("x")
				switch got := mine.put("x", seen.body+"# one more\n", seen.header.Get("ETag")); got.status {
				case 200:
					done.Add(1)
				case 412:
					refused.Add(1)
				default:
					t.Errorf("%d: %s", got.status, got.body)
				}
			}
		})
	}
	all.Wait()
	if lines := strings.Count(b.read("schedule.d/x.yaml"), "# one more\n"); int64(lines) != done.Load() ||
		done.Load() < 10 {
		t.Errorf("%d changes were done, %d were refused, and %d are in the file", done.Load(), refused.Load(), lines)
	}
	made := 0
	for n, one := range []*box{b, &second, b, &second} {
		if got := one.put("new", fmt.Sprintf("every: day\ncommand: %d\n", n), ""); got.status == 201 {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d servers made the same new task", made)
	}
}

// Somebody writes a file again and again while others look at the task. An ETag is never newer than
// the answer that has it: else its reader would write over a change that they have not seen.
func TestAnETagIsNoNewerThanItsAnswer(t *testing.T) {
	b := newBox(t, shop)
	command := func(n int) string { return fmt.Sprintf("echo %06d", n) } // all of one size
	file := func(n int) []byte { return taskText("x", []byte("every: day\ncommand: "+command(n)+"\n")) }
	b.write("schedule.d/x.yaml", string(file(0)))
	var written atomic.Int64
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := statedir.Replace(b.Path("schedule.d/x.yaml"), file(n)); err != nil {
				t.Error(err)
			}
			written.Store(int64(n))
		}
	})
	for range 50 {
		source := b.source("x")
		if own := tagOf(taskText("x", []byte(source.body))); fileTag(source.header.Get("ETag")) != own {
			t.Errorf("the ETag is of another text than %s", source.body)
		}
		before := int(written.Load())
		got := b.call(call{scope: ScopeRead, method: "GET", route: "/tasks/{name}", values: []string{"x"}})
		shown := decode[view.Definition](t, got.body)
		for n := before; n <= int(written.Load())+1; n++ {
			if fileTag(got.header.Get("ETag")) == tagOf(file(n)) && shown.Command < command(n) {
				t.Errorf("%s is shown with the ETag of %s", shown.Command, command(n))
			}
		}
	}
	close(stop)
	writer.Wait()
}

// A server that is killed while it writes leaves the old file or the new one, and no lock.
func TestAKilledServerLeavesAWholeFile(t *testing.T) {
	const folder = "SCHED_TEST_WRITES_IN"
	versions := [][]byte{bytes.Repeat([]byte("# a\n"), 5000), bytes.Repeat([]byte("# b\n"), 5000)}
	keys := func(n int) string { return "every: day\ncommand: a\n" + string(versions[n%2]) }
	if dir := os.Getenv(folder); dir != "" { // the server that is killed
		b := newBox(t, shop)
		b.Dir = dir
		b.server.Config.Edit = b.Path("schedule.d")
		for n := 0; ; n++ {
			b.put("x", keys(n), b.source("x").header.Get("ETag"))
		}
	}
	b := newBox(t, shop)
	b.wants("a new task", b.put("x", keys(0), ""), 201)
	for n := range 10 {
		c := exec.Command(os.Args[0], "-test.run=^TestAKilledServerLeavesAWholeFile$")
		c.Env = append(os.Environ(), folder+"="+b.Dir, "TMPDIR="+t.TempDir())
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		first := stat(b, "schedule.d/x.yaml")
		for end := time.Now().Add(20 * time.Second); stat(b, "schedule.d/x.yaml") == first; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("it wrote nothing")
			}
		}
		time.Sleep(time.Duration(n) * 3 * time.Millisecond) // so that kills come at many places
		c.Process.Kill()
		c.Wait()
		b.server.current.forget()
		seen := b.source("x")
		if seen.body != keys(0) && seen.body != keys(1) {
			t.Fatalf("the file is\n%.1000s", seen.body)
		}
		b.wants("a change after the kill", b.put("x", keys(n), seen.header.Get("ETag")), 200)
	}
	b.write("schedule.d/x.yaml.new", "{") // what a kill leaves is no part of the schedule
	b.wants("the tasks", b.call(call{scope: ScopeRead, method: "GET", route: "/tasks"}), 200, `"name": "x"`)
}

func mustLoad(b *box) *schedule.Schedule {
	b.Helper()
	s, err := load.File(b.Path("schedule.yaml"), load.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func mustTask(b *box, name string) *schedule.Task {
	b.Helper()
	t, err := view.FindTask(mustLoad(b), name)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

func TestTheStatusCountsProposals(t *testing.T) {
	b := newBox(t, shop)
	status := call{scope: ScopeRead, method: "GET", route: "/status"}
	b.wants("no proposals", b.call(status), 200, `"tasks":`)
	if text := string(b.call(status).body); strings.Contains(text, "proposals") {
		t.Errorf("it has some: %s", text)
	}
	if _, err := proposal.Add(b.State(), proposal.Proposal{Task: "x", At: b.server.Now()}); err != nil {
		t.Fatal(err)
	}
	b.wants("one", b.call(status), 200, `"proposals": 1`)
}
