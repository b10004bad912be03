package install

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sched/schedule/usercrontab"
)

var shop = Line{Program: "/usr/local/bin/sched", File: "/srv/shop/schedule.yaml"}

func TestTheLineOfASchedule(t *testing.T) {
	for _, row := range []struct {
		line Line
		want string
	}{
		{shop, "* * * * * /usr/local/bin/sched run -q -c /srv/shop/schedule.yaml # sched install "},
		{Line{Program: "/opt/my sched", File: "/srv/it's 50%/x.yaml"}, `* * * * * '/opt/my sched' run -q -c '/srv/it'\''s 50\%/x.yaml' # sched install `},
	} {
		if got := row.line.Cron(); got != row.want+row.line.ID() {
			t.Errorf("%s", got)
		}
	}
}

func TestAddAndRemove(t *testing.T) {
	old := "MAILTO=me\n\n1 1 * * * a\n# a comment\n2 2 * * *\tb  \n"
	added := shop.AddTo(old, map[int]bool{3: true})
	want := "MAILTO=me\n\n" + shop.replacedMark() + "1 1 * * * a\n# a comment\n2 2 * * *\tb  \n" + shop.Cron() + "\n"
	if added.New != want || len(added.Diff) != 3 {
		t.Errorf("%q\n%q", added.New, added.Diff)
	}
	if again := shop.AddTo(added.New, nil); !again.IsNone() {
		t.Errorf("%q", again.Diff)
	}
	if removed := shop.RemoveFrom(added.New); removed.New != old {
		t.Errorf("%q", removed.New)
	}
}

// Only lines that install wrote count, and only while their schedule is not there.
func TestLinesOfSchedulesThatAreGone(t *testing.T) {
	folder := t.TempDir()
	there := filepath.Join(folder, "there.yaml")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text := "1 1 * * * a\n"
	for _, name := range []string{"there.yaml", "gone.yaml", "it's 50% -c gone.yaml"} {
		text = Line{Program: "/usr/bin/sched", File: filepath.Join(folder, name)}.AddTo(text, nil).New
	}
	text += "# " + Line{Program: "/usr/bin/sched", File: "/none/off.yaml"}.Cron() + "\n" +
		"* * * * * sched run -q -c /none/byhand.yaml\n" +
		"* * * * * sched run -q -c /none/edited.yaml" + shop.mark() + "\n"
	want := []string{filepath.Join(folder, "gone.yaml"), filepath.Join(folder, "it's 50% -c gone.yaml")}
	if got := usercrontab.Gone(text); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A newer sched at another place takes over the line and leaves it at its place.
func TestTheLineMovesWithTheProgram(t *testing.T) {
	text := shop.AddTo("1 1 * * * a\n", nil).New + "2 2 * * * b\n"
	moved := Line{Program: "/opt/sched/bin/sched", File: shop.File}.AddTo(text, nil)
	if want := strings.Replace(text, "/usr/local/bin/sched", "/opt/sched/bin/sched", 1); moved.New != want {
		t.Errorf("%q", moved.New)
	}
}

// Two schedules of one crontab do not touch each other's lines, in whatever order they come and go.
func TestTwoSchedulesInOneCrontab(t *testing.T) {
	other := Line{Program: "/usr/local/bin/sched", File: "/srv/blog/schedule.yaml"}
	old := "1 1 * * * a\n2 2 * * * b\n"
	both := other.AddTo(shop.AddTo(old, map[int]bool{1: true}).New, map[int]bool{2: true}).New
	if strings.Count(both, "sched run") != 2 || !shop.IsIn(both) || !other.IsIn(both) {
		t.Fatalf("%q", both)
	}
	if got := other.RemoveFrom(shop.RemoveFrom(both).New).New; got != old {
		t.Errorf("%q", got)
	}
	if got := shop.RemoveFrom(both).New; got != other.AddTo(old, map[int]bool{2: true}).New {
		t.Errorf("%q", got)
	}
}

// Removing the line restores any crontab as it was before Add.
func FuzzAddAndRemove(f *testing.F) {
	f.Add("1 1 * * * a\n\n#x\n", uint64(5))
	f.Add("", uint64(0))
	f.Fuzz(func(t *testing.T, text string, lines uint64) {
		if text != "" && !strings.HasSuffix(text, "\n") || strings.Contains(text, "sched") {
			t.Skip("no cron has it")
		}
		replace := map[int]bool{}
		for i := range 64 {
			replace[i+1] = lines>>i&1 == 1
		}
		added := shop.AddTo(text, replace)
		if got := shop.RemoveFrom(added.New).New; got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func TestUnitWord(t *testing.T) {
	for text, want := range map[string]string{"/a/b": "/a/b", "/a b": `"/a b"`, "/50%": "/50%%", "/$x": "/$$x", `/a"b`: `"/a\"b"`} {
		if got := UnitWord(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// An edit that fails leaves the files as they were.
func TestFilesAreUndone(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a.service"), filepath.Join(dir, "a.timer")
	os.WriteFile(first, []byte("old\n"), 0o644)
	edit := FileEdit{Files: []File{{first, "new\n"}, {second, "new\n"}}, After: []Command{{"false"}}}
	if diff := strings.Join(edit.Diff(), "|"); diff != first+":|- old|+ new|"+second+":|+ new" {
		t.Error(diff)
	}
	if err := edit.Apply(); err == nil {
		t.Error("false succeeded")
	}
	if text, _ := os.ReadFile(first); string(text) != "old\n" {
		t.Errorf("%q", text)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
