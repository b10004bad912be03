package proposal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sched/schedule/load"
	"sched/schedule/view"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestNoMoreThanFiftyProposalsWait(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var group sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for n := range Most + 10 {
		group.Go(func() {
			_, err := Add(dir, Proposal{Task: fmt.Sprint("t", n), By: "anna", At: noon})
			refusal, ok := errors.AsType[*view.Error](err)
			if err != nil && (!ok || refusal.Kind != view.Conflict) {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refused++
			}
		})
	}
	group.Wait()
	all, err := All(dir, noon)
	if err != nil || len(all) != Most || refused != 10 {
		t.Errorf("%d wait and %d were refused: %v", len(all), refused, err)
	}
	if _, err := Add(dir, Proposal{Task: all[0].Task, By: "anna", At: noon}); err != nil {
		t.Errorf("a proposal in the place of another: %v", err)
	}
	if all, err = All(dir, noon.Add(Lasts-1)); len(all) != Most || err != nil {
		t.Errorf("%d wait before they end: %v", len(all), err)
	}
	if all, err = All(dir, noon.Add(Lasts)); len(all) != 0 || err != nil {
		t.Errorf("%d wait after 14 days: %v", len(all), err)
	}
}

func TestOneDecisionIsMadeOfAProposal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := Add(dir, Proposal{Task: "report", By: "anna", At: noon})
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	if err := Decide(dir, p.ID, noon, func(Proposal) error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
	if found, err := Find(dir, p.ID[:4], noon); err != nil || found.Task != "report" {
		t.Errorf("after a decision that failed: %+v, %v", found, err)
	}
	var group sync.WaitGroup
	decided := make(chan error, 8)
	for range cap(decided) {
		group.Go(func() { decided <- Decide(dir, p.ID, noon, func(Proposal) error { return nil }) })
	}
	group.Wait()
	done := 0
	for range cap(decided) {
		if <-decided == nil {
			done++
		}
	}
	if done != 1 {
		t.Errorf("%d decisions were made", done)
	}
}

func TestADamagedFileIsAnErrorAndStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	os.Mkdir(filepath.Dir(path(dir)), 0o700)
	if err := os.WriteFile(path(dir), []byte("[{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Add(dir, Proposal{Task: "report", At: noon}); err == nil {
		t.Error("a proposal was added to it")
	}
	if text, _ := os.ReadFile(path(dir)); string(text) != "[{" {
		t.Errorf("it is %q now", text)
	}
}

// file is the file of a task called t, as serve writes it.
func file(keys string) []byte {
	text := "# Written\ntasks:\n  - name: \"t\"\n"
	for line := range strings.Lines(keys) {
		text += "    " + line
	}
	return []byte(text + "\n")
}

func TestAProposalSetsOnlyKeysThatMayBeProposed(t *testing.T) {
	t.Parallel()
	rules := Rules{Keys: []string{"env"}}
	for keys, want := range map[string]string{
		"every: day\ncommand: id":           "",
		"every: day\nenv: {A: b}":           "",
		"every: day\nuser: root":            "user cannot be proposed",
		"every: day\n\"user\": root":        "user cannot be proposed",
		"every: day\n? user\n: root":        "user cannot be proposed",
		"<<: {user: root}\nevery: day":      "user cannot be proposed",
		"params: &a {user: root}\n<<: *a":   "user cannot be proposed",
		"every: day\nshell: sh":             `the key "shell" cannot`,
		"every: day\nenv_file: /etc/shadow": `the key "env_file" cannot`,
		"every: day\nbefore: id":            `the key "before" cannot`,
		"every: day\non_failure: id":        `the key "on_failure" cannot`,
		"every: day\ninclude: [x]":          `the key "include" cannot`,
		"every: day\nstore: redis://x":      `the key "store" cannot`,
		"every: day\nname: other":           "name another task",
		"every: day\n--- {}":                "cannot be read",
		"- x":                               "cannot be read",
		"every: day\ncommand: echo ${HOME}": "",
		"timezone: ${file:/etc/shadow}":     "timezone of a proposal cannot have ${…}",
		"env: {A: '${TOKEN}'}":              "env of a proposal cannot have ${…}",
		"schedule: [{params: {A: '${B}'}}]": "schedule of a proposal cannot have ${…}",
	} {
		if err := rules.Check(file(keys), "t"); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", keys, err)
		}
	}
	for _, keys := range []string{"every: day\rstore: x", "a\u2028b", "a\u202eb", "a\x1b[2J", "a\x85b", "\ufeffa", "a\tb",
		strings.Repeat("x", MostKeys+1)} {
		if CheckText(keys) == nil {
			t.Errorf("%.40q passes", keys)
		}
	}
}

// The loader finds one task in the file, with no key that may not be proposed, for any keys.
func FuzzKeys(f *testing.F) {
	for _, keys := range []string{"every: day\ncommand: id", "every: day\n<<: {user: root}", "{every: day}", "? user\n: x",
		"every: |\n  day\nuser: x", "command: 'a\n\n  b'\nevery: day"} {
		f.Add(keys)
	}
	f.Fuzz(func(t *testing.T, keys string) {
		if CheckText(keys) != nil || (Rules{}).Check(file(keys), "t") != nil {
			return
		}
		s, err := load.Text(file(keys), "/srv/schedule.yaml", load.Options{})
		if err != nil {
			return
		}
		if len(s.Tasks) != 1 || s.Tasks[0].As.User != "" || len(s.Tasks[0].Hooks.OnFailure) > 0 || len(s.Store.Servers) > 0 {
			t.Errorf("%q makes %+v", keys, s.Tasks[0])
		}
	})
}

func TestTheRulesAreOfTheSchedule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"x-proposals: {folder: d, keys: [env, shell]}": "{/srv/d [env shell]}",
		"x-proposals: {folder: /d}":                    "{/d []}",
		"x-other: 1":                                   "{ []}",
		"x-proposals: d":                               "no mapping",
		"x-proposals: {keys: [user]}":                  "cannot allow user",
		"x-proposals: {fodler: d}":                     "has no key",
		"x-proposals: {folder: []}":                    "is no path",
		"x-proposals: {keys: {env: 1}}":                "no list of keys",
	} {
		s, err := load.Text([]byte(text+"\ntasks: [{name: t, every: day, command: id}]\n"), "/srv/schedule.yaml", load.Options{})
		if err != nil {
			t.Fatal(err)
		}
		rules, err := RulesOf(s)
		if got := fmt.Sprint(rules, err); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}
