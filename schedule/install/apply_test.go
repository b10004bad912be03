package install

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/schedule/usercrontab"
)

// fake puts a crontab(1) on the PATH that keeps its file in a folder, and returns the path of that
// file. Its script may do more before it writes ($1 is then "-").
func fake(t *testing.T, more string) string {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\ntab=" + dir + "/tab\n" + more + `
case "$1" in
-l) [ -e "$tab" ] || { echo "no crontab for me" >&2; exit 1; }; cat "$tab";;
-r) rm "$tab";;
-) cat >"$tab.new" && mv "$tab.new" "$tab";;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "crontab"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return filepath.Join(dir, "tab")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

var at = time.Date(2026, 11, 22, 9, 7, 0, 0, time.UTC)

func TestApply(t *testing.T) {
	tab, backups := fake(t, ""), t.TempDir()
	old := "1 1 * * * a\n"
	os.WriteFile(tab, []byte(old), 0o600)
	edit := shop.AddTo(old, nil)
	backup, err := Apply(usercrontab.Crontab{}, edit, true, backups, at)
	if err != nil || read(t, tab) != edit.New || read(t, backup) != old {
		t.Errorf("%v: %q, backup %q", err, read(t, tab), read(t, backup))
	}
	if info, err := os.Stat(backup); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup can be read by others: %v", info.Mode())
	}
}

// A user without a crontab has no crontab again afterwards.
func TestApplyWithoutACrontab(t *testing.T) {
	tab := fake(t, "")
	edit := shop.AddTo("", nil)
	if backup, err := Apply(usercrontab.Crontab{}, edit, false, t.TempDir(), at); err != nil || backup != "" ||
		read(t, tab) != edit.New {
		t.Errorf("%v, %s", err, backup)
	}
	if _, err := Apply(usercrontab.Crontab{}, shop.RemoveFrom(edit.New), true, t.TempDir(), at); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(tab); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a crontab: %v", err)
	}
}

// Each row is a failure and its error; the crontab is the old one afterwards.
func TestApplyThatFails(t *testing.T) {
	old := "1 1 * * * a\n"
	for _, row := range []struct{ what, script, text, want string }{
		{"crontab refuses it", `[ "$1" = - ] && { echo "bad minute" >&2; exit 1; }`, old, "crontab failed: bad minute"},
		{"it reads back differently", `[ "$1" = - ] && ! [ -e "$tab.once" ] && { touch "$tab.once"; echo other >"$tab"; exit; }`, old, "the old one is back"},
		{"somebody else was faster", `[ "$1" = -l ] && echo '3 3 * * * c' >>"$tab"`, old, ErrChanged.Error()},
		{"CR at the end of a line", "", "1 1 * * * a\\r\n", ErrCarriageReturn.Error()},
	} {
		tab := fake(t, row.script)
		os.WriteFile(tab, []byte(row.text), 0o600)
		_, err := Apply(usercrontab.Crontab{}, shop.AddTo(row.text, nil), true, t.TempDir(), at)
		if err == nil || !strings.Contains(err.Error(), row.want) || !strings.HasPrefix(read(t, tab), row.text) ||
			shop.IsIn(read(t, tab)) {
			t.Errorf("%s: %v, %q", row.what, err, read(t, tab))
		}
	}
}

// Without a copy nothing is written.
func TestApplyWithoutRoomForACopy(t *testing.T) {
	tab := fake(t, "")
	os.WriteFile(tab, []byte("1 1 * * * a\n"), 0o600)
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o600)
	if _, err := Apply(usercrontab.Crontab{}, shop.AddTo("1 1 * * * a\n", nil), true, file+"/backups", at); err == nil ||
		read(t, tab) != "1 1 * * * a\n" {
		t.Errorf("%v", err)
	}
}
