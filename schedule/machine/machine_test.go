package machine_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"sched/schedule/machine"
)

var update = flag.Bool("update", false, "write what is listed into the files of testdata")

// A tree is a machine in a folder. The lines above its files say what files alone cannot:
//
//	mode 0600 PATH
//	owner UID PATH
//	link PATH TARGET
//	hard PATH OTHER
//	pipe PATH
//	nonl PATH  its last line has no line break
func newTree(t *testing.T, name string) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range archive.Files {
		file := filepath.Join(root, f.Name)
		must(os.MkdirAll(filepath.Dir(file), 0o755))
		must(os.WriteFile(file, f.Data, 0o644))
	}
	for line := range strings.Lines(string(archive.Comment)) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] == "#" {
			continue
		}
		at := func(i int) string {
			file := filepath.Join(root, words[i])
			must(os.MkdirAll(filepath.Dir(file), 0o755))
			return file
		}
		switch words[0] {
		case "mode":
			mode, err := strconv.ParseUint(words[1], 8, 32)
			must(err)
			must(os.Chmod(at(2), os.FileMode(mode)))
		case "owner":
			uid, err := strconv.Atoi(words[1])
			must(err)
			must(os.Lchown(at(2), uid, -1))
		case "link":
			must(os.Symlink(words[2], at(1)))
		case "hard":
			must(os.Link(at(1), at(2)))
		case "nonl":
			info, err := os.Stat(at(1))
			must(err)
			must(os.Truncate(at(1), info.Size()-1))
		case "pipe":
			must(syscall.Mkfifo(at(1), 0o644))
		}
	}
	return root
}

func newHost(t *testing.T, root string) machine.Host {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return machine.Host{Root: root, Root0: os.Getuid(), UID: os.Getuid(), Zone: berlin,
		Now: time.Date(2026, 11, 29, 12, 40, 0, 0, berlin)}
}

func look(t *testing.T, h machine.Host) *machine.List {
	t.Helper()
	list, err := machine.Look(context.Background(), h)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// listed writes a list in lines.
func listed(l *machine.List, zone *time.Location) string {
	var text bytes.Buffer
	for _, j := range l.Jobs {
		next, last := "-", "-"
		if j.Next != nil {
			next = j.Next.In(zone).Format("01-02 15:04")
		}
		if j.Off != "" {
			next = j.Off
		}
		if j.Last != nil {
			last = j.Last.In(zone).Format("01-02 15:04 ") + j.LastBy
		}
		fmt.Fprintf(&text, "%s | %s | %s | %s | %s | %s\n", j.Place, j.User, j.When, next, last, j.Command)
	}
	for _, odd := range l.Odd {
		fmt.Fprintf(&text, "odd: %s | %s | %s | %s\n", odd.Place, odd.User, odd.Text, odd.Hint)
	}
	if uid := os.Getuid(); uid != 0 { // the owner of all files of the tree
		text = *bytes.NewBuffer(bytes.ReplaceAll(text.Bytes(), fmt.Appendf(nil, "| %d |", uid), []byte("| root |")))
	}
	return text.String() + fmt.Sprintf("left out: %q\n", l.LeftOut)
}

// compare compares what is listed with a file of testdata.
func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wanted := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(wanted) || line != wanted[i] {
			t.Fatalf("line %d is\n%s\nand all is\n%s", i+1, line, got)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("lines are missing at the end:\n%s", got)
	}
}

func TestEachNastyFileIsListedWithTheReason(t *testing.T) {
	t.Parallel()
	h := newHost(t, newTree(t, "nasty.txtar"))
	compare(t, "nasty.txt", listed(look(t, h), h.Zone))
	ignored, err := machine.IgnoredFiles(context.Background(), h)
	if err != nil || len(ignored) != 7 || ignored["/etc/cron.d/shared"] != "others than its owner may write it" {
		t.Error(ignored, err)
	}
}

func TestWhatCroniePassesOverIsListedWithTheReason(t *testing.T) {
	t.Parallel()
	h := newHost(t, newTree(t, "cronie.txtar"))
	compare(t, "cronie.txt", listed(look(t, h), h.Zone))
}

func TestAnacronRunsItsJobsAfterItsNextStart(t *testing.T) {
	t.Parallel()
	h := newHost(t, newTree(t, "anacron.txtar"))
	compare(t, "anacron.txt", listed(look(t, h), h.Zone))
}

