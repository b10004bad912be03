package ticknote

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestTheNoteOfATickIsWrittenWhenItChanges(t *testing.T) {
	dir := t.TempDir()
	first := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	e := Here([]string{"PATH=/usr/bin:/bin", "SECRET=hunter2", "SHELL=/bin/sh"}, "UTC")
	e.Limits = map[string]uint64{"open files": 1024}
	for _, test := range []struct {
		now  time.Time
		path string
		want time.Time
	}{
		{first, "/usr/bin:/bin", first},
		{first.Add(time.Minute), "/usr/bin:/bin", first}, // nothing new
		{first.Add(time.Hour), "/bin", first.Add(time.Hour)},
	} {
		e.Path = test.path
		if err := Keep(dir, e, test.now); err != nil {
			t.Fatal(err)
		}
		note, ok := Read(dir)
		if !ok || !note.Since.Equal(test.want) || !reflect.DeepEqual(note.Environment, e) {
			t.Errorf("%+v, not %+v since %s", note, e, test.want)
		}
	}
	text, err := os.ReadFile(notePath(dir))
	if err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("%s %v", text, err)
	}
}

func TestTheUmaskAndTheLimitsThatDifferAreNamed(t *testing.T) {
	ticks := Environment{Umask: "0022", Limits: map[string]uint64{OpenFiles: 1024, "memory": 1 << 30, "cpu seconds": 60}}
	here := Environment{Umask: "0027", Limits: map[string]uint64{OpenFiles: 20000, "cpu seconds": 60}}
	want := "ticks have umask 0022 (here 0027), memory 1073741824 (here unlimited), open files 1024 (here 20000)"
	if got := (Note{Environment: ticks}).Difference(here, nil); got != want {
		t.Errorf("%s, not %s", got, want)
	}
	here.Umask, ticks.Limits = ticks.Umask, nil
	want = "ticks have cpu seconds unlimited (here 60), open files unlimited (here 20000)"
	if got := (Note{Environment: ticks}).Difference(here, nil); got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

func TestALineThatWasTornIsNoNote(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(notePath(dir), []byte(`{"Names":["PATH"],"Path":"/usr`), 0o600); err != nil {
		t.Fatal(err)
	}
	if note, ok := Read(dir); ok {
		t.Errorf("%+v", note)
	}
	if err := Keep(dir, Here([]string{"PATH=/bin"}, "UTC"), time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, ok := Read(dir); !ok {
		t.Error("the next tick does not write it again")
	}
}

func TestTheNewestDoublesAreKept(t *testing.T) {
	dir := t.TempDir()
	minute := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	for i := range 30 {
		if err := KeepDouble(dir, minute.Add(time.Duration(i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	all := Doubles(dir)
	if len(all) != maxDoubles || !all[len(all)-1].Minute.Equal(minute.Add(29*time.Minute)) {
		t.Errorf("%v", all)
	}
}
