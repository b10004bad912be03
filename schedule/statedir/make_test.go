package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A folder that sched makes is hidden from git. A folder of people is not: it may be their project.
func TestOnlyAFolderThatSchedMakesIsHiddenFromGit(t *testing.T) {
	dir := t.TempDir()
	made, above := filepath.Join(dir, "made"), filepath.Join(dir, "a", "b")
	for _, path := range []string{made, above, dir, made} {
		if err := Make(path); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{made: "*\n", above: "*\n", filepath.Dir(above): "", dir: ""} {
		text, err := os.ReadFile(filepath.Join(path, ".gitignore"))
		if string(text) != want || (want == "") != errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	info, err := os.Stat(made)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAFolderThatCannotBeMadeIsAnError(t *testing.T) {
	dir := t.TempDir()
	link, file := filepath.Join(dir, "link"), filepath.Join(dir, "file")
	if err := errors.Join(os.Symlink(filepath.Join(dir, "nowhere"), link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, filepath.Join(file, "below")} {
		if err := Make(path); err == nil || !Unwritable(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if os.Geteuid() == 0 {
		return // root writes into every folder
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700) // so that it can be removed
	if err := Make(filepath.Join(dir, "made")); !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v", err)
	}
}

// A tick writes its environment, and a test of a task its output, before the database is made: the
// folder is there by then, and is hidden all the same. A folder with anything else is of people.
func TestAFolderThatSchedMadeInPassingIsHiddenFromGit(t *testing.T) {
	for _, test := range []struct {
		folder string
		files  []string
		want   string
	}{
		{"tick", []string{"tick-environment"}, "*\n"},
		{"test", []string{"tick-environment", "output/a/1.log"}, "*\n"},
		{".sched", []string{"sched.db", "notes.txt"}, "*\n"},
		{"empty", nil, ""},
		{"mine", []string{"sched.db", "output/a/1.log"}, ""},
		{"app", []string{"schedule.yaml", "output/a/1.log"}, ""},
	} {
		dir := filepath.Join(t.TempDir(), test.folder)
		if err := MakeDir(dir); err != nil {
			t.Fatal(err)
		}
		for _, file := range test.files {
			if err := WriteSynced(filepath.Join(dir, file), nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := Make(dir); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(filepath.Join(dir, ".gitignore"))
		if string(text) != test.want {
			t.Errorf("%s: %q", test.folder, text)
		}
	}
}
