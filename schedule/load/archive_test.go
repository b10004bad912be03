package load

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sched/schedule"
	"sched/schedule/lint"
)

// sameFromArchive fails unless Archive makes the same schedule of the archive of s, with every task
// at its place.
func sameFromArchive(t *testing.T, s *schedule.Schedule) {
	t.Helper()
	text, err := s.Archive()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Archive(text, s.File, testOptions())
	if err != nil {
		t.Fatalf("%v in the archive:\n%s", err, text)
	}
	if got, want := dump(again), dump(s); got != want {
		t.Errorf("of the archive\n%s\nit is\n%s\nwant\n%s", text, got, want)
	}
	if again.File != s.File || again.Digest != s.Digest ||
		!reflect.DeepEqual(lint.HolidaysOver(again, farAway), lint.HolidaysOver(s, farAway)) {
		t.Errorf("of the archive\n%s\nthe file is %s and the digest %s, want %s and %s",
			text, again.File, again.Digest, s.File, s.Digest)
	}
	for i, task := range again.Tasks {
		if task.Place != s.Tasks[i].Place {
			t.Errorf("%s is at %s, want %s", task.Name, task.Place, s.Tasks[i].Place)
		}
	}
	if second, err := again.Archive(); err != nil || string(second) != string(text) {
		t.Errorf("archived again it is\n%s\nwant\n%s", second, text)
	}
}

var farAway = at("2999-01-01 00:00:00")

// The files of an archive may be gone or broken when the archive is needed: an archive exists for
// that case.
func TestAnArchiveNeedsNoFiles(t *testing.T) {
	outside := writeFiles(t, map[string]string{"out.yaml": "- {name: outside, every: hour, command: x, dir: sub}"})
	dir := writeFiles(t, map[string]string{
		"schedule.yaml":  "include: ['${HOME:-x}/out.yaml', 'd/*.yaml']\nholidays: ['${DAYS}', 12-24]\n" + mainTask,
		"d/2.yaml":       "# no line end\ntasks: [{name: second, every: hour, command: '${SECRET}', except: holidays}]",
		"d/1 \"x\".yaml": "\n\n- {name: first, every: hour, command: x, env: {A: '${SECRET}'}}\n",
		"days":           "\ufeff12-25 Christmas\r\n",
	})
	vars := map[string]string{"HOME": outside, "DAYS": "days", "SECRET": "hunter2"}
	opts := testOptions()
	opts.Getenv = func(name string) (string, bool) { value, ok := vars[name]; return value, ok }
	file := filepath.Join(dir, "schedule.yaml")
	s, err := File(file, opts)
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.Archive()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hunter2") {
		t.Errorf("a secret is in the archive:\n%s", text)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	delete(vars, "DAYS")
	vars["HOME"] = "/elsewhere"
	again, err := Archive(text, file, opts)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if got := names(again.Tasks); got != "main outside first second" || dump(again) != dump(s) ||
		again.Digest != s.Digest {
		t.Errorf("it has %s:\n%s\nwant\n%s", got, dump(again), dump(s))
	}
	for i, place := range []string{"schedule.yaml" + ":3:9", filepath.Join(outside, "out.yaml") + ":1:3",
		`d/1 "x".yaml` + ":3:3", "d/2.yaml" + ":2:9"} {
		if again.Tasks[i].Place.String() != place {
			t.Errorf("%s is at %s, want %s", again.Tasks[i].Name, again.Tasks[i].Place, place)
		}
	}
	if again.Tasks[1].Dir != filepath.Join(dir, "sub") {
		t.Errorf("a folder of an include is %s", again.Tasks[1].Dir)
	}
}

// A schedule that names no other files is kept as YAML that people can read, and copy back.
func TestTheArchiveOfOneFileIsThatFile(t *testing.T) {
	s := parseTest(t, mainTask)
	text, err := s.Archive()
	if want := "# file \"schedule.yaml\", 47 bytes\n" + mainTask + "\n"; err != nil || string(text) != want {
		t.Errorf("it is\n%s%v\nwant\n%s", text, err, want)
	}
	if _, err := Text(text, s.File, testOptions()); err != nil {
		t.Error(err)
	}
	if _, err := new(schedule.Schedule).Archive(); err == nil || err.Error() != "the schedule was not made from text" {
		t.Errorf("without a text: %v", err)
	}
}

func TestDamagedArchives(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"a text that is cut off", "# file \"schedule.yaml\", 49 bytes\ntasks: []\n",
			"the archive of /srv/schedule.yaml is damaged: schedule.yaml: its text is not 49 bytes long"},
		{"more bytes than there can be", "# file \"schedule.yaml\", 99999999999999999999 bytes\ntasks: []\n",
			"the archive of /srv/schedule.yaml is damaged: file 1 has no header"},
		{"fewer bytes than none", "# file \"schedule.yaml\", -1 bytes\ntasks: []\n",
			"the archive of /srv/schedule.yaml is damaged: schedule.yaml: its text is not -1 bytes long"},
		{"something after the last text", "# file \"schedule.yaml\", 10 bytes\ntasks: []\n\nx",
			"the archive of /srv/schedule.yaml is damaged: file 2 has no header"},
		{"a file of holidays that is missing", "# file \"schedule.yaml\", 27 bytes\nholidays: [days]\ntasks: []\n\n",
			"schedule.yaml:1:12: holidays: the archive lacks a file"},
		{"nothing", "", "the archive of /srv/schedule.yaml is damaged: file 1 has no header"},
		{"a schedule", "tasks: []\n", "the archive of /srv/schedule.yaml is damaged: file 1 has no header"},
	} {
		_, err := Archive([]byte(row.text), "/srv/schedule.yaml", testOptions())
		if err == nil || err.Error() != row.want {
			t.Errorf("%s: said\n%v\nwant\n%s", row.name, err, row.want)
		}
	}
}
