package crontab_test

import (
	"strings"
	"testing"
	"time"

	. "sched/schedule/crontab"
)

// Each row is a command, and what --tidy makes of it; a dash if it makes nothing.
func TestTidy(t *testing.T) {
	for _, row := range []struct{ command, keys string }{
		{"./a", "-"},
		{"cd /srv/app && ./a", "dir: /srv/app; ./a"},
		{"cd '/srv/my app' && ./a | b && c", "dir: /srv/my app; ./a | b && c"},
		{"cd ~/app && ./a", "dir: ${HOME}/app; ./a"},
		{"cd $HOME && ./a", "dir: ${HOME}; ./a"},
		{"cd app && ./a", "dir: ${HOME}/app; ./a"},
		{"cd $APP && ./a", "-"},
		{"cd /srv; ./a", "-"},
		{"cd /srv && a || b", "-"},
		{"cd /srv && a & b", "-"},
		{"flock -n /tmp/x.lock ./a -n", "without_overlapping: true; ./a -n"},
		{"/usr/bin/flock -xn /tmp/x ./a", "without_overlapping: true; ./a"},
		{"flock --nonblock /tmp/x -c 'a && b'", "without_overlapping: true; a && b"},
		{`flock -n /tmp/x -c "echo $HOME"`, "-"},
		{"flock /tmp/x ./a", "without_overlapping: wait; ./a"},
		{"flock -x /tmp/x -c 'a; b'", "without_overlapping: wait; a; b"},
		{"flock -w 10 /tmp/x ./a -w 5", "without_overlapping: wait; wait_at_most: 10s; ./a -w 5"},
		{"flock -w600 /tmp/x ./a", "without_overlapping: wait; wait_at_most: 10m; ./a"},
		{"flock -xw 7200 /tmp/x ./a", "without_overlapping: wait; wait_at_most: 2h; ./a"},
		{"flock --exclusive --timeout 90 /tmp/x ./a", "without_overlapping: wait; wait_at_most: 90s; ./a"},
		{"flock --wait=9999999 /tmp/x ./a", "without_overlapping: wait; wait_at_most: 9999999s; ./a"},
		{"flock -w 60 /tmp/x timeout 5m ./a", "without_overlapping: wait; wait_at_most: 1m; timeout: 5m; ./a"},
		{"timeout 5m flock -n /tmp/x ./a", "without_overlapping: true; timeout: 5m; ./a"},
		{"timeout 5m flock /tmp/x ./a", "timeout: 5m; flock /tmp/x ./a"}, // the timeout ends the wait, too
		{"flock -s /tmp/x ./a", "-"},                                     // beside others of its kind
		{"flock -sn /tmp/x ./a", "-"},
		{"flock -o /tmp/x ./a", "-"},
		{"flock -w 0 /tmp/x ./a", "-"},
		{"flock -w 1.5 /tmp/x ./a", "-"},
		{"flock -w 99999999 /tmp/x ./a", "-"},
		{"flock -w $WAIT /tmp/x ./a", "-"},
		{"flock -n -w 10 /tmp/x ./a", "-"},
		{"flock -w", "-"},
		{"flock -w 5 9", "-"},
		{"flock /tmp/x", "-"},
		{"flock -n -E 0 /tmp/x ./a", "-"},
		{"flock -n 9 ./a 9>/tmp/x", "-"},
		{"timeout 90 ./a", "timeout: 90s; ./a"},
		{"timeout -k 5 1h ./a", "timeout: 1h; kill_after: 5s; ./a"},
		{"timeout -s KILL 5 ./a", "-"},
		{"timeout 1.5 ./a", "-"},
		{"timeout 0 ./a", "-"},
		{"chronic ./a", "./a"},
		{"chronic -e ./a", "-"},
		{"./a >> /var/log/a.log 2>&1", "output: {file: /var/log/a.log, append: true}; ./a"},
		{"./a > a.log 2>&1", `output: {file: "${HOME}/a.log", append: false}; ./a`},
		{"./a 1>>/a 2>&1", "output: {file: /a, append: true}; ./a"},
		{"./a >/dev/null 2>&1", "./a"},
		{"./a 2>/dev/null", "-"},
		{"./a 2>&1", "-"},
		{"./a >> /a", "-"},
		{"./a &> /dev/null", "-"}, // to dash that is "./a &" and "> /dev/null"
		{"./a > /a < /b 2>&1", "-"},
		{"./a && ./b >> /a 2>&1", "-"},
		{"(./a) >> /a 2>&1", "-"},
		{"./a >> /a-$(date +%F) 2>&1", "-"},
		{"./a >> '/a b' 2>&1", "output: {file: /a b, append: true}; ./a"},
		{"cd /srv && flock -n l timeout 5m chronic ./a 'x y' >> log 2>&1",
			"dir: /srv; without_overlapping: true; timeout: 5m; output: {file: /srv/log, append: true}; ./a 'x y'"},
		{"flock -n /tmp/x -c 'timeout 5 a; b'", "without_overlapping: true; timeout 5 a; b"},
		{"flock -n /tmp/x -c 'timeout 5 a'", "without_overlapping: true; timeout: 5s; a"},
	} {
		s := convert(t, "5 4 * * * "+strings.ReplaceAll(row.command, "%", `\%`)+"\n", Options{Tidy: true})
		task, got := s.Tasks[0], "-"
		if task.Tidied {
			var lines []string
			for _, line := range task.Diff() {
				if added, is := strings.CutPrefix(line, "+ "); is {
					lines = append(lines, strings.TrimPrefix(added, "command: "))
				}
			}
			got = strings.Join(lines, "; ")
		} else if task.Command != row.command {
			t.Errorf("%q is not tidied, and became %q", row.command, task.Command)
		}
		if got != row.keys {
			t.Errorf("%q: %s, want %s", row.command, got, row.keys)
		}
		loadYAML(t, s, time.UTC)
	}
}

