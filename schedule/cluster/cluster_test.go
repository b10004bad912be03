package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cron"
	"sched/testing/machine"
	"sched/testing/storetest"
)

var (
	ctx  = context.Background()
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// runID is the id of the n-th run. The ids sort by n.
func runID(n int) string { return fmt.Sprintf("%08x-0000-7000-8000-%012x", n, n*7919) }

// web returns a server that is set up well.
func web(n int) Server {
	name := fmt.Sprint("web-", n)
	return Server{Name: name, Machine: "machine of " + name, Version: "1.2.3",
		Minute: noon, File: "/srv/shop/schedule.yaml", Digest: "d1",
		Environment: "production", Zone: "+01:00/+02:00"}
}

// announce announces a tick of a server, and returns the findings.
func announce(t *testing.T, store mutex.Store, s Server) []Finding {
	t.Helper()
	_, m, err := Announce(ctx, store, time.Now, s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mustList(t *testing.T, store mutex.Store) []Server {
	t.Helper()
	all, err := List(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func texts(found []Finding) (all []string) {
	for _, f := range found {
		all = append(all, f.Text)
	}
	return all
}

func has(found []Finding, kind string) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.Kind == kind })
}

func names(all []Server) (names []string) {
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

func TestAServerIsListedAsItAnnouncedItself(t *testing.T) {
	store := storetest.New()
	if all := mustList(t, store); len(all) != 0 {
		t.Fatalf("before the first tick: %v", all)
	}
	two := web(2)
	two.Labels = []string{"role=web"}
	two.Running = []Running{
		{Run: runID(1), Task: "a", Slot: noon, PID: 12, Since: noon}, {Run: runID(2), Task: "b", Slot: noon, Since: noon},
	}
	slow := func() time.Time { return time.Now().Add(-45 * time.Second) }
	offset, _, err := Announce(ctx, store, slow, two)
	if err != nil || (offset+45*time.Second).Abs() > 5*time.Second {
		t.Fatalf("the offset is %s, %v", offset, err)
	}
	announce(t, store, web(1))
	all := mustList(t, store)
	if !slices.Equal(names(all), []string{"web-1", "web-2"}) {
		t.Fatalf("listed: %+v", all)
	}
	got := all[1]
	if got.Version != "1.2.3" || !got.Minute.Equal(noon) || got.Environment != "production" ||
		got.Zone != two.Zone || got.Offset != offset ||
		!slices.Equal(got.Labels, two.Labels) || !slices.Equal(got.Running, two.Running) ||
		got.More != 0 || got.Silent() {
		t.Errorf("%+v", got)
	}
}

// A tick with a long foreground task goes on while cron starts other ticks.
func TestATickThatBeganEarlierSaysWhatRunsAndNotWhenTheLastTickWas(t *testing.T) {
	store, early, late := storetest.New(), web(1), web(1)
	late.Minute, late.Version = noon.Add(time.Minute), "2"
	announce(t, store, early)
	announce(t, store, late)
	early.Running = []Running{{Run: runID(1), Task: "a"}}
	announce(t, store, early)
	if all := mustList(t, store); len(all) != 1 || all[0].Version != "2" || !all[0].Minute.Equal(late.Minute) ||
		len(all[0].Running) != 1 {
		t.Errorf("%+v", all)
	}
}

// Without cron, as with a timer of systemd, no other tick begins while a task runs in the
// foreground.
func TestATickThatLastsForAnHourKeepsItsServerListed(t *testing.T) {
	store := storetest.New()
	announce(t, store, web(1))
	for range 60 {
		store.Advance(time.Minute)
		announce(t, store, web(1))
	}
	if all := mustList(t, store); len(all) != 1 || all[0].Silent() {
		t.Errorf("%+v", all)
	}
}

func TestAServerIsForgottenTenMinutesAfterItsLastTick(t *testing.T) {
	store := storetest.New()
	announce(t, store, web(1))
	store.Advance(9 * time.Minute)
	announce(t, store, web(2))
	store.Advance(2 * time.Minute)
	if all := mustList(t, store); !slices.Equal(names(all), []string{"web-2"}) ||
		all[0].Age.Round(time.Minute) != 2*time.Minute {
		t.Errorf("%+v", all)
	}
}

func TestAtMostAHundredRunsAreListed(t *testing.T) {
	store, one := storetest.New(), web(1)
	for n := range maxRunning + 7 {
		one.Running = append(one.Running,
			Running{Run: runID(n), Task: strings.Repeat("a", 128), Slot: noon, PID: 1 << 22, Since: noon})
	}
	announce(t, store, one)
	if all := mustList(t, store); len(all) != 1 || len(all[0].Running) != maxRunning || all[0].More != 7 {
		t.Errorf("%+v", all)
	}
}

// The server was killed with -9 after its run had ended. Nobody knows of the end, but nobody says
// that the run goes on.
func TestAServerThatSaysNothingForThreeMinutesIsSilent(t *testing.T) {
	store, one := storetest.New(), web(1)
	one.Running = []Running{{Run: runID(1), Task: "a"}}
	announce(t, store, one)
	store.Advance(QuietAfter - time.Second)
	if m := announce(t, store, web(2)); has(m, KindSilent) || mustList(t, store)[0].Silent() {
		t.Errorf("before three minutes are over: %+v", m)
	}
	store.Advance(2 * time.Second)
	m := announce(t, store, web(2))
	if all := mustList(t, store); !all[0].Silent() || all[0].Age.Round(time.Minute) != 3*time.Minute ||
		len(all[0].Running) != 1 {
		t.Errorf("%+v", all)
	}
	if got := texts(m); !slices.Equal(got,
		[]string{"nothing was heard for three minutes or more of web-1, where tasks were running"}) {
		t.Errorf("%q", got)
	}
	announce(t, store, one)
	if m := announce(t, store, web(2)); has(m, KindSilent) {
		t.Errorf("after its next tick: %+v", m)
	}
}

func TestAServerWhereNothingRanMayFallSilent(t *testing.T) {
	store := storetest.New()
	announce(t, store, web(1))
	store.Advance(5 * time.Minute)
	if m := announce(t, store, web(2)); len(texts(m)) > 0 {
		t.Errorf("%+v", m)
	}
}

func TestTheFilesThatServersTickAreListed(t *testing.T) {
	store, one, edited, other := storetest.New(), web(1), web(1), web(1)
	edited.Digest, other.File = "d2", "/tmp/copy.yaml"
	other.Running = []Running{{Run: runID(1), Task: "a"}}
	one.Running, edited.Running = other.Running, other.Running // with the same state folder
	for _, s := range []Server{one, edited, other, web(2)} {
		announce(t, store, s)
	}
	var files []string
	runs := 0
	for _, s := range mustList(t, store) {
		files = append(files, s.Name+" "+s.File+" "+s.Digest)
		runs += len(s.Running)
		if s.SharedName {
			t.Errorf("one machine with two files is %+v", s)
		}
	}
	if want := []string{"web-1 /tmp/copy.yaml d1", "web-1 /srv/shop/schedule.yaml d2",
		"web-2 /srv/shop/schedule.yaml d1"}; !slices.Equal(files, want) || runs != 1 {
		t.Errorf("%q with %d runs", files, runs)
	}
}

func TestAServerThatIsGoneIsForgotten(t *testing.T) {
	store := storetest.New()
	announce(t, store, web(1))
	announce(t, store, web(2))
	for _, want := range []bool{true, false} {
		if found, err := Forget(ctx, store, "web-1"); found != want || err != nil {
			t.Errorf("%t, %v", found, err)
		}
	}
	if all := mustList(t, store); !slices.Equal(names(all), []string{"web-2"}) {
		t.Errorf("%+v", all)
	}
}

func TestAnOutageOfTheStoreIsAnError(t *testing.T) {
	store := storetest.New()
	store.GoDown()
	if _, _, err := Announce(ctx, store, time.Now, web(1)); err == nil {
		t.Error("announced")
	}
	if _, err := List(ctx, store); err == nil {
		t.Error("listed")
	}
}

// forge writes a value, as anybody with the password of the store may.
func forge(t *testing.T, store mutex.Board, table, key string, value any) {
	t.Helper()
	text, isText := value.(string)
	if !isText {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		text = string(encoded)
	}
	if err := store.Put(ctx, table, key, []byte(text), 10*time.Minute); err != nil {
		t.Fatal(err)
	}
}

const escape = "\x1b]0;owned\x07\x1b[2J"

func TestWhatNoSchedWroteIsLeftOut(t *testing.T) {
	store := storetest.New()
	announce(t, store, web(1))
	for i, value := range []any{"", "{torn", "[]", "7", `{"name": ["web-9"]}`, `{"name": "web-9"}`,
		Server{Seen: time.Now()}, strings.Repeat("x", 100_000)} {
		forge(t, store, tableServers, fmt.Sprint("x", i), value)
	}
	if all := mustList(t, store); !slices.Equal(names(all), []string{"web-1"}) {
		t.Errorf("%+v", all)
	}
}

func TestNoTextOfAnotherServerReachesATerminalAsItIs(t *testing.T) {
	store, evil := storetest.New(), web(2)
	evil.Name, evil.Version, evil.File, evil.Labels, evil.Environment, evil.Zone = escape+"web-9", escape+"1",
		escape+"/f", []string{escape}, escape+"e", escape+"z"
	evil.Running = []Running{{Run: runID(1), Task: escape + "a\nroot: ok"}, {Run: escape + runID(2), Task: "a"},
		{Run: "../../etc/passwd", Task: "a"}}
	announce(t, store, evil)
	all := mustList(t, store)
	if len(all) != 1 || all[0].Name != "web-9" || len(all[0].Running) != 2 || all[0].Running[0].Task != "a root: ok" ||
		all[0].Running[1].Run != runID(2) {
		t.Errorf("%+v", all)
	}
	if shown := fmt.Sprint(all, announce(t, store, web(1))); strings.ContainsAny(shown, "\x1b\x07\n") {
		t.Errorf("%q", shown)
	}
}

// Forged entries in the store keep no tick from its work, and hide no server from itself.
func TestThousandsOfForgedServersDelayNoTick(t *testing.T) {
	store, one := storetest.New(), web(1)
	announce(t, store, one)
	for i := range 3000 {
		forged := Server{Name: fmt.Sprint("a-", i), Seen: time.Now().Add(-5 * time.Minute),
			Environment: fmt.Sprint("e", i), Running: []Running{{Run: runID(i), Task: "a"}}}
		forge(t, store, tableServers, forged.Name, forged)
	}
	begun, calls := time.Now(), store.Calls()
	m := announce(t, store, one)
	if took := time.Since(begun); took > machine.Within(time.Second) {
		t.Errorf("it took %s", took)
	}
	if calls := store.Calls() - calls; calls > 3 {
		t.Errorf("%d calls", calls)
	}
	twin := one
	twin.Machine = "another machine"
	announce(t, store, twin)
	if !has(announce(t, store, one), KindName) {
		t.Error("its own name is lost among them")
	}
	if text := strings.Join(texts(m), "\n"); has(m, KindName) || strings.Count(text, ", ") > 10 {
		t.Error(text)
	}
}

func TestATimeThatIsNoneMakesNoServerImmortal(t *testing.T) {
	store := storetest.New()
	for i, seen := range []string{"9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00Z", "2026-01-01T00:00:00Z"} {
		forge(t, store, tableServers, fmt.Sprint(i), `{"name": "web-9", "seen": "`+seen+`", "minute": "`+seen+`"}`)
	}
	if all := mustList(t, store); len(all) > 0 {
		t.Errorf("%+v", all)
	}
	forge(t, store, tableServers, "ahead", Server{Name: "web-8", Seen: time.Now().Add(time.Hour), Minute: noon})
	if all := mustList(t, store); len(all) != 1 || all[0].Age != 0 {
		t.Errorf("%+v", all)
	}
}

var berlin = func() *time.Location {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return zone
}()

func TestAZoneMattersWhereAOneServerTaskDependsOnIt(t *testing.T) {
	task := func(one bool, zone *time.Location) *schedule.Task {
		return &schedule.Task{Name: "a", Enabled: true, OneServer: one, When: cron.When{Location: zone}}
	}
	for _, tt := range []struct {
		name string
		zone *time.Location
		task *schedule.Task
		want string
	}{
		{"with summer time", berlin, task(true, berlin), "+01:00/+02:00"},
		{"without", time.UTC, task(true, time.UTC), "+00:00"},
		{"a task with a zone of its own", berlin, task(true, time.UTC), ""},
		{"a task of every server", berlin, task(false, berlin), ""},
	} {
		if got := ZoneOf(&schedule.Schedule{Location: tt.zone, Tasks: []*schedule.Task{tt.task}},
			2026); got != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

func TestServersThatDoNotFitTogetherAreFound(t *testing.T) {
	for _, tt := range []struct {
		name  string
		other func(*Server)
		want  []string
	}{
		{"two of a kind", func(*Server) {}, nil},
		{"another zone", func(s *Server) { s.Zone = "+00:00" },
			[]string{"servers of this schedule are in another time zone: +00:00 (web-1 is in +01:00/+02:00)"}},
		{"a zone that does not matter there", func(s *Server) { s.Zone = "" }, nil},
		{"another environment", func(s *Server) { s.Environment = "staging" },
			[]string{"servers of this schedule tick in another environment: staging (web-1 is in production)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store, other := storetest.New(), web(2)
			tt.other(&other)
			announce(t, store, other)
			m := announce(t, store, web(1))
			if got := texts(m); !slices.Equal(got, tt.want) {
				t.Errorf("%q", got)
			}
			store.Advance(4 * time.Minute)
			if m := announce(t, store, web(1)); len(texts(m)) > 0 {
				t.Errorf("it ticks no more: %+v", m)
			}
		})
	}
}

func TestTwoMachinesWithOneNameAreFoundAndOneThatWasSetUpAnewIsNot(t *testing.T) {
	store, ours, theirs := storetest.New(), web(1), web(1)
	theirs.Machine, theirs.Running = "another machine", []Running{{Run: runID(1), Task: "a"}}
	tick := func(s Server) bool {
		store.Advance(time.Second)
		return has(announce(t, store, s), KindName)
	}
	if tick(ours) || tick(theirs) || tick(theirs) {
		t.Fatal("a machine that replaces another one is found")
	}
	if !tick(ours) || !tick(theirs) || !tick(ours) {
		t.Error("the other machine is not found")
	}
	all := mustList(t, store)
	if len(all) != 2 || !all[0].SharedName || len(all[1].Running) != 1 {
		t.Errorf("listed: %+v", all)
	}
	store.Advance(time.Minute)
	if tick(ours); tick(ours) {
		t.Error("the other machine is gone, and still found")
	}
}

func TestStatusReadsWhatTheLastTickFound(t *testing.T) {
	dir := t.TempDir()
	found := []Finding{{KindName, "another machine", "name each"}}
	Note(dir, noon, &schedule.Schedule{}, found, nil)
	if got := NotesIn(dir).Findings; !slices.Equal(got, found) {
		t.Errorf("%+v", got)
	}
	Note(dir, noon, &schedule.Schedule{}, nil, nil)
	if got := NotesIn(dir).Findings; len(got) > 0 {
		t.Errorf("%+v", got)
	}
	if id := Machine(dir); id == "" || id != Machine(dir) || id == Machine(t.TempDir()) {
		t.Error("machines are not told apart")
	}
}

func TestAnOutageIsNotedFromItsFirstTickOn(t *testing.T) {
	dir := t.TempDir()
	found := []Finding{{KindName, "another machine", "name each"}}
	Note(dir, noon, &schedule.Schedule{}, found, nil)
	Note(dir, noon.Add(time.Minute), &schedule.Schedule{}, nil, storetest.ErrDown)
	Note(dir, noon.Add(2*time.Minute), &schedule.Schedule{}, nil, storetest.ErrDown)
	if n := NotesIn(dir); n.Outage == nil || !n.Outage.Since.Equal(noon.Add(time.Minute)) ||
		n.Outage.Why != storetest.ErrDown.Error() || !slices.Equal(n.Findings, found) {
		t.Errorf("%+v", n)
	}
	Note(dir, noon.Add(3*time.Minute), &schedule.Schedule{}, nil, nil)
	if n := NotesIn(dir); n.Outage != nil || len(n.Findings) > 0 {
		t.Errorf("%+v", n)
	}
}
