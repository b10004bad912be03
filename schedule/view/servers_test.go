package view

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/pause"
	"sched/schedule/state"
	"sched/testing/storetest"
)

func TestATaskThatNoTickingServerRunsIsATrouble(t *testing.T) {
	store := storetest.New()
	for _, s := range []cluster.Server{{Name: "db-1"}, {Name: "web-1", Labels: []string{"role=web"}}, {Name: "web-2"}} {
		if s.Minute = time.Now(); s.Name == "web-1" {
			store.Advance(3 * time.Minute) // db-1 is silent
		}
		if _, _, err := cluster.Announce(t.Context(), store, time.Now, s); err != nil {
			t.Fatal(err)
		}
	}
	of := &Health{Schedule: &schedule.Schedule{Tasks: []*schedule.Task{
		{Name: "of-web", Servers: []string{"role=web"}, Enabled: true},
		{Name: "of-db", Servers: []string{"db-*"}, Enabled: true},
		{Name: "of-all", Enabled: true},
		{Name: "off", Servers: []string{"db-1"}},
	}}}
	got := unservedTasks(t.Context(), Source{Controls: pause.Source{Store: store}}, of)
	want := "no server runs it: servers is db-*, and those that tick are web-1 (labels: role=web); web-2"
	if len(got) != 1 || got[0].Task != "of-db" || got[0].Text != want {
		t.Errorf("%+v", got)
	}
}

// A server may be heard of because an old tick still says what runs there, though no tick begins.
func TestTheStatesOfServers(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		seen, age time.Duration // after the tick, and then until now
		want      ServerState
	}{
		{0, time.Second, ServerTicks},
		{2 * time.Minute, 2 * time.Minute, ServerTicks},
		{10 * time.Minute, time.Second, ServerNoTicks},
		{0, 4 * time.Minute, ServerSilent},
		{10 * time.Minute, 4 * time.Minute, ServerSilent},
	} {
		s := cluster.Server{Name: "web-1", Minute: noon, Seen: noon.Add(tt.seen), Age: tt.age}
		if got := ServerStateOf(s); got != tt.want {
			t.Errorf("seen after %v, %v ago: %s, want %s", tt.seen, tt.age, got, tt.want)
		}
	}
}

// The last tick of web-2 ended twenty seconds ago, and the next one tells what became of its runs.
// A lock that is still held says that its run lives.
func TestARunThatItsServerReportedSomeTimeAgoMayHaveEnded(t *testing.T) {
	store := storetest.New()
	announced := cluster.Server{Name: "web-2"}
	for _, task := range []string{"free", "alone", "left"} {
		run := "01a22d34-acea-7568-8c01-" + fmt.Sprintf("%012x", len(announced.Running))
		announced.Running = append(announced.Running, cluster.Running{Run: run, Task: task})
		if task != "alone" {
			continue
		}
		if _, err := store.Acquire(t.Context(), task, mutex.Holder{Run: run, Host: "web-2"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := cluster.Announce(t.Context(), store, time.Now, announced); err != nil {
		t.Fatal(err)
	}
	s := Source{Server: "web-1", Controls: pause.Source{Store: store}, Schedule: &schedule.Schedule{Tasks: []*schedule.Task{
		{Name: "free"},
		{Name: "alone", WithoutOverlapping: true, Mutex: "alone"},
		{Name: "left", WithoutOverlapping: true, Mutex: "left"},
	}}}
	uncertain := func() (names []string) {
		live, err := RunningElsewhere(t.Context(), s)
		if err != nil || len(live) != 3 {
			t.Fatal(live, err)
		}
		for _, row := range live {
			if !row.LastReported.IsZero() {
				names = append(names, row.Task)
			}
		}
		return names
	}
	if got := uncertain(); got != nil {
		t.Errorf("at once: %q", got)
	}
	store.Advance(20 * time.Second)
	if got := uncertain(); !slices.Equal(got, []string{"free", "left"}) {
		t.Errorf("after twenty seconds: %q", got)
	}
}

// A silent server may have died. Its run is over if another run of the task has the lock, or has
// run since: runs of such a task do not overlap. It is not listed as running, and its slot is not
// forgotten: nobody knows how it ended.
func TestRunsOfASilentServerAreOverWhenTheStoreKnows(t *testing.T) {
	store := storetest.New()
	id := func(n int) string { return "01a22d34-acea-7568-8c01-" + fmt.Sprintf("%012x", n) }
	dead := cluster.Server{Name: "web-2"}
	tasks := []*schedule.Task{{Name: "free"}}
	for i, name := range []string{"free", "locked", "ran", "left", "lives"} {
		if name != "free" {
			tasks = append(tasks, &schedule.Task{Name: name, WithoutOverlapping: true, Mutex: name})
		}
		dead.Running = append(dead.Running, cluster.Running{Run: id(i), Task: name})
	}
	if _, _, err := cluster.Announce(t.Context(), store, time.Now, dead); err != nil {
		t.Fatal(err)
	}
	store.Advance(4 * time.Minute)
	for name, run := range map[string]string{"locked": id(11), "lives": id(4)} {
		if _, err := store.Acquire(t.Context(), name, mutex.Holder{Run: run}); err != nil {
			t.Fatal(err)
		}
	}
	later := state.Row{ID: id(12), Task: "ran", Server: "web-1", Slot: time.Now()}
	later.Outcome = outcome.Succeeded
	err := cluster.Publish(t.Context(), store, []state.Row{later}, map[string]state.Row{"ran": later})
	if err != nil {
		t.Fatal(err)
	}
	s := Source{Server: "web-3", Controls: pause.Source{Store: store}, Schedule: &schedule.Schedule{Tasks: tasks}}
	servers, err := Servers(t.Context(), s)
	if err != nil || len(servers) != 1 {
		t.Fatal(servers, err)
	}
	var got []string
	for _, r := range ServersOf(servers)[0].Running {
		text := "running"
		if r.LastReported != nil {
			text = "was running"
		}
		got = append(got, text+" "+r.Task)
	}
	if want := []string{"was running free", "was running left", "running lives"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	_, over, err := announcedElsewhere(t.Context(), s)
	if err != nil || len(over) != 2 || over[0].Task != "locked" || over[1].Task != "ran" {
		t.Errorf("%v: over are %+v", err, over)
	}
	live, _, _, err := slotsElsewhere(t.Context(), s, past.Query{}, cluster.MaxRuns)
	if err != nil || len(live) != len(dead.Running) {
		t.Errorf("%v: of the slots of web-2 are known %+v", err, live)
	}
	want := "web-2 says nothing for 4 m 0 s: it was stopped, or it died; 2 runs may have ended since"
	if got := SilentText(servers, 0); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