// Systemd and the journal know of last starts, and systemd of the next one.
func TestSystemdAndTheJournalAreAsked(t *testing.T) {
	t.Parallel()
	h := newHost(t, newTree(t, "nasty.txtar"))
	h.RunningCron = func() (string, bool) { return "", true }
	asked := 0
	h.Ask = func(_ context.Context, program string, arguments ...string) ([]byte, error) {
		switch program {
		case "getent":
			asked++
			if arguments[1] == "retired" { // a directory knows this one
				return []byte("retired:*:5001:5001::/home/retired:/bin/sh\n"), nil
			}
			return nil, exec.Command("sh", "-c", "exit 2").Run()
		case "systemctl":
			return []byte("NextElapseUSecRealtime=Mon 2026-11-30 02:17:05 UTC\nLastTriggerUSec=Mon 2026-11-23 02:05:00 UTC\n" +
				"Id=logrotate.timer\nActiveState=active\n\nLastTriggerUSec=n/a\nId=nobody.timer\nActiveState=inactive\n\n" +
				"NextElapseUSecRealtime=\nLastTriggerUSec=\nId=afterboot.timer\nActiveState=active\n"), nil
		case "journalctl":
			return []byte("1795952101.5 shop CRON[7]: (maria) CMD (cd /srv && ./invoices.sh)\n" +
				"1795948501.1 shop CRON[6]: (root) CMD (   cd / && run-parts --report /etc/cron.hourly)\n" +
				"1795944901.1 shop CRON[5]: (root) CMD (   cd / && run-parts --report /etc/cron.hourly)\n" +
				"1795944902.1 shop CRON[4]: (root) CMD (/bin/true && date +%F)\n"), nil
		}
		return nil, fmt.Errorf("%s is not there", program)
	}
	list := look(t, h)
	text := listed(list, h.Zone)
	for _, want := range []string{
		"logrotate.timer | root | Mon *-*-* 03:00, up to 1h later | 11-30 03:17 | 11-23 03:05 systemd |",
		"nobody.timer | retired | hourly | not started |",
		"afterboot.timer | root | 15min after the boot | 11-29 12:45 | - |",
		"wrong.timer | root | *:*/5; *-*-* 25:00; 1h after its last start | not started |",
		"maria | 30 4 * * 1-5 | 11-30 04:30 | 11-29 12:35 journal | cd /srv",
		"/etc/crontab:2 | root | 17 * * * * | 11-29 13:17 | 11-29 11:35 journal | cd / &&",
		"root | 0 4 * * * | 11-30 04:00 | 11-29 10:35 journal | /bin/true && date +%F",
		"/var/spool/cron/crontabs/ghost:1 | ghost | 0 1 * * * | cron ignores the file |",
		"/etc/cron.d/nouser:1 | retired | 0 1 * * * | 11-30 01:00 |",
		"odd:  |  | no cron runs on this machine: 17 jobs will not start | systemctl start cron, or crond",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if asked != 2 {
		t.Errorf("getent was asked %d times", asked)
	}
}

// Root reads folders in which others may write: the spool, and homes.
func TestNothingThatAnotherUserMadeIsFollowed(t *testing.T) {
	t.Parallel()
	root := newTree(t, "foreign.txtar")
	for _, folder := range []string{"var/spool/cron/crontabs", "var/spool/cron/atjobs", "var/spool/anacron"} {
		if err := os.Chmod(filepath.Join(root, folder), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	huge, err := os.Create(filepath.Join(root, "var/spool/cron/crontabs/maria"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(huge.Truncate(1<<40), huge.Close()); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, root)
	text := listed(look(t, h), h.Zone)
	if strings.Contains(text, "secret") {
		t.Error("a link was followed")
	}
	compare(t, "foreign.txt", text)
}

func TestAnotherUserSeesWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	h := newHost(t, newTree(t, "nasty.txtar"))
	h.Root0, h.UID = os.Getuid()+1, 1001
	h.OwnCrontab = func() (string, bool, error) { return "0 5 * * * /bin/true own\n", true, nil }
	if err := os.RemoveAll(filepath.Join(h.Root, "var/spool/cron")); err != nil {
		t.Fatal(err)
	}
	list := look(t, h)
	list.Of("jan")
	text := listed(list, h.Zone)
	if !strings.HasPrefix(text, "crontab:1 | jan | 0 5 * * * | 11-30 05:00 | - | /bin/true own\nshared.timer | each user") ||
		!strings.Contains(text, `left out: ["the timers of other users"]`) {
		t.Error(text)
	}
}

// A person went through the files of the packages, and wrote down each job that stands there, who
// runs it, and whether it starts on this machine. The list does not say in which order.
func TestEachJobThatAPersonFindsIsListed(t *testing.T) {
	t.Parallel()
	byHand, err := os.ReadFile("testdata/debian-by-hand.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for line := range strings.Lines(string(byHand)) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && line[0] != '#' {
			want[line]++
		}
	}
	h := newHost(t, newTree(t, "debian.txtar"))
	list := look(t, h)
	for _, j := range list.Jobs {
		verdict := "starts"
		if j.Off != "" {
			verdict = "never"
		}
		want[strings.Join(strings.Fields(fmt.Sprint(j.Place, " ", j.User, " ", verdict)), " ")]--
	}
	for _, odd := range list.Odd {
		want[odd.Place+" refused"] = min(0, want[odd.Place+" refused"])
	}
	for line, missing := range want {
		if missing > 0 {
			t.Errorf("%s is not listed", line)
		} else if missing < 0 {
			t.Errorf("%s is listed, and nobody found it by hand", line)
		}
	}
	compare(t, "debian.txt", listed(list, h.Zone))
}
