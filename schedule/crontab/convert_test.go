package crontab_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	. "sched/schedule/crontab"
	"sched/schedule/crontab/proof"
	"sched/schedule/load"
)

// convert converts the lines of a user's crontab.
func convert(t *testing.T, text string, o Options) *Schedule {
	t.Helper()
	return Convert([]*Table{Parse(Source{Name: "crontab", Text: text})}, o)
}

// The YAML gives the shell the same command as cron would, byte for byte.
func TestCommandsAreKeptByteForByte(t *testing.T) {
	for _, row := range []struct{ what, line, command string }{
		{"a plain command", `/bin/job --all`, `/bin/job --all`},
		{"quotes of both kinds", `echo "it's" 'a "b"'`, `echo "it's" 'a "b"'`},
		{"a percent sign", `date +\%F\%T`, `date +%F%T`},
		{"backslashes", `printf 'a\tb\\n\\\\'`, `printf 'a\tb\n\\'`},
		{"a backslash at the end", `echo \`, `echo \`},
		{"variables of the shell", `echo ${HOME} $HOME $(id) $$`, `echo ${HOME} $HOME $(id) $$`},
		{"a comment", `/bin/job # daily`, `/bin/job # daily`},
		{"blanks around and inside", "a   b\tc  ", "a   b\tc  "},
		{"what YAML takes for its own", `- [a]: {b} & *c !d | > @e`, `- [a]: {b} & *c !d | > @e`},
		{"a colon", `echo a: b`, `echo a: b`},
		{"a word of YAML", `true`, `true`},
		{"a number", `0`, `0`},
		{"other languages", `echo "Grüße 日本 🚀"`, `echo "Grüße 日本 🚀"`},
		{"a bell", "echo \a", "echo \a"},
		{"a test before it", `[ -x /usr/bin/x ] && x || true`, `[ -x /usr/bin/x ] && x || true`},
		{"input", `mail you%Dear you,%%50\% off`, "{\nmail you\n} <<'INPUT'\nDear you,\n\n50% off\nINPUT"},
		{"input with our own mark", `cat%INPUT`, "{\ncat\n} <<'INPUT_'\nINPUT\nINPUT_"},
		{"a backslash before the input", `echo a\\%b`, "{\necho a\\\\\n} <<'INPUT'\nb\nINPUT"},
		{"no input after the percent sign", `cat%`, "{\ncat\n} <<'INPUT'\nINPUT"},
	} {
		s, proof := imported(t, "5 4 * * * "+row.line+"\n", start, time.UTC)
		if len(s.Tasks) != 1 || s.Tasks[0].Command != row.command {
			t.Errorf("%s: %+v", row.what, s.Tasks)
		}
		if proof.Tasks != 1 || len(proof.Differences) > 0 {
			t.Errorf("%s: %+v\n%s", row.what, proof, s.YAML(nil))
		}
	}
}

// Each row is a line, and what is said about it; a line that is not imported begins with "left: ".
func TestFindings(t *testing.T) {
	for _, row := range []struct{ line, said string }{
		{"@reboot /bin/a", "cron starts it when cron starts after a boot; the schedule starts it with the first tick after that, up to a minute later"},
		{"61 * * * * /bin/a", `left: "61 * * * *": minute 61 is not in 0-59`},
		{"* * * * /bin/a", "left: neither a setting nor five fields and a command"},
		{"hello", "left: neither a setting nor five fields and a command"},
		{"5 4 * * *  ", "left: the line has no command"},
		{"5 4 * * * \v\v", "left: the line has no command"},
		{"5 4 * * * %input", "left: the line has no command"},
		{"_ */3 * * * /bin/a", `left: "_ */3 * * *" has _, which is no value of a field`},
		{"0 0 31 2 * /bin/a", `left: cron never starts this line: no date matches "0 0 31 2 *"`},
		{"0 0 * * FRI-SUN /bin/a", `left: cron never starts this line: no date matches "0 0 * * FRI-SUN"`},
		{"0 5 * * * tar x-`date +%F`", "left: to cron the command ends at the first %, which is inside quotes: it never worked"},
		{"0 5 * * * tar x-$(date +%F)", "left: to cron the command ends at the first %, which is inside quotes: it never worked"},
		{"0 5 * * * date +%F", "to cron the command ends at the first %, and reads what follows as its input; kept so"},
		{"0 5 * * * caf\xe9", "left: the line is not in UTF-8, which a schedule must be"},
		{"#@daily a\x00b", "the line holds a null character, which no program can be given"},
		{"SHELL=/usr/bin/fish\n0 5 * * * cat%a",
			"left: the command reads what follows its %, and /usr/bin/fish has no here-document"},
		{"*/90 * * * * /bin/a", `"*/90 * * * *" is written as "0 * * * *", which is what it is to cron`},
		{"0 0 * * 1,6-0 /bin/a", `"0 0 * * 1,6-0" is written as "0 0 * * 1", which is what it is to cron`},
		{"5/20 * * * * /bin/a", `Debian's cron refuses "5/20 * * * *", and with it the whole file; the schedule takes it as it stands`},
		{"0~30 * * * * /bin/a", "cronie and OpenBSD's cron take a new random number for each ~ when they start, and Debian's reads only what stands before it; the schedule always takes the same, made from the name (H(0-30) * * * *)"},
		{"@every_minute /bin/a", "Debian's cron refuses @every_minute, and with it the whole file; FreeBSD's takes it, and so does the schedule"},
		{"5 4 * * * " + strings.Repeat("a", 998), ""},
		{"5 4 * * * " + strings.Repeat("a", 999), "Debian's cron refuses a command of more than 998 bytes, and with it the whole file; the schedule takes it as it stands"},
		{"RANDOM_DELAY=45\n", "left: RANDOM_DELAY moves the times of the lines below at random, which a schedule cannot say"},
		{"MAILFROM=a@example.com\n", "MAILFROM is not taken over"},
		{"PATH=$HOME/bin:/bin\n", "cron does not expand $ and ~ in PATH, so they are kept as they stand; programs there were never found"},
		{"API_KEY=abc\n", "API_KEY may be a secret: the env of a schedule is written down with every run"},
		{"A=b # c\n", "the comment behind A is part of its value to cron, and kept"},
		{"A='b # c'\n", ""},
		{"CRON_TZ=Asia/Tokyo\n1 1 * * * /bin/a\n2 1 * * * /bin/b",
			"CRON_TZ is read as cronie does: the times of lines 2, 3 are in Asia/Tokyo; Debian's cron does not know it, and takes the zone of its machine: `sched import --as debian` reads it so"},
		{"CRON_TZ=Asia/Tokyo 1 1 * * * /bin/a", "left: cron sets CRON_TZ to the whole rest of the line, and starts nothing"},
		{"TZ=Asia/Tokyo  @daily /bin/a", "left: cron sets TZ to the whole rest of the line, and starts nothing"},
		{"CRON_TZ=Mars/Olympus\n1 1 * * * /bin/a", `left: CRON_TZ "Mars/Olympus" is no time zone`},
		{"* * * * * cd /srv && /usr/local/bin/sched run -q", "this line is sched itself, and no task"},
		{"MAILTO=$ADMIN\n5 4 * * * /bin/a", `MAILTO has "$ADMIN", which is no address; nobody is mailed there`},
		{"0 5 * * * /bin/a", ""},
		{"\ufeff0 5 * * * /bin/a", "the file begins with a byte order mark, for which Debian's cron refuses it; it is left out"},
		{"'A B'=c\n", `left: no shell can read a variable with the name "A B"`},
		{"-0 5 * * * /bin/a", "Debian's cron refuses a - before the times, and with it the whole file; to SUSE's cron and cronie it keeps the run out of their log, and a schedule writes none there"},
		{"-hello 5 * * * /bin/a", `left: "-hello 5 * * *": minute "-hello" lacks a number`},
		{"0 */5 * * * * /bin/a", "the sixth field is read as a year, as supercronic does; Debian's cron refuses it. If the first field is for seconds, the times are not these: write the other five"},
		{"0 0 9 * * MON-FRI * /bin/a", "seconds are supercronic's: cron would take the last fields for the command"},
		{"0 0 9 * * sun,TUE#2 2030 /bin/a", `left: "2030" is a year to supercronic, and a schedule has no years`},
		{"0 9 * * * sunrise 5 /bin/a", ""},
		{"#0 9 * * * * /bin/off", ""},
		{"#@reboot /bin/off", "cron starts it when cron starts after a boot; the schedule starts it with the first tick after that, up to a minute later"},
		{"#0/15 * * * * /bin/off", ""},
	} {
		var said []string
		for _, f := range convert(t, strings.TrimSuffix(row.line, "\n")+"\n", Options{}).Findings {
			text := f.Text
			if f.IsOmitted {
				text = "left: " + text
			}
			said = append(said, text)
		}
		if got := strings.Join(said, " | "); got != row.said {
			t.Errorf("%q:\n%s\nwant\n%s", row.line, got, row.said)
		}
	}
}

func TestAHintSaysWhatALineLacks(t *testing.T) {
	for _, row := range []struct{ text, hint string }{
		{"5 4 * * * /bin/a \\\n  --all\n", `to cron a \ at the end joins no lines: write the command in one line`},
		{"5 4 * *\u00a0* /bin/a\n", "it has a no-break space, as text from a web page does: write a blank for it"},
		{"B='b' # c\n", "cron takes nothing behind a value in quotes, not even a comment: put that on a line of its own"},
		{"B='b\n", "nothing closes the quote with which the value begins"},
		{"@reboot\n", "no command stands behind the times"},
		{"0 3 * * mon\n", "no command stands behind the times"},
		{"0 3 * *\n", "it has 4 fields, of five, and no command"},
		{"0 22-4 * * * /bin/a\n", "a range that runs backwards is empty to cron: write 22-4 as 22-23,0-4, and FRI-SUN as 5-7"},
		{"hello\n", ""},
	} {
		if s := convert(t, row.text, Options{}); len(s.Findings) != 1 || !s.OmitsLines() || s.Findings[0].Hint != row.hint {
			t.Errorf("%q: %+v", row.text, s.Findings)
		}
	}
}

func TestRandomDelayNamesSpread(t *testing.T) {
	if s := convert(t, "RANDOM_DELAY=45\n", Options{}); !strings.Contains(s.Findings[0].Hint, "`spread: 45m`") {
		t.Errorf("%+v", s.Findings)
	}
}

func TestLineBreaks(t *testing.T) {
	s := convert(t, "5 4 * * * /bin/a\r\n6 4 * * * /bin/b", Options{})
	if len(s.Tasks) != 2 || s.Tasks[0].Command != "/bin/a" || s.Tasks[1].Command != "/bin/b" ||
		len(s.Findings) != 2 || s.OmitsLines() {
		t.Errorf("%+v", s.Findings)
	}
}

// Settings count for the lines below them, and what all tasks have stands at the top.
func TestSettingsStandWhereTheyCount(t *testing.T) {
	s := convert(t, strings.Join([]string{
		`1 1 * * * /bin/first`,
		`PATH = /opt/bin:/bin`,
		`"MODE"='a b'`,
		`MAILTO=ops@example.com, root`,
		`2 2 * * * /bin/second`,
		`MAILTO=""`,
		`HOME=/srv/app`,
		`SHELL=/bin/bash`,
		`LOGNAME=nobody`,
		`3 3 * * * /bin/third`,
	}, "\n")+"\n", Options{})
	loaded := loadYAML(t, s, time.UTC)
	first, second, third := loaded.Tasks[0], loaded.Tasks[1], loaded.Tasks[2]
	if first.Env["PATH"] != "/usr/bin:/bin" || first.Env["MODE"] != "" || first.Dir != "/home/maria" ||
		first.Env["SHELL"] != "/bin/sh" || len(first.Hooks.After) > 0 {
		t.Errorf("first: %+v", first)
	}
	mail := second.Hooks.After
	if second.Env["PATH"] != "/opt/bin:/bin" || second.Env["MODE"] != "a b" || len(mail) != 1 ||
		strings.Join(mail[0].Notify.Mail, " ") != "ops@example.com root@localhost" {
		t.Errorf("second: %+v", second)
	}
	if third.Dir != "/srv/app" || third.Env["HOME"] != "/srv/app" || third.Command.Shell[0] != "/bin/bash" ||
		third.Env["LOGNAME"] != "" || len(third.Hooks.After) > 0 {
		t.Errorf("third: %+v", third)
	}
	for _, task := range loaded.Tasks {
		if !task.Background {
			t.Errorf("%s is in the foreground", task.Name)
		}
	}
	if !s.MailsTo {
		t.Error("cron mails what the first prints")
	}
}

// A system crontab has a user, in whose home folder cron runs the command.
func TestSystemCrontabs(t *testing.T) {
	text := "17 *\t* * *\troot\tcd / && run-parts /etc/cron.hourly\n5 5 * * * www-data  php  job.php\n5 5 * * * /bin/lacks --its user\n_ */3 * * * cmd\n_ _ */3 * * * cmd\n@daily nobody-here /bin/x\n@weekly nobody-here /bin/x\n" +
		"# 5 5 * * * root /bin/off\n# *  *  *  *  * user-name command to be executed\n"
	s := Convert([]*Table{Parse(Source{Name: "/etc/crontab", Text: text, System: true})}, Options{
		Home: func(user string) (string, bool) { return "/home/" + user, user != "nobody-here" },
	})
	loaded := loadYAML(t, s, time.UTC)
	if len(loaded.Tasks) != 5 {
		t.Fatalf("%d tasks", len(loaded.Tasks))
	}
	for i, want := range []string{"root /home/root cd / && run-parts /etc/cron.hourly",
		"www-data /home/www-data php  job.php", "nobody-here / /bin/x", "nobody-here / /bin/x",
		"root /home/root /bin/off"} {
		task := loaded.Tasks[i]
		if got := task.As.User + " " + task.Dir + " " + task.Command.Line; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if loaded.Tasks[4].Enabled || len(s.Findings) != 4 || !s.OmitsLines() {
		t.Errorf("%+v", s.Findings)
	}
	for i, want := range []string{`"/bin/lacks" is no user`, `"_ */3 * * *" has _,`, `"_ _ */3 * *" has _,`, `there is no user "nobody-here"`} {
		if !strings.HasPrefix(s.Findings[i].Text, want) {
			t.Errorf("%q, want %s", s.Findings[i].Text, want)
		}
	}
}

func TestFlagsOfOpenBSD(t *testing.T) {
	const n, q, sg = "-n mails only after a failure (on_failure)",
		"-q keeps the run out of the log of cron, and a schedule writes none there",
		"-s starts no second run beside the first (without_overlapping)"
	for _, row := range []struct{ command, want, said string }{
		{"-ns /bin/x", "/bin/x true true", n + "; " + sg},
		{"-q -n /bin/x", "/bin/x true false", n + "; " + q},
		{"-n\t-s\t/bin/x", "/bin/x true true", n + "; " + sg},
		{"-q\t /bin/x", "/bin/x false false", q},
		{"-x /bin/x", "-x /bin/x false false", ""},
		{"-n", "-n false false", ""},
	} {
		s := convert(t, "MAILTO=me@example.com\n5 4 * * * "+row.command+"\n5 4 * * * a\n5 4 * * * b\n", Options{})
		task := loadYAML(t, s, time.UTC).Tasks[0]
		if got := fmt.Sprint(task.Command.Line, " ", len(task.Hooks.OnFailure) > 0 &&
			len(task.Hooks.After) == 0, " ", task.WithoutOverlapping); got != row.want {
			t.Errorf("%q: %s, want %s", row.command, got, row.want)
		}
		said := ""
		for _, f := range s.Findings {
			said += strings.TrimPrefix(f.Text,
				"the flags before the command are flags of OpenBSD's and FreeBSD's cron: ")
		}
		if said != row.said {
			t.Errorf("%q: %s, want %s", row.command, said, row.said)
		}
	}
}

// Names come from commands, descriptions from comments.
func TestNamesAndDescriptions(t *testing.T) {
	for _, row := range []struct{ text, name, description string }{
		{"5 4 * * * /usr/local/bin/backup.sh --all >> /var/log/x 2>&1", "backup", ""},
		{"# Back up\n# the shop\n5 4 * * * /bin/a", "a", "Back up the shop"},
		{"# --- shop ---\n5 4 * * * /bin/a", "a", ""},
		{"### Shop ###\n# Each night\n5 4 * * * /bin/a", "a", "Each night"},
		{"# === Shop\n# Each night\n5 4 * * * /bin/a", "a", "Each night"},
		{"# Shop -----\n5 4 * * * /bin/a", "a", ""},
		{"########\n# Shop #\n########\n5 4 * * * /bin/a", "a", "Shop"},
		{"# Sync -- and purge\n5 4 * * * /bin/a", "a", "Sync -- and purge"},
		{"# Of the file.\n\n5 4 * * * /bin/a", "a", ""},
		{"# ------\n# m h  dom mon dow   command\n5 4 * * * /bin/a", "a", ""},
		{"# m h dom mon dow user command\n# Really\n5 4 * * * /bin/a", "a", "Really"},
		{"5 4 * * * /bin/a # every night", "a", "every night"},
		{"5 4 * * * cd /srv/app && php artisan queue:restart", "queue:restart", ""},
		{"5 4 * * * cd /srv/app && php artisan queue:restart # every night", "queue:restart", "every night"},
		{"5 4 * * * cd /srv && /usr/bin/env python3 -u tools/sync_all.py", "sync_all", ""},
		{"5 4 * * * flock -n /tmp/l -c 'bundle exec rake db:vacuum'", "db:vacuum", ""},
		{"5 4 * * * flock -w 5 /tmp/l timeout -k 5 1h nice -n 10 ionice -c 3 ./report", "report", ""},
		{"5 4 * * * bash -lc 'cd x; ./y.sh'", "y", ""},
		{"5 4 * * * A=1 B='2 3' sudo -u www wp cron event run", "cron-event", ""},
		{"5 4 * * * test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }", "cron.daily", ""},
		{"5 4 * * * [ -d /x ] && find /x -delete", "find-x", ""},
		{"5 4 * * * find . -delete", "find", ""},
		{"5 4 * * * rm -rf /var/cache/shop/", "rm-shop", ""},
		{"5 4 * * * /usr/bin/test -x /bin/x && /bin/x", "x", ""},
		{"5 4 * * * /usr/share/awstats/tools/update.sh", "awstats-update", ""},
		{"5 4 * * * /srv/shop/run.sh night", "shop-run-night", ""},
		{"5 4 * * * ./manage.py clearsessions", "clearsessions", ""},
		{"5 4 * * * systemctl --user restart shop.service", "restart-shop", ""},
		{"5 4 * * * /usr/sbin/service nginx reload > /dev/null", "reload-nginx", ""},
		{"# Regular cron jobs for the x package\n#\n# Each night:\n#\n5 4 * * * /bin/a", "a", "Each night"},
		{"# Regular cron jobs for the x package\n5 4 * * * /bin/a", "a", ""},
		{"5 4 * * * certbot renew -q", "certbot-renew", ""},
		{"5 4 * * * /usr/bin/curl -s https://example.com/cron", "example.com-cron", ""},
		{"5 4 * * * if [ -x /usr/sbin/logcheck ]; then nice -n10 /usr/sbin/logcheck; fi", "logcheck", ""},
		{"5 4 * * * if [ -x /bin/x ] && [ $(date +\\%d) -le 7 ]; then /bin/x --all; fi", "x", ""},
		{"5 4 * * * [ `date +\\%u` -eq 1 ] && /srv/weekly.sh", "weekly", ""},
		{"5 4 * * * test -x /bin/x && perl -e 'sleep int(rand(9))' && certbot -q renew", "certbot", ""},
		{"5 4 * * * command -v debian-sa1 > /dev/null && debian-sa1 1 1", "debian-sa1", ""},
		{"5 4 * * * true && date >> /tmp/x; ./sync.py", "sync", ""},
		{"5 4 * * * ps aux | grep -v grep | grep -q foo || /srv/start_foo.sh", "start_foo", ""},
		{"5 4 * * * date +\\%F", "date", ""},
		{"5 4 * * * for i in 1 2 3; do /srv/shop/pay.pl && break; sleep 9; done", "pay", ""},
		{"5 4 * * * /usr/bin/php8.2 /srv/app/artisan schedule:run", "schedule:run", ""},
		{"5 4 * * * $(which python3.11) /srv/getspreads.py nfl", "getspreads-nfl", ""},
		{"5 4 * * * php -f /var/www/nextcloud/cron.php", "nextcloud-cron", ""},
		{"5 4 * * * cd /srv/shop && ./run.sh", "shop-run", ""},
		{"5 4 * * * /usr/local/bin/start", "start", ""},
		{"5 4 * * * su - munin -c '/usr/bin/munin-html'", "munin-html", ""},
		{"5 4 * * * su -c '/usr/bin/foo bar' www", "foo-bar", ""},
		{"5 4 * * * php -r 'echo 1;'", "php", ""},
		{"5 4 * * * curl -fsS https://hc-ping.com/1234-ab", "hc-ping.com", ""},
		{"5 4 * * * ./../..", "task", ""},
		{"5 4 * * * python -m http.server", "http.server", ""},
	} {
		s := convert(t, row.text+"\n", Options{})
		if len(s.Tasks) != 1 || s.Tasks[0].Name != row.name || s.Tasks[0].Description != row.description {
			t.Errorf("%q: %q, %q", row.text, s.Tasks[0].Name, s.Tasks[0].Description)
		}
		loadYAML(t, s, time.UTC)
	}
	s := convert(t, strings.Repeat("5 4 * * * /bin/a\n", 3)+"5 4 * * * /bin/a-2\n", Options{})
	loadYAML(t, s, time.UTC)
	if got := s.Tasks[0].Name + " " + s.Tasks[1].Name + " " + s.Tasks[2].Name + " " +
		s.Tasks[3].Name; got != "a a-2 a-3 a-2-daily" {
		t.Error(got)
	}
	s = convert(t, "@reboot /bin/a\n2 * * * * /bin/a\n5 4 * * * /bin/a 1 1\n5 4 * * 1 /bin/a\n5 4 1 * * /bin/a\n"+
		"@yearly /bin/a\n*/5 * * * * /bin/a\n6 4 * * * /bin/a\n@reboot /bin/a\n", Options{})
	loadYAML(t, s, time.UTC)
	var names []string
	for _, task := range s.Tasks {
		names = append(names, task.Name)
	}
	if got := strings.Join(names, " "); got != "a a-hourly a-daily a-weekly a-monthly a-yearly a-2 a-3 a-4" {
		t.Error(got)
	}
	s = convert(t, "5 4 * * * /bin/a -p secret\n5 4 * * * /bin/a -p secret --weekly\n5 4 * * * /srv/x.sh\n5 4 * * * /srv/shop/x.sh\n5 4 * * * /bin/a -psecret /srv/Shop\n", Options{})
	loadYAML(t, s, time.UTC)
	if got := s.Tasks[0].Name + " " + s.Tasks[1].Name + " " + s.Tasks[2].Name + " " + s.Tasks[3].Name + " " +
		s.Tasks[4].Name; got != "a a-weekly x shop-x a-shop" {
		t.Error(got)
	}
}

// A longer name has a word that the tasks with the same short name do not have.
func TestALongerNameTellsATaskFromTheOthers(t *testing.T) {
	for _, row := range []struct {
		text, names string
		file        string // of a folder cron.d; "" for a crontab without users
	}{
		{"5 4 * * * b.sh --all /srv/one\n5 4 * * * b.sh --all /srv/two\n5 4 * * * b.sh --all /srv/two", "b b-two b-2", ""},
		{"5 4 * * * plot -p 1 -o /srv/day\n5 4 * * * plot -p 7 -o /srv/week", "plot plot-week", ""},
		{"0 8-18 * * * /srv/x/sa 1\n0 * * * * /srv/x/sa 2", "sa sa-hourly", ""},
		{"0 * * * * www snap\n0 * * * * root A=1 snap", "snap snap-root", "systraq"},
		{"0 * * * * root find $html -delete\n0 * * * * www find $cgi -delete", "munin-find munin-find-www", "munin"},
	} {
		source := Source{Name: "crontab", Text: row.text + "\n"}
		if row.file != "" {
			source.Name, source.System = "/etc/cron.d/"+row.file, true
		}
		var names []string
		for _, task := range Convert([]*Table{Parse(source)}, Options{}).Tasks {
			names = append(names, task.Name)
		}
		if got := strings.Join(names, " "); got != row.names {
			t.Errorf("%q: %s, want %s", row.text, got, row.names)
		}
	}
}

// Paragraphs of a comment above the last one stay a comment.
func TestOnlyTheLastParagraphOfACommentDescribesALine(t *testing.T) {
	s := convert(t, "# Of the shop.\n# ------\n# Each\n# night\n5 4 * * * /bin/a\n", Options{})
	if task := s.Tasks[0]; task.Description != "Each night" || len(task.Comment) != 1 ||
		task.Comment[0] != "Of the shop." {
		t.Errorf("%q, %q", task.Description, task.Comment)
	}
}

// A line that is commented out is a task that is switched off. Prose and examples are no tasks.
func TestLinesThatAreSwitchedOff(t *testing.T) {
	for _, row := range []struct {
		text string
		off  int
	}{
		{"# Only with a central table:\n#  0  3 1 * * php rotate.php\n#  0  4 * * * php purge.php", 2},
		{"# For example, see the manual.\n#\n# Not yet:\n#5 4 * * * /bin/a", 1},
		{"#0/15\t*\t*\t*\t*\t/bin/a", 1},
		{"#~ 4 * * * /bin/a", 1},
		{"#@reboot /bin/a", 1},
		{"#@every_minute /bin/a", 1},
		{"#5 4 * * * /bin/a", 1},
		{"# */5 * * * * php artisan x", 1},
		{"#@daily /bin/a", 1},
		{"# For example, each week:\n# 0 5 * * 1 tar -zcf /var/backups/home.tgz /home/", 0},
		{"# For example, each week\n# at five:\n# 0 5 * * 1 tar -zcf /var/backups/home.tgz /home/", 0},
		{"# a b to do it, now and then", 0},
		{"# * * * * * command to be executed", 0},
		{"# 5 minutes past 4, as a rule, x", 0},
	} {
		s := convert(t, row.text+"\n", Options{})
		if len(s.Tasks) != row.off || s.OmitsLines() || row.off > 0 && s.Tasks[0].Enabled {
			t.Errorf("%q: %+v %+v", row.text, s.Tasks, s.Findings)
		}
	}
}

// Hints are about the line that has them.
func TestHintsOfLines(t *testing.T) {
	for _, row := range []struct{ line, hint string }{
		{"@every_5m root /bin/a", `write it in words instead: "every: 5 minutes"; or ask sched explain --as robfig`},
		{"_ */3 * * * root /bin/a", `write * for _: formatters of Markdown turn "* *" into "_ _"`},
		{"5 4 * * * deploy /bin/a", "add the user, or write another: cron starts nothing for a user who is not there"},
		{"5 4 * * * deploy cd /srv && ./a", "add the user, or write another: cron starts nothing for a user who is not there"},
		{"5 4 * * * php job.php", "does the line lack its user?"},
		{"5 4 * * * nice php job.php", "does the line lack its user?"},
		{"5 4 * * * backup --all", "does the line lack its user?"},
		{"5 4 * * * deploy npm run x", "add the user; or if that is the program, the line lacks its user"},
	} {
		table := Parse(Source{Name: "/etc/crontab", Text: row.line + "\n", System: true})
		s := Convert([]*Table{table}, Options{Home: func(string) (string, bool) { return "", false }})
		if len(s.Findings) == 0 || s.Findings[0].Hint != row.hint {
			t.Errorf("%s: %+v", row.line, s.Findings)
		}
	}
}

func TestFileNames(t *testing.T) {
	for name, is := range map[string]bool{"e2scrub_all": true, "php-8": true, "a.bak": false, ".placeholder": false,
		"job.dpkg-old": false, "x~": false, "": false} {
		if IsFileName(name) != is {
			t.Errorf("%q: %t", name, !is)
		}
	}
}

// The YAML of any text loads, and each task keeps its command.
func FuzzConvert(f *testing.F) {
	f.Add("PATH=$HOME\n5 4 * * * a%b\n# x\n#@daily b\n@reboot c\n", true)
	f.Add("A=\"\n*/90 0~5 * * 6-0 cd ~/x && flock -n l timeout 5 b > c 2>&1\n", true)
	f.Fuzz(func(t *testing.T, text string, tidy bool) {
		s := convert(t, text, Options{Tidy: tidy})
		loaded := loadYAML(t, s, time.UTC)
		if len(loaded.Tasks) != len(s.Tasks) {
			t.Fatalf("%d tasks, not %d", len(loaded.Tasks), len(s.Tasks))
		}
		for i, task := range loaded.Tasks {
			if task.Command.Line != s.Tasks[i].Command {
				t.Fatalf("%q became %q", s.Tasks[i].Command, task.Command.Line)
			}
		}
	})
}

var start = time.Date(2026, 11, 22, 9, 7, 0, 0, time.UTC)

// imported converts a crontab, and proves it.
func imported(t *testing.T, text string, from time.Time, in *time.Location) (*Schedule, *proof.Proof) {
	t.Helper()
	s := Convert([]*Table{Parse(Source{Name: "crontab", Text: text})}, Options{})
	loaded := loadYAML(t, s, in)
	return s, proof.Prove(s.Tasks, loaded, from, in)
}

// loadYAML loads the YAML of a schedule.
func loadYAML(t *testing.T, s *Schedule, in *time.Location) *schedule.Schedule {
	t.Helper()
	yaml := s.YAML([]string{"A test."})
	loaded, err := load.Text(yaml, "/srv/schedule.yaml", load.Options{
		Local: in, Getenv: func(name string) (string, bool) { return "/home/maria", name == "HOME" },
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, yaml)
	}
	return loaded
}
