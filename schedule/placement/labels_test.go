package placement_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sched/schedule/placement"
)

func TestWhichMachinesAreMeant(t *testing.T) {
	machine := placement.Machine{Name: "web-2", Labels: []string{"role=db", "role=web", "zone=eu-1"}}
	for _, row := range []struct {
		patterns string
		want     bool
	}{
		// by its name
		{"web-2", true},
		{"web-20", false},
		{"web", false},
		{"WEB-2", false},
		{"web-*", true},
		{"*", true},
		{"web-?", true},
		{"web-??", false},
		// by its labels
		{"role=db", true},
		{"role=web", true},
		{"role=*", true},
		{"zone=eu-*", true},
		{"zone=eu", false},
		{"gpu=*", false},
		// by one of several
		{"web-1 role=db", true},
		{"web-1 role=cache", false},
	} {
		patterns := strings.Fields(row.patterns)
		for _, pattern := range patterns {
			if problem, _ := placement.Check(pattern); problem != "" {
				t.Errorf("%s %s", pattern, problem)
			}
		}
		if machine.IsAny(patterns) != row.want {
			t.Errorf("%s: %v", row.patterns, !row.want)
		}
	}
	if (placement.Machine{}).IsAny([]string{"web-*", "role=db"}) {
		t.Error("a machine without a name and labels is meant")
	}
}

func TestLabelsAreReadAndWhatIsNoneIsTold(t *testing.T) {
	for _, row := range []struct{ text, want, wrong string }{
		{"role=db", "role=db", ""},
		{" role=db,zone=eu  role=web\n# none\nrole=db # again\r\n", "role=db role=web zone=eu", ""},
		{"", "", ""},
		{"db", "", `here: "db" is not a label: write NAME=VALUE`},
		{"role=db zone= =x role=a=b web*=x role=*", "role=db", `here: "zone=" is not a label`},
		{"role=\x00\x1b[31m", "", `here: "role=\x00\x1b[31m" is not a label`},
		{strings.Repeat("a=b ", 2000), "", "here is longer than 4096 bytes"},
		{strings.Repeat("x", 3000), "", "…\" is not a label"},
	} {
		got, wrong := placement.Parse(row.text, "here")
		if strings.Join(got, " ") != row.want || !strings.Contains(wrong, row.wrong) ||
			(wrong == "") != (row.wrong == "") || len(wrong) > 300 {
			t.Errorf("%.40q: %q, %q", row.text, got, wrong)
		}
	}
}

// A tick neither waits nor reads without end, whatever is in the place of the file.
func TestAFileOfLabelsThatIsNone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "labels")
	expect := func(what, want string) {
		t.Helper()
		got, wrong := placement.Read(path, 1)
		if len(got) > 0 || !strings.Contains(wrong, want) || (want == "") != (wrong == "") {
			t.Errorf("%s: %q, %q", what, got, wrong)
		}
		os.RemoveAll(path)
	}
	expect("nothing", "")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	expect("a pipe", "is a named pipe, not a file")
	os.Mkdir(path, 0o700)
	expect("a folder", "is a folder, not a file")
	os.Symlink("labels", path)
	expect("a link to itself", "too many levels of symbolic links")
	os.Symlink("/dev/zero", path)
	expect("a device without an end", "is a device, not a file")
	os.WriteFile(path, make([]byte, 64<<20), 0o600)
	expect("a file that is too large", "is longer than 4096 bytes")
}

// A file that others can write would let them decide what root runs.
func TestRootBelievesNoFileOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir, err := os.MkdirTemp("/root", "sched-labels")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "labels")
	os.WriteFile(path, []byte("role=db\n"), 0o644)
	if got, wrong := placement.Read(path, 0); !slices.Equal(got, []string{"role=db"}) || wrong != "" {
		t.Errorf("%q, %q", got, wrong)
	}
	for _, mode := range []os.FileMode{0o666, 0o664, 0o646} {
		os.Chmod(path, mode)
		if got, wrong := placement.Read(path, 0); got != nil || !strings.Contains(wrong, "others than root can write") {
			t.Errorf("mode %o: %q, %q", mode, got, wrong)
		}
	}
	os.Chmod(path, 0o644)
	os.Chown(path, 1000, 1000)
	if got, wrong := placement.Read(path, 0); got != nil ||
		!strings.Contains(wrong, "belongs to another user (uid 1000)") {
		t.Errorf("%q, %q", got, wrong)
	}
	if got, _ := placement.Read(path, 1000); len(got) != 1 {
		t.Error("its owner does not believe it")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("role=db,zone=eu # x\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, _ := placement.Parse(text, "here")
		for _, label := range all {
			if problem, _ := placement.Check(label); problem != "" || !placement.IsLabel(label) ||
				!placement.Match(label, label) {
				t.Errorf("%q is taken for a label", label)
			}
		}
	})
}