// Lines with one lock file keep it from each other, so their tasks have one mutex.
func TestOneLockFileIsOneMutex(t *testing.T) {
	s := convert(t, "1 1 * * * flock -n /run/db.lock a\n2 2 * * * flock -n /run/db.lock b\n3 3 * * * flock -n /run/c.lock c\n", Options{Tidy: true})
	loaded := loadYAML(t, s, time.UTC)
	if a, b, c := loaded.Tasks[0], loaded.Tasks[1], loaded.Tasks[2]; a.Mutex != "db" || b.Mutex != "db" ||
		c.Mutex != "c" || !a.WithoutOverlapping || !c.WithoutOverlapping {
		t.Errorf("%q %q %q", a.Mutex, b.Mutex, c.Mutex)
	}
}

// Of two lines with the same lock file, the first does not wait and the second waits. They share a
// mutex, and each keeps its way.
func TestSomeWaitForALockFileAndOthersDoNot(t *testing.T) {
	s := convert(t, "1 1 * * * flock -n /run/db.lock a\n2 2 * * * flock -w 600 /run/db.lock b\n3 3 * * * flock /run/c.lock c\n", Options{Tidy: true})
	loaded := loadYAML(t, s, time.UTC)
	if a, b, c := loaded.Tasks[0], loaded.Tasks[1], loaded.Tasks[2]; a.Mutex != "db" ||
		b.Mutex != "db" || a.MaxWait != 0 ||
		b.MaxWait != 10*time.Minute || c.MaxWait != time.Hour || c.Mutex != "c" ||
		!a.WithoutOverlapping || !b.WithoutOverlapping {
		t.Errorf("%q %s, %q %s, %q %s", a.Mutex, a.MaxWait, b.Mutex, b.MaxWait, c.Mutex, c.MaxWait)
	}
}

// tidy keeps the effect of chronic and of a redirection on mails.
func TestMailsOfTidiedTasks(t *testing.T) {
	s := convert(t, "MAILTO=me@example.com\n1 1 * * * a\n2 2 * * * chronic b\n3 3 * * * c >/dev/null 2>&1\n",
		Options{Tidy: true})
	loaded := loadYAML(t, s, time.UTC)
	for i, want := range [][2]int{{1, 0}, {0, 1}, {0, 0}} {
		if hooks := loaded.Tasks[i].Hooks; len(hooks.After) != want[0] || len(hooks.OnFailure) != want[1] {
			t.Errorf("%s: %+v", loaded.Tasks[i].Name, hooks)
		}
	}
}
