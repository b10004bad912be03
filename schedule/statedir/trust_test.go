package statedir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sched/schedule/statedir"
)

// attacker is any user but root.
const attacker = 12345

func TestRootBelievesWhatOnlyRootCanReplace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give folders away")
	}
	for name, c := range map[string]struct {
		build func(dir string) (path string)
		wrong string // the folder that is named; empty if all is well
	}{
		"folders of root":       {func(dir string) string { return dir + "/schedule.yaml" }, ""},
		"what is not there yet": {func(dir string) string { return dir + "/none/state" }, ""},
		"the path itself belongs to another user": {func(dir string) string {
			mkdir(t, dir+"/state", 0o755, attacker)
			return dir + "/state"
		}, ""},
		"a folder of another user": {func(dir string) string {
			mkdir(t, dir+"/app", 0o755, attacker)
			return dir + "/app/schedule.yaml"
		}, "app"},
		"a folder of root in one of another user": {func(dir string) string {
			mkdir(t, dir+"/app", 0o755, attacker)
			mkdir(t, dir+"/app/sched", 0o755, 0)
			return dir + "/app/sched/schedule.yaml"
		}, "app"},
		"a folder that all can write": {func(dir string) string {
			mkdir(t, dir+"/app", 0o777, 0)
			return dir + "/app/schedule.yaml"
		}, "app"},
		"a folder that its group can write": {func(dir string) string {
			mkdir(t, dir+"/app", 0o775, 0)
			return dir + "/app/schedule.yaml"
		}, "app"},
		"a sticky folder that all can write": {func(dir string) string {
			mkdir(t, dir+"/app", 0o777|os.ModeSticky, 0)
			return dir + "/app/schedule.yaml"
		}, ""},
		"a link of another user in a sticky folder": {func(dir string) string {
			mkdir(t, dir+"/app", 0o777|os.ModeSticky, 0)
			link(t, "/etc", dir+"/app/link", attacker)
			return dir + "/app/link/passwd"
		}, "app/link"},
		"a link of root into a folder of another user": {func(dir string) string {
			mkdir(t, dir+"/app", 0o755, attacker)
			link(t, "app/schedule.yaml", dir+"/schedule.yaml", 0)
			os.WriteFile(dir+"/app/schedule.yaml", nil, 0o644)
			return dir + "/schedule.yaml"
		}, "app"},
		"a link in a folder of another user to a file of root": {func(dir string) string {
			mkdir(t, dir+"/app", 0o755, attacker)
			link(t, "/etc/passwd", dir+"/app/schedule.yaml", attacker)
			return dir + "/app/schedule.yaml"
		}, "app"},
		"a way out of a link with ..": {func(dir string) string {
			mkdir(t, dir+"/app", 0o755, attacker)
			mkdir(t, dir+"/app/deep", 0o755, 0)
			link(t, "app/deep", dir+"/link", 0)
			return dir + "/link/../schedule.yaml"
		}, "app"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			err = statedir.CheckAbove(c.build(dir))
			var folder *statedir.FolderError
			switch {
			case c.wrong == "":
				if err != nil {
					t.Errorf("refused: %v", err)
				}
			case !errors.As(err, &folder) || folder.Folder != filepath.Join(dir, c.wrong):
				t.Errorf("%v, and %s is wrong", err, c.wrong)
			case !strings.Contains(folder.Hint("schedule"), "/etc/sched"):
				t.Errorf("the hint is %q", folder.Hint("schedule"))
			}
		})
	}
}

func TestLinksThatLeadNowhereEnd(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root believes its own links")
	}
	dir := t.TempDir()
	link(t, "b", dir+"/a", 0)
	link(t, "a", dir+"/b", 0)
	if err := statedir.CheckAbove(dir + "/a"); err == nil {
		t.Error("no error")
	}
}

func mkdir(t *testing.T, path string, mode os.FileMode, owner int) {
	t.Helper()
	if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode), os.Chown(path, owner, owner)); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string, owner int) {
	t.Helper()
	if err := errors.Join(os.Symlink(to, path), os.Lchown(path, owner, owner)); err != nil {
		t.Fatal(err)
	}
}
