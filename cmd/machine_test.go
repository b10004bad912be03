package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/testing/schedtest"
)

// The CPU counts, and not the clock: other tests run beside this one. The budget is one of
// docs/performance.md.
func TestAMachineWithAThousandJobsIsListedAtOnce(t *testing.T) {
	t.Parallel()
	const jobs, budget = 1000, 500 * time.Millisecond
	root := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	passwd := "root:x:0:0::/root:/bin/sh\n"
	for i := range 50 { // 100 files of ten lines: of packages, and of users
		times := func(line int) string {
			return []string{"*/5 * * * *", "17 * * * *", "30 4 * * 1-5", "0 3 1 * *", "15 14 29 2 *", "@daily",
				"0 9-17/2 * * mon-fri", "5 4 * * sun", "0 0 1 1 *", "59 23 31 12 *"}[line]
		}
		var ofPackage, ofUser strings.Builder
		for line := range 10 {
			fmt.Fprintf(&ofPackage, "%s root /usr/lib/package%d/job%d --quiet >> /var/log/p.log 2>&1\n", times(line), i, line)
			fmt.Fprintf(&ofUser, "%s cd /srv/app%d && ./job%d.sh\n", times(line), i, line)
		}
		write(fmt.Sprintf("etc/cron.d/package%d", i), ofPackage.String(), 0o644)
		write(fmt.Sprintf("var/spool/cron/crontabs/user%d", i), ofUser.String(), 0o600)
		passwd += fmt.Sprintf("user%d:x:%d:%d::/home/user%d:/bin/sh\n", i, 2000+i, 2000+i, i)
	}
	write("etc/passwd", passwd, 0o644)
	write("usr/sbin/cron", "", 0o755)
	least := time.Hour
	for range 5 {
		command := exec.Command(schedtest.Binary, "machine", "--root", root)
		out, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Count(string(out), "\n/etc/cron.d/") + strings.Count(string(out), "\n/var/spool/"); found != jobs {
			t.Fatalf("%d jobs are listed", found)
		}
		least = min(least, command.ProcessState.UserTime()+command.ProcessState.SystemTime())
	}
	t.Logf("%s of CPU", least)
	if least > budget {
		t.Errorf("a machine with %d jobs takes %s of CPU", jobs, least)
	}
}
