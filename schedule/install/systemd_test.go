package install

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// If systemd is installed, systemd itself judges the units. The paths have every character with a
// meaning to systemd.
func TestSystemdTakesTheUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip(err)
	}
	for _, folder := range []string{"plain", `with blanks`, `100%done $HOME`, `it's "quoted"`, `back\slash`, `semi;colon`} {
		for _, work := range []bool{false, true} {
			for _, user := range []string{"", "daemon"} {
				t.Run(fmt.Sprintf("%s, work %t, user %q", folder, work, user), func(t *testing.T) {
					units := t.TempDir()
					file := filepath.Join(units, folder, "schedule.yaml")
					line := Line{Program: filepath.Join(units, folder, "sched"), File: file}
					s := Systemd{Place: Place{Line: line, Folder: units, User: user}, Work: work}
					if !s.Startable() {
						if verify(t, s) {
							t.Error("systemd starts it all the same")
						}
						s.Program = filepath.Join(units, "sched")
					}
					if !verify(t, s) {
						t.Fail()
					}
				})
			}
		}
	}
}

// verify writes the program and the units, and reports whether systemd-analyze finds nothing wrong
// with them. Problems in other units of the machine do not matter.
func verify(t *testing.T, s Systemd) bool {
	t.Helper()
	files := append(s.Install().Files, File{s.Program, "#!/bin/sh\n"})
	for _, f := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(f.Path), 0o755),
			os.WriteFile(f.Path, []byte(f.Text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	ok := true
	for _, f := range files[:len(files)-1] {
		out, err := exec.Command("systemd-analyze", "verify", "--man=no", f.Path).CombinedOutput()
		said := slices.DeleteFunc(strings.Split(string(out), "\n"), func(line string) bool {
			return !strings.Contains(line, "sched") || strings.Contains(line, "is marked executable")
		})
		if err != nil || len(said) > 0 {
			t.Logf("%v\n%s\n%s", err, out, f.Text)
			ok = false
		}
	}
	return ok
}

// The test above would see a mistake.
func TestSystemdRefusesAMistake(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "sched-x.service")
	if err := os.WriteFile(path, []byte("[Service]\nType=oneshot\nExecStart=/nowhere/sched\nKillMod=process\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "KillMod") {
		t.Errorf("%v %s", err, out)
	}
}
