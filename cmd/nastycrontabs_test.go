package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/cmd/app"
	"sched/schedule"
	"sched/schedule/load"
)

// A nastyTask is what a line of a nasty crontab becomes.
type nastyTask struct {
	line    int
	name    string
	when    string // as Debian's cron takes it; "" if Debian's cron has no such times
	command string
	input   string // what the command reads
}

// A nastyCrontab is one that somebody wrote, or could have written.
type nastyCrontab struct {
	what, text string
	system     bool
	tasks      []nastyTask
	said       []string // by import: how its lines begin, with the hint if that matters
	debian     string   // what Debian's crontab says against it; "" if it takes it
	unlike     bool     // Debian's cron gives the shell something else, and import says so
}

var nasty = []nastyCrontab{
	{
		what:  "a percent sign that is escaped",
		text:  `0 3 * * * tar czf /backup/$(date +\%F-\%H\%M).tgz /srv/shop` + "\n",
		tasks: []nastyTask{{1, "tar", "0 3 * * *", "tar czf /backup/$(date +%F-%H%M).tgz /srv/shop", ""}},
	},
	{
		what:  "percent signs that are line breaks of the input",
		text:  `30 6 * * 1 mailx -s 'The week' root%Dear all,%%50\% off%` + "\n",
		tasks: []nastyTask{{1, "mailx", "30 6 * * 1", "mailx -s 'The week' root", "Dear all,\n\n50% off\n"}},
	},
	{
		what:  "a percent sign inside of quotes, which never worked",
		text:  "0 5 * * * mysqldump shop > \"/b/$(date +%F).sql\"\n1 5 * * * /bin/fine\n",
		said:  []string{"crontab:1: not imported: to cron the command ends at the first %, which is inside quotes: it never worked"},
		tasks: []nastyTask{{2, "fine", "1 5 * * *", "/bin/fine", ""}},
	},
	{
		what: "backslashes, one of them at the end",
		text: `5 4 * * * sed -i 's/\\\/x\\/\//' /etc/x; printf 'a\\tb\n' \` + "\n\n6 4 * * * /bin/next\n",
		tasks: []nastyTask{
			{1, "sed", "5 4 * * *", `sed -i 's/\\/x\/\//' /etc/x; printf 'a\tb\n' \`, ""},
			{3, "next", "6 4 * * *", "/bin/next", ""},
		},
	},
	{
		what:  "a boot",
		text:  "@reboot sleep 60 && /srv/app/bin/start.sh\n",
		tasks: []nastyTask{{1, "app-start", "@reboot", "sleep 60 && /srv/app/bin/start.sh", ""}},
		said:  []string{"crontab:1: cron starts it when cron starts after a boot"},
	},
	{
		what: "MAILTO in both quotes, and empty",
		text: "MAILTO=\"ops@example.com, dba@example.com\"\n1 1 * * * /bin/a\nMAILTO=\"\"\n2 1 * * * /bin/b\nMAILTO='root'\n3 1 * * * /bin/c\n",
		tasks: []nastyTask{
			{2, "a", "1 1 * * *", "/bin/a", ""},
			{4, "b", "2 1 * * *", "/bin/b", ""},
			{6, "c", "3 1 * * *", "/bin/c", ""},
		},
	},
	{
		what: "another MAILTO below, and another shell",
		text: "MAILTO=alice@example.com\n1 1 * * * /bin/a\n2 1 * * * /bin/b\nMAILTO=bob@example.com\nSHELL=/bin/dash\n3 1 * * * /bin/c\n",
		tasks: []nastyTask{
			{2, "a", "1 1 * * *", "/bin/a", ""},
			{3, "b", "2 1 * * *", "/bin/b", ""},
			{6, "c", "3 1 * * *", "/bin/c", ""},
		},
	},
	{
		what:  "variables with blanks, quotes and no value",
		text:  "NAME = \"two  words\"\n  EMPTY=\"\"\nQUOTE='it\"s'\nPLAIN= a b  c  \n'OTHER'=$NAME\n1 1 * * * echo \"$NAME\"\n",
		tasks: []nastyTask{{6, "echo", "1 1 * * *", `echo "$NAME"`, ""}},
	},
	{
		what:  "a variable whose name has a blank",
		text:  "\"TWO WORDS\"=x\n1 1 * * * /bin/a\n",
		tasks: []nastyTask{{2, "a", "1 1 * * *", "/bin/a", ""}},
		said:  []string{`crontab:1: not imported: no shell can read a variable with the name "TWO WORDS"`},
	},
	{
		what: "no line break at the end",
		text: "1 1 * * * /bin/a\n2 2 * * * /bin/b",
		tasks: []nastyTask{
			{1, "a", "1 1 * * *", "/bin/a", ""},
			{2, "b", "2 2 * * *", "/bin/b", ""},
		},
		said:   []string{"crontab:2: the last line has no line break; Debian's cron ignores such a file as a whole"},
		debian: "missing newline before EOF",
	},
	{
		what:   "lines that end in CR LF",
		text:   "MAILTO=root\r\n1 1 * * * /bin/a\r\n",
		tasks:  []nastyTask{{2, "a", "1 1 * * *", "/bin/a", ""}},
		unlike: true,
		said:   []string{"crontab:1: lines end in CR LF, and cron would give the CR to the commands; it is left out"},
	},
	{
		what:  "tabs and blanks everywhere",
		text:  "\t 5\t4 * *\t*\t  /bin/a  b\t\n   # not a job\n \t\n",
		tasks: []nastyTask{{1, "a", "5 4 * * *", "/bin/a  b\t", ""}},
	},
	{
		what:  "names of months and weekdays, in any case",
		text:  "0 0 1 JAN,jul mon-Fri /bin/a\n",
		tasks: []nastyTask{{1, "a", "0 0 1 JAN,jul mon-Fri", "/bin/a", ""}},
	},
	{
		what:   "whole names of weekdays",
		text:   "0 9 * * monday /bin/a\n",
		said:   []string{`crontab:1: not imported: "0 9 * * monday": weekday "monday" is not a number in 0-7 or a name in MON-SUN` + "\n  hint: write MON"},
		debian: "bad day-of-week",
	},
	{
		what:  "steps that do not divide their range",
		text:  "*/7 */5 */10 * * /bin/a\n",
		tasks: []nastyTask{{1, "a", "*/7 */5 */10 * *", "/bin/a", ""}},
	},
	{
		what: "a day of the month and a day of the week",
		text: "0 0 13 * 5 /bin/either\n0 0 */2 * 1 /bin/both\n0 0 1-31 * 1 /bin/daily\n",
		tasks: []nastyTask{
			{1, "either", "0 0 13 * 5", "/bin/either", ""},
			{2, "both", "0 0 */2 * 1", "/bin/both", ""},
			{3, "daily", "0 0 1-31 * 1", "/bin/daily", ""},
		},
	},
	{
		what: "7 for Sunday",
		text: "0 9 * * 7 /bin/a\n0 9 * * 5-7 /bin/b\n0 9 * * 0,7 /bin/c\n",
		tasks: []nastyTask{
			{1, "a", "0 9 * * 7", "/bin/a", ""},
			{2, "b", "0 9 * * 5-7", "/bin/b", ""},
			{3, "c", "0 9 * * 0,7", "/bin/c", ""},
		},
	},
	{
		what:  "ranges with steps, and zeros in front",
		text:  "03-59/10 08-18/2 1-31/3 01 1-5/2 /bin/a\n",
		tasks: []nastyTask{{1, "a", "03-59/10 08-18/2 1-31/3 01 1-5/2", "/bin/a", ""}},
	},
	{
		what: "the longest command that Debian takes",
		text: "5 4 * * * /srv/long.sh " + strings.Repeat("x", 998-len("/srv/long.sh ")) + "\n",
		tasks: []nastyTask{{1, "long", "5 4 * * *", "/srv/long.sh " +
			strings.Repeat("x", 998-len("/srv/long.sh ")), ""}},
	},
	{
		what:   "a command that is too long for Debian",
		text:   "5 4 * * * /srv/long.sh " + strings.Repeat("x", 2000) + "\n",
		tasks:  []nastyTask{{1, "long", "5 4 * * *", "/srv/long.sh " + strings.Repeat("x", 2000), ""}},
		said:   []string{"crontab:1: Debian's cron refuses a command of more than 998 bytes"},
		debian: "command too long",
	},
	{
		what:   "users with dots, and what is no user",
		system: true,
		text:   "5 4 * * *\tsvc.backup\t/bin/a\n5 5 * * * www-data /bin/b\n5 6 * * * CORP\\joe /bin/c\n5 7 * * * /bin/d --all\n@daily root /bin/e\n",
		tasks: []nastyTask{
			{1, "a", "5 4 * * *", "/bin/a", ""},
			{2, "b", "5 5 * * *", "/bin/b", ""},
			{3, "c", "5 6 * * *", "/bin/c", ""},
			{5, "e", "@daily", "/bin/e", ""},
		},
		said: []string{
			`crontab:1: there is no user "svc.backup" on this machine`,
			`crontab:3: there is no user "CORP\\joe" on this machine`,
			`crontab:4: not imported: "/bin/d" is no user: in a system crontab a line has its user before the command`,
		},
	},
	{
		what:  "comments behind a job and behind a variable",
		text:  "A=b # c\n5 4 * * * /bin/a # every night\n",
		tasks: []nastyTask{{2, "a", "5 4 * * *", "/bin/a # every night", ""}},
		said:  []string{"crontab:1: the comment behind A is part of its value to cron, and kept"},
	},
	{
		what:   "a comment behind a value in quotes",
		text:   "B='b' # c\n5 4 * * * /bin/a\n",
		tasks:  []nastyTask{{2, "a", "5 4 * * *", "/bin/a", ""}},
		said:   []string{"crontab:1: not imported: neither a setting nor five fields and a command\n  hint: cron takes nothing behind a value in quotes"},
		debian: "bad minute",
	},
	{
		what:   "a flag of OpenBSD before the command",
		text:   "5 4 * * * -q /bin/a\n",
		tasks:  []nastyTask{{1, "a", "5 4 * * *", "/bin/a", ""}},
		unlike: true,
		said:   []string{"crontab:1: the flags before the command are flags of OpenBSD's and FreeBSD's cron: -q"},
	},
	{
		what:  "a - of SUSE before the times",
		text:  "-*/15 * * * * /bin/a\n",
		tasks: []nastyTask{{1, "a", "*/15 * * * *", "/bin/a", ""}},
		said: []string{"crontab:1: Debian's cron refuses a - before the times",
			"not compared with Debian's cron, which takes no such lines or reads them otherwise: a"},
		debian: "bad minute",
	},
	{
		what:   "six fields, as Spring and Quartz have them",
		text:   "0 */5 * * * * /bin/a\n",
		tasks:  []nastyTask{{1, "a", "0 */5 * * *", "/bin/a", ""}},
		said:   []string{"crontab:1: the sixth field is read as a year, as supercronic does; Debian's cron refuses it"},
		debian: "bad command",
	},
	{
		what: "a range that runs backwards",
		text: "0 22-4 * * * /bin/a\n0 0 * * FRI-SUN /bin/b\n5 4 * * * /bin/c\n",
		said: []string{
			`crontab:1: not imported: cron never starts this line: no date matches "0 22-4 * * *"` + "\n  hint: a range that runs backwards is empty to cron: write 22-4 as 22-23,0-4",
			`crontab:2: not imported: cron never starts this line: no date matches "0 0 * * FRI-SUN"`,
		},
		tasks: []nastyTask{{3, "c", "5 4 * * *", "/bin/c", ""}},
	},
	{
		what: "dates that never come",
		text: "0 0 30 2 * /bin/a\n0 0 31 4,6 * /bin/b\n0 0 29 2 * /bin/c\n",
		said: []string{
			`crontab:1: not imported: cron never starts this line: no date matches "0 0 30 2 *"`,
			`crontab:2: not imported: cron never starts this line: no date matches "0 0 31 4,6 *"`,
		},
		tasks: []nastyTask{{3, "c", "0 0 29 2 *", "/bin/c", ""}},
	},
	{
		what: "numbers that are too large",
		text: "0 24 * * * /bin/a\n60 * * * * /bin/b\n",
		said: []string{"crontab:1: not imported: \"0 24 * * *\": hour 24 is not in 0-23\n  hint: midnight is hour 0",
			"crontab:2: not imported: \"60 * * * *\": minute 60 is not in 0-59"},
		debian: "bad hour",
	},
	{
		what:   "a byte order mark",
		text:   "\ufeff5 4 * * * /bin/a\n",
		tasks:  []nastyTask{{1, "a", "5 4 * * *", "/bin/a", ""}},
		said:   []string{"crontab:1: the file begins with a byte order mark"},
		debian: "bad minute",
	},
	{
		what:   "a no-break space from a web page",
		text:   "5 4 * *\u00a0* /bin/a\n",
		said:   []string{"crontab:1: not imported: neither a setting nor five fields and a command\n  hint: it has a no-break space"},
		debian: "bad day-of-week",
	},
	{
		what:   "a line that goes on in the next one",
		text:   "5 4 * * * /bin/a \\\n  --all\n",
		tasks:  []nastyTask{{1, "a", "5 4 * * *", `/bin/a \`, ""}},
		said:   []string{"crontab:2: not imported: neither a setting nor five fields and a command\n  hint: to cron a \\ at the end joins no lines"},
		debian: "bad minute",
	},
	{
		what: "the same twice, and one script with other arguments",
		text: "*/2 * * * * /srv/poll.sh --all /srv/one\n*/2 * * * * sleep 60; /srv/poll.sh --all /srv/one\n@hourly /srv/poll.sh --all /srv/two\n",
		tasks: []nastyTask{
			{1, "poll", "*/2 * * * *", "/srv/poll.sh --all /srv/one", ""},
			{2, "poll-2", "*/2 * * * *", "sleep 60; /srv/poll.sh --all /srv/one", ""},
			{3, "poll-two", "@hourly", "/srv/poll.sh --all /srv/two", ""},
		},
	},
	{
		what:  "a path with a blank, and letters of other languages",
		text:  "0 3 * * * \"/opt/my app/run.sh\" --title “Grüße” &\n",
		tasks: []nastyTask{{1, "my-app-run", "0 3 * * *", "\"/opt/my app/run.sh\" --title “Grüße” &", ""}},
	},
	{
		what:  "bytes that are no UTF-8",
		text:  "0 3 * * * echo caf\xe9\n1 3 * * * /bin/a\n",
		said:  []string{"crontab:1: not imported: the line is not in UTF-8, which a schedule must be"},
		tasks: []nastyTask{{2, "a", "1 3 * * *", "/bin/a", ""}},
	},
	{
		what:  "a PATH that is not expanded",
		text:  "PATH=$PATH:/opt/bin\nSHELL=/bin/bash\n5 4 * * * source ~/.profile && sync_all &>> ~/log\n",
		tasks: []nastyTask{{3, "sync_all", "5 4 * * *", "source ~/.profile && sync_all &>> ~/log", ""}},
		said:  []string{"crontab:1: cron does not expand $ and ~ in PATH"},
	},
	{
		what:  "nicknames of other crons",
		text:  "@midnight /bin/a\n@every 5m /bin/b\n@every_minute /bin/c\n",
		tasks: []nastyTask{{1, "a", "@midnight", "/bin/a", ""}, {3, "c", "", "/bin/c", ""}},
		said: []string{`crontab:2: not imported: "@every 5m": macro "@every 5m" is not known` + "\n" +
			`  hint: write it in words instead: "every: 5 minutes"`, "crontab:3: Debian's cron refuses @every_minute"},
		debian: "bad time specifier",
	},
}

// Each nasty crontab becomes the tasks that a person would expect. import gives a reason for all
// that is lost.
func TestNoLineOfANastyCrontabIsLostWithoutAReason(t *testing.T) {
	t.Parallel()
	var lines []cronLine // that Debian's cron takes as import does
	var tasks []*schedule.Task
	for _, row := range nasty {
		made := row.imported(t)
		read := map[string]cronLine{}
		for _, line := range cronLines(row.what, row.text, row.system) {
			read[line.place] = line
		}
		for i, want := range row.tasks {
			place, task := fmt.Sprint(row.what, ":", want.line), made[i]
			if task.Name != want.name {
				t.Errorf("%s is called %s, not %s", place, task.Name, want.name)
			}
			command := want.command
			if want.input != "" {
				command = "{\n" + command + "\n} <<'INPUT'\n" + want.input + "INPUT"
			}
			if task.Command.Line != command {
				t.Errorf("%s runs %q, not %q", place, task.Command.Line, command)
			}
			if want.when != "" {
				dueAsInCron(t, place, want.when, task)
			}
			if row.debian == "" && !row.unlike {
				lines, tasks = append(lines, read[place]), append(tasks, task)
			}
		}
	}
	t.Run("by Debian's cron", func(t *testing.T) { sameAsInCron(t, lines, tasks) })
}

// imported returns the tasks of a crontab, and compares what import says.
func (row nastyCrontab) imported(t *testing.T) []*schedule.Task {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "crontab")
	if err := os.WriteFile(file, []byte(row.text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{file}
	if row.system {
		args = append(args, "--system")
	}
	tasks, said, code := imported(t, args...)
	said = strings.ReplaceAll(said, dir+"/", "")
	left := strings.Contains(strings.Join(row.said, "\n"), "not imported: ")
	if len(tasks) != len(row.tasks) || (code == 1) != left {
		t.Fatalf("%s: %d tasks of %d, exit code %d: %s", row.what, len(tasks), len(row.tasks), code, said)
	}
	for _, want := range row.said {
		if !strings.Contains("\n"+said, "\n"+want) {
			t.Errorf("%s: import does not say %s\nbut %s", row.what, want, said)
		}
	}
	if len(row.said) == 0 && !strings.HasPrefix(said, "proven: ") {
		t.Errorf("%s: import says %s", row.what, said)
	}
	row.readAsItIs(t, file, tasks)
	return tasks
}

// readAsItIs compares the tasks that import wrote with the tasks of the crontab as it is.
func (row nastyCrontab) readAsItIs(t *testing.T, file string, imported []*schedule.Task) {
	t.Helper()
	s, err := load.File(file, load.Options{Home: app.HomeOf, System: row.system, Local: time.UTC,
		Getenv: func(name string) (string, bool) { return "/root", name == "HOME" }})
	if err != nil || len(s.Tasks) != len(imported) {
		t.Fatalf("%s: as it is it has %v: %v", row.what, s, err)
	}
	for i, was := range s.Tasks {
		direct, made := *was, *imported[i]
		for _, task := range []*schedule.Task{&direct, &made} { // what differs because the files do
			task.Place, task.Folder, task.Sender = schedule.Place{}, "", schedule.Task{}.Sender
			task.When.Location = time.UTC
			task.EnvOverrides = slices.Sorted(slices.Values(task.EnvOverrides))
		}
		if !reflect.DeepEqual(direct, made) {
			t.Errorf("%s: %s is\n%+v, imported\n%+v", row.what, direct.Name, direct, made)
		}
	}
}

func TestDebiansCrontabOnNastyCrontabs(t *testing.T) {
	t.Parallel()
	needCrontab(t)
	for _, row := range nasty {
		if said := debianSays(t, row.text); !row.system && (said == "") != (row.debian == "") ||
			!strings.Contains(said, row.debian) {
			t.Errorf("%s: Debian's crontab says %q, not %q", row.what, said, row.debian)
		}
	}
}
