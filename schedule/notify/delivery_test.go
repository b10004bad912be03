package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/state"
)

func TestTheWaitsBetweenAttempts(t *testing.T) {
	at := time.Date(2026, 1, 1, 10, 0, 20, 0, time.UTC)
	for tries, want := range map[int]string{1: "10:01", 2: "10:02", 3: "10:04", 6: "10:32", 7: "11:00", 100: "11:00"} {
		if got := nextTime(state.Attempts{Tries: tries, LastTry: at}).Format("15:04"); got != want {
			t.Errorf("the attempt after %d comes at %s, not %s", tries, got, want)
		}
	}
}

// An attempt tries only the addresses that the attempt before has left, also after several
// attempts.
func TestTheAddressesThatAreLeft(t *testing.T) {
	all := []string{"a", "b", "c", "d"}
	first := remainingOf(nil, all, []string{"b", "d"})
	second := remainingOf(first, []string{"b", "d"}, []string{"d"})
	if len(second) != 1 || all[second[0]] != "d" {
		t.Errorf("%v, then %v", first, second)
	}
}

// A server counts the requests for each path, and answers when the test lets it.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
	log   []string
	held  map[string]chan struct{} // by path
}

func newServer(t *testing.T) *server {
	s := &server{asked: map[string]int{}, held: map[string]chan struct{}{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked[r.URL.Path]++
		s.log = append(s.log, r.URL.Path)
		held := s.held[r.URL.Path]
		s.mu.Unlock()
		if held != nil {
			<-held
		}
		if strings.HasPrefix(r.URL.Path, "/down") {
			w.WriteHeader(http.StatusServiceUnavailable)
		} else if strings.HasPrefix(r.URL.Path, "/refuse") {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// until waits until the server was asked for a path.
func (s *server) until(path string) {
	for {
		s.mu.Lock()
		n := s.asked[path]
		s.mu.Unlock()
		if n > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func webhook(url, id string) *Delivery {
	return &Delivery{Run: id, Hook: "after 1", To: schedule.Notification{Webhook: url},
		Message: Message{ID: id + " after 1", Task: "task-" + id, Event: Finish, At: time.Now()}}
}

func ping(url, id string) *Delivery {
	return &Delivery{Run: id, Hook: "after 1", To: schedule.Notification{Ping: url},
		Message: Message{ID: id + " after 1", Task: "task", Event: Finish, At: time.Now()}}
}

func put(s *Sender, d *Delivery) {
	if s.Put(d) {
		s.Send(d)
	}
}

func waiting(t *testing.T, dir string) int {
	t.Helper()
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	n, err := db.Messages().Waiting(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const childEnv = "NOTIFY_TEST_CHILD"

// TestChild is another process: a finish that sends the messages it puts in, or a tick that sends
// waiting messages.
func TestChild(t *testing.T) {
	args := strings.Fields(os.Getenv(childEnv))
	if len(args) == 0 {
		t.Skip("it is a part of other tests")
	}
	dir, url, id := args[0], args[1], args[2]
	s := senderIn(dir)
	if id == "tick" {
		for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			s.SendWaiting()
		}
	} else {
		for n := range 8 {
			path := fmt.Sprintf("/%s-%d", id, n)
			put(s, webhook(url+path, path))
		}
	}
	s.Wait(context.Background(), Patience)
}

// Finishes put messages in and send them, while ticks send waiting messages. The server is asked
// once for each message, however the processes meet.
func TestEachMessageIsSentOnceByProcessesThatSendAtOnce(t *testing.T) {
	dir, server := filepath.Join(t.TempDir(), ".sched"), newServer(t)
	left := senderIn(dir)
	for n := range 8 { // messages that earlier processes have left
		path := fmt.Sprintf("/left-%d", n)
		if !left.Put(webhook(server.URL+path, path)) {
			t.Error("it was put in before")
		}
	}
	left.Wait(context.Background(), Patience)
	var all sync.WaitGroup
	for _, id := range []string{"tick", "a", "tick", "b", "c", "tick"} {
		child := exec.Command(os.Args[0], "-test.run=^TestChild$")
		child.Env = append(os.Environ(), childEnv+"="+dir+" "+server.URL+" "+id)
		all.Go(func() {
			if out, err := child.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	for path, n := range server.asked {
		if n != 1 {
			t.Errorf("%s was sent %d times", path, n)
		}
	}
	if got, waits := len(server.asked), waiting(t, dir); got != 32 || waits != 0 {
		t.Errorf("%d of 32 were sent, %d wait", got, waits)
	}
}

// sentry is a check-in for the project with that number.
func sentry(url, project string) *Delivery {
	d := ping("", project)
	d.To = schedule.Notification{Sentry: strings.Replace(url, "://", "://key@", 1) + "/" + project}
	return d
}

// Pings tell the start of a run before its end, though the run ends before the first attempt to
// tell of its start. So do check-ins of Sentry.
func TestAPingFollowsTheOneThatIsBeingSent(t *testing.T) {
	for _, of := range []struct {
		start, end string // paths
		delivery   func(url, part string) *Delivery
	}{
		{"/1", "/3", func(url, part string) *Delivery { return ping(url+"/"+part, part) }},
		{"/api/1/envelope/", "/api/3/envelope/", sentry},
	} {
		dir, server := filepath.Join(t.TempDir(), ".sched"), newServer(t)
		server.held[of.start] = make(chan struct{})
		first, second := senderIn(dir), senderIn(dir)
		put(first, of.delivery(server.URL, "1"))
		put(second, of.delivery(server.URL, "2"))
		put(second, of.delivery(server.URL, "3"))
		server.until(of.start)
		second.SendWaiting()
		second.Wait(context.Background(), Patience)
		close(server.held[of.start])
		first.Wait(context.Background(), Patience)
		if want := []string{of.start, of.end}; !reflect.DeepEqual(server.log, want) || waiting(t, dir) != 0 {
			t.Errorf("%q, not %q; %d wait", server.log, want, waiting(t, dir))
		}
	}
}

// The messages of a task to one target keep their order as long as the target accepts them. A
// message that it never accepts holds no other up, and neither does another target.
func TestATargetGetsTheMessagesOfATaskInTheirOrder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".sched")
	var mu sync.Mutex
	var got []string
	refused := "1234" // the messages that the server does not accept
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body plainBody
		json.NewDecoder(r.Body).Decode(&body)
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, body.Run); strings.Contains(refused, body.Run) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	message := func(id, path string, at int64) *Delivery {
		return &Delivery{Run: id, Hook: "after 1", To: schedule.Notification{Webhook: server.URL + path},
			Message: Message{ID: id + " after 1", Run: id, Task: "task", Event: Finish, At: time.UnixMilli(at)}}
	}
	sends := func(d *Delivery, want ...string) {
		t.Helper()
		got = nil
		s := senderIn(dir)
		put(s, d)
		s.Wait(context.Background(), Patience)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the server was asked for %q, not for %q", d.Run, got, want)
		}
	}
	sends(message("1", "/", 1), "1")
	sends(message("2", "/", 2), "1", "2") // the attempt of 2 comes although 1 fails again
	sends(message("3", "/other", 3), "3")
	sends(message("4", "/", 4), "1", "4")
	refused = "2"
	sends(message("5", "/", 5), "1", "2", "5")
	refused = ""
	sends(message("6", "/", 6), "2", "4", "6")
	if n := waiting(t, dir); n != 1 {
		t.Errorf("%d wait, not only the message to the other target", n)
	}
}

// A finish that fails leaves two things to a tick: to report the failure, and to drop what was
// refused for good.
func TestATickReportsWhatAFinishCouldNotDeliver(t *testing.T) {
	dir, server := filepath.Join(t.TempDir(), ".sched"), newServer(t)
	finish := senderIn(dir)
	finish.Lost = func(_ *Delivery, err error) { t.Errorf("it is not lost: %v", err) }
	put(finish, webhook(server.URL+"/refuse", "1"))
	put(finish, webhook(server.URL+"/down", "2"))
	finish.Wait(context.Background(), Patience)

	var mu sync.Mutex
	var told []string
	tick := senderIn(dir)
	tick.Undelivered = func(d *Delivery, err error, what string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, d.Run+" "+d.Hook+": "+what)
	}
	tick.SendWaiting()
	tick.Wait(context.Background(), Patience)
	if want := []string{"1 after 1: it is dropped"}; !reflect.DeepEqual(told, want) {
		t.Errorf("%q, not %q", told, want)
	}
	if server.asked["/refuse"] != 1 || server.asked["/down"] != 1 || waiting(t, dir) != 1 {
		t.Errorf("%v, %d wait", server.asked, waiting(t, dir))
	}
}

// A message that cannot be read is left to a tick by a process that cannot report it.
func TestAnUnreadableMessageIsReportedByATick(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".sched")
	finish := senderIn(dir)
	m, err := ping("http://localhost", "1").pack()
	if err != nil {
		t.Fatal(err)
	}
	m.Target = json.RawMessage("[]")
	dead := senderIn(dir) // it puts the message in, and ends before its attempt
	if _, err := dead.putInOutbox(&m); err != nil {
		t.Fatal(err)
	}
	dead.Wait(context.Background(), 0)
	finish.SendWaiting()
	finish.Wait(context.Background(), Patience)

	var told []string
	tick := senderIn(dir)
	tick.Undelivered = func(d *Delivery, err error, what string) {
		told = append(told, fmt.Sprintf("%s %s: %v; %s", d.Run, d.Hook, err, what))
	}
	tick.SendWaiting()
	tick.Wait(context.Background(), Patience)
	if want := []string{"1 after 1: it cannot be read; it is dropped"}; !reflect.DeepEqual(told, want) {
		t.Errorf("%q, not %q", told, want)
	}
}

// A delivery that the outbox cannot take is sent once.
func TestADeliveryThatCannotBeKeptIsSentOnce(t *testing.T) {
	dir, server := filepath.Join(t.TempDir(), ".sched"), newServer(t)
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // no folder can be made
		t.Fatal(err)
	}
	var lost []error
	s := senderIn(dir)
	s.Lost = func(_ *Delivery, err error) { lost = append(lost, err) }
	put(s, webhook(server.URL+"/ok", "1"))
	put(s, webhook(server.URL+"/down", "2"))
	s.Wait(context.Background(), Patience)
	if server.asked["/ok"] != 1 || server.asked["/down"] != 1 || len(lost) != 1 ||
		!strings.HasSuffix(lost[0].Error(), noOutbox) {
		t.Errorf("%v, %v", server.asked, errors.Join(lost...))
	}
}

// senderIn returns a Sender with a database of its own, as another process has it.
func senderIn(dir string) *Sender {
	return NewSender(context.Background(), state.At(dir, state.Patience), nil)
}
