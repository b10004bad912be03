//go:build linux && amd64

package takeover_test

import (
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sched/schedule/crontab"
	"sched/schedule/crontab/vixie"
)

// recorder is each shell of the hour. It writes down when it was called, as whom, and what it was
// to run, in one write(2). It runs ticks.
const recorder = `#!DIR/dash
case $2 in *" -c /etc/sched/"*) exec DIR/dash "$@" ;; esac
while read -r name uid all; do [ "$name" != Uid: ] || break; done </proc/$$/status
at=$(date +%s.%N)
printf '%s\t%s\t%s\000' "$at" "$uid" "$2" >>DIR/records
`

// nasty are lines of three users that look as if one of the two could read them otherwise.
var nasty = map[string]string{
	"ann": "MAILTO=\"\"\n  */7 6 * * *\t echo  two  blanks \n*/2 */3 1-7 * 0 echo a day of the week, or one of the month\n" +
		"0-59/13 6,7,6 * nov sun echo names\n@hourly echo nickname\n",
	"bob": "# 1 6 * * * echo off\nA=\"b c\"\n3,5-9,5 6 * * 7 echo \"$A\" 'and # this'\n* * 31 2 * echo never\n" +
		"*/90 * * * * echo once an hour\n",
	"cyn": "1 6 * * * date +\\%F\n*/20 6 1 1-12/11 * echo January and December\n5-59/20 * * * 0-7 exec echo an exec\n" +
		"@reboot echo boot\n30 6 1,15 * 1 echo either\n*/11 * * * * echo é ; echo ¿\n",
}

// idOf returns the id of a user of this machine, or the one that a new user gets.
func idOf(name string, id int) int {
	if u, err := user.Lookup(name); err == nil {
		id, _ = strconv.Atoi(u.Uid)
	}
	return id
}

// due returns what cron starts in each minute from a time on: the user and the command.
func due(t *testing.T, users map[string]int, from time.Time, minutes int) map[int][]string {
	t.Helper()
	all := map[int][]string{}
	calendar := vixie.NewCalendar(time.UTC, from, from.Add(time.Duration(minutes)*time.Minute))
	add := func(source crontab.Source, owner string) {
		for _, e := range crontab.Parse(source).Entries {
			times, err := vixie.Parse(e.When)
			if e.Off || err != nil {
				continue // @reboot alone
			}
			user := owner + e.User
			if _, known := users[user]; !known {
				users[user] = idOf(user, 2000+len(users))
			}
			for _, at := range times.Due(calendar, from.Unix()/60, from.Unix()/60+int64(minutes), nil) {
				minute := int(at - from.Unix()/60)
				all[minute] = append(all[minute], user+": "+strings.TrimSpace(e.Command))
			}
		}
	}
	paths, _ := filepath.Glob("../../cmd/testdata/crontabs/cron.d/*")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		add(crontab.Source{Name: path, Text: string(text), System: true}, "")
	}
	for user, text := range nasty {
		add(crontab.Source{Name: user, Text: text}, user)
	}
	for _, starts := range all {
		slices.Sort(starts)
	}
	return all
}

// Debian's packages ship these crontabs, and three users have nasty lines. In an hour of a fast
// clock each line starts when Debian's cron would start it, before, during and after a takeover.
// The folders of run-parts are empty, so its lines stay lines.
func TestAnHourOfTheCrontabsOfDebianPackages(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)
	users := map[string]int{"root": 0}
	want := due(t, users, from, 80)
	passwd, group, shadow := "", "", ""
	for _, name := range slices.Sorted(maps.Keys(users)) {
		if users[name] < 2000 {
			continue // it is there
		}
		shadow += name + ":*:20000:0:99999:7:::\\n"
		passwd += fmt.Sprintf("%s:x:%d:%[2]d::/:/bin/sh\\n", name, users[name])
		group += fmt.Sprintf("%s:x:%d:\\n", name, users[name])
	}
	here, err := filepath.Abs("../../cmd/testdata/crontabs/cron.d")
	if err != nil {
		t.Fatal(err)
	}
	var setup strings.Builder
	fmt.Fprintf(&setup, "printf '%s' >>/etc/passwd\nprintf '%s' >>/etc/group\nprintf '%s' >>/etc/shadow\n"+
		"cp %s/* /etc/cron.d/\nrm -f /etc/crontab /etc/cron.*ly/*\n", passwd, group, shadow, here)
	for user, text := range nasty {
		fmt.Fprintf(&setup, "crontab -u %s - <<'END'\n%sEND\n", user, text)
	}
	// The last thing, for this shell is one of them.
	fmt.Fprintf(&setup, "cp /bin/sh dash\nsed \"s,DIR,$1,g\" >recorder <<'END'\n%sEND\nchmod 755 recorder dash\n"+
		"mount --bind recorder /bin/bash\nmount --bind recorder /bin/sh\n", recorder)
	r := newRig(t, setup.String(), from.Add(-90*time.Second), 20)
	before := r.files()
	r.pass(2)
	if out := r.sched("takeover", "--yes"); !strings.Contains(out, "that cron ran") {
		t.Fatal(out)
	}
	r.pass(60)
	if out := r.sched("takeover", "--undo", "--yes"); !strings.Contains(out, "again") {
		t.Fatal(out)
	}
	r.pass(3)
	last := r.minute(time.Now()) - 3 // the clock begins in the minute 5:58
	r.sameFiles(before)
	got, starts := map[int][]string{}, 0
	names := map[string]string{}
	for name, id := range users {
		names[strconv.Itoa(id)] = name
	}
	for record := range strings.SplitSeq(strings.TrimSuffix(string(must(os.ReadFile(filepath.Join(r.dir, "records")))), "\x00"), "\x00") {
		words := strings.SplitN(record, "\t", 3)
		seconds, err := strconv.ParseFloat(words[0], 64)
		if err != nil || len(words) != 3 {
			t.Fatalf("a record %q", record)
		}
		minute := r.minute(time.UnixMicro(int64(seconds*1e6))) - 2
		got[minute] = append(got[minute], names[words[1]]+": "+strings.TrimSpace(words[2]))
	}
	for minute := range last {
		slices.Sort(got[minute])
		starts += len(got[minute])
		if !slices.Equal(got[minute], want[minute]) {
			t.Errorf("at 06:%02d started\n  %s\nby cron\n  %s", minute,
				strings.Join(got[minute], "\n  "), strings.Join(want[minute], "\n  "))
		}
	}
	t.Logf("%d starts in %d minutes", starts, last)
}
