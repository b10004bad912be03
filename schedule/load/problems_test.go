package load

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
)

// testVars are the variables of the tests.
var testVars = map[string]string{"REFUSED": "refused by secret", "HOME": "/home/me", "EMPTY": "", "ZONE": "Asia/Tokyo",
	"SLACK": "https://hooks.slack.com/services/T0/B0/x"}

var here = time.FixedZone("Here", 3600)

func testOptions() Options {
	return Options{
		CheckStore: func(servers []string) (problem, hint string) {
			for _, url := range servers {
				if strings.HasPrefix(url, "refused:") {
					return "refused is no store", "take another"
				}
			}
			return "", ""
		},
		CheckNotification: func(n schedule.Notification) (problem, hint string) {
			for _, text := range append([]string{n.Ping, n.Webhook, n.MailURL, n.MailFrom}, n.Mail...) {
				if strings.HasPrefix(text, "refused") {
					return "nobody can be told there", "take another"
				}
			}
			return "", ""
		},
		Local:  here,
		Getenv: func(name string) (string, bool) { v, ok := testVars[name]; return v, ok },
	}
}

// one wraps the keys of a task as a file with that one task, called t, on lines 1 to 4 and on.
func one(keys string) string {
	return "tasks:\n- name: t\n  every: minute\n  command: x\n" + indent(keys, "  ")
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by) + "\n"
}

// atOnce is the hint for keys that bound how many runs go on at once.
const atOnce = "never two runs of a task at once: `without_overlapping: true`; " +
	"at most three runs of some tasks: `pool: NAME` in each, and `pools: {NAME: 3}` at the top of the file"

// Each row is a mistake, and all that is said about it.
var mistakes = []struct {
	name, yaml string
	want       []string
}{
	// The file as a whole.
	{"an empty file", "", []string{
		"schedule.yaml:1:1: the file is empty\n  hint: a schedule starts with `tasks:`"}},
	{"only a comment", "# nothing\n", []string{
		"schedule.yaml:1:1: the file is empty\n  hint: a schedule starts with `tasks:`"}},
	{"two documents", "tasks: []\n---\ntasks: []\n", []string{
		"schedule.yaml:2:1: a second document starts here, and a schedule is one\n  hint: remove the line `---`"}},
	{"a list at the top", "- name: a\n", []string{
		"schedule.yaml:1:1: the file must be a mapping of keys and values, not a list\n  hint: put the list under `tasks:`"}},
	{"a text at the top", "hello\n", []string{
		"schedule.yaml:1:1: the file must be a mapping of keys and values, not the text \"hello\"\n  hint: a schedule starts with `tasks:`"}},
	{"a null byte", "name: a\nb: \x00\n", []string{
		"schedule.yaml:2:4: the file holds the control character 0x00: it is not text"}},
	{"Latin-1", "name: a\nb: \xe9t\xe9\n", []string{
		"schedule.yaml:2:4: the byte 0xe9 is not UTF-8: the file is not text in UTF-8"}},
	{"UTF-16", "\xff\xfen\x00", []string{
		"schedule.yaml:1:1: the file is in UTF-16\n  hint: save it as UTF-8: iconv -f UTF-16 -t UTF-8"}},

	{"a key without a space after its colon", "tasks:\n- name:a\n  every: minute\n  command: x\n", []string{
		"schedule.yaml:2:7: a colon without a space after it\n  hint: write `key: value`"}},
	{"a key without its colon, and one below it", "tasks:\n- name t\n\n  every: minute\n", []string{
		"schedule.yaml:2:3: a key without `:`\n  hint: write `name: t`; or check the indentation"}},
	{"tasks without a colon", "tasks\n- name: t\n  every: minute\n", []string{
		"schedule.yaml:1:1: a key without `:`\n  hint: write `tasks:`; or check the indentation"}},
	{"a key that is indented too far", "tasks:\n- name: t\n   every: minute\n", []string{
		"schedule.yaml:3:4: a key stands where none may\n  hint: check the indentation of this line and the one above"}},
	{"backticks around a command", "tasks:\n- name: t\n  every: minute\n  command: `x`\n", []string{
		"schedule.yaml:4:12: text cannot start with a backtick\n  hint: put the text in quotes; a shell runs what stands in $(…)"}},

	// Mistakes of people who come from crontabs and from other schedulers.
	{"days as a range of cron", one("days: mon-fri"), []string{
		"schedule.yaml:5:9: task \"t\": days: the text \"mon-fri\" is not a day of the week\n  hint: write weekdays"}},
	{"days as a range of numbers over the weekend", one("days: 5-1"), []string{
		"schedule.yaml:5:9: task \"t\": days: the text \"5-1\" is not a day of the week\n  hint: write [fri, sat, sun, mon]"}},
	{"a misspelt command, and then a task without one",
		"tasks:\n- {name: a, every: day, comand: x}\n- {name: b, every: day}\n", []string{
			"schedule.yaml:2:25: task \"a\": unknown key \"comand\"\n  hint: did you mean \"command\"?",
			"schedule.yaml:3:3: task \"b\": the task has no command\n  hint: add `command:`"}},
	{"a misspelt short day", one("days: [tus]"), []string{
		"schedule.yaml:5:10: task \"t\": days: the text \"tus\" is not a day of the week\n  hint: did you mean \"tue\"?"}},
	{"names with spaces, and with letters that no name has", "tasks:\n- {name: 'send mails (daily)', every: day, command: x}\n" +
		"- {name: täglich, every: day, command: x}\n", []string{
		"schedule.yaml:2:10: task \"send mails (daily)\": name \"send mails (daily)\" is not a valid name\n" +
			"  hint: did you mean \"send-mails-daily\"? Use letters, digits and . _ : / -, and begin with a letter or a digit",
		"schedule.yaml:3:10: task \"täglich\": name \"täglich\" is not a valid name\n" +
			"  hint: use letters, digits and . _ : / -, and begin with a letter or a digit"}},
	{"words of other programs at the top", "notifications: 1\nflock: 1\nPATH: /bin\nnohup: 1\ncrons: 1\nexec_condition: x\n" +
		"cron_tz: UTC\n" + one(""), []string{
		"schedule.yaml:1:1: unknown key \"notifications\"\n  hint: write `defaults: {on_failure: {mail: ADDRESS}}`; docs/notifications.md has more",
		"schedule.yaml:2:1: unknown key \"flock\"\n  hint: write `without_overlapping: true` in a task, or under `defaults:` for all of them",
		"schedule.yaml:3:1: unknown key \"PATH\"\n  hint: write `env: {PATH: /usr/local/bin:/usr/bin:/bin}`",
		"schedule.yaml:4:1: unknown key \"nohup\"\n  hint: write `background: true` in a task, or under `defaults:` for all of them",
		"schedule.yaml:5:1: unknown key \"crons\"\n  hint: did you mean \"tasks\"?",
		"schedule.yaml:6:1: unknown key \"exec_condition\"\n  hint: write `when` in a task, or under `defaults:` for all of them",
		"schedule.yaml:7:1: unknown key \"cron_tz\"\n  hint: did you mean \"timezone\"?"}},
	{"labels with spaces, and with other signs", one("servers: ['role = db', 'role: db', 'role==db', 'role != db', 'a, b', 'a, role = b']"), []string{
		"schedule.yaml:5:13: task \"t\": servers: \"role = db\" is not a label\n  hint: a label is written role=db",
		"schedule.yaml:5:26: task \"t\": servers: \"role: db\" is not a label\n  hint: a label is written role=db",
		"schedule.yaml:5:38: task \"t\": servers: \"role==db\" is not a label\n  hint: a label is written role=db",
		"schedule.yaml:5:50: task \"t\": servers: \"role != db\" is not a label\n  hint: name those that run it: there is no word for all but one",
		"schedule.yaml:5:64: task \"t\": servers: \"a, b\" is neither the name of a server nor a label\n  hint: write a list: [a, b]",
		"schedule.yaml:5:72: task \"t\": servers: \"a, role = b\" is neither the name of a server nor a label\n  hint: write a list of names and of labels without spaces, as in [web-1, role=db]"}},
	{"a crontab line with its user", "tasks:\n- name: t\n  cron: 0 5 * * * root /bin/x\n  command: x\n", []string{
		"schedule.yaml:3:9: task \"t\": cron \"0 5 * * * root /bin/x\": \"root /bin/x\" is no field\n  hint: the command of a crontab line has its own key, command:, and the user before it user:"}},
	{"a crontab line with its command", "tasks:\n- name: t\n  cron: 0 5 * * * /bin/x\n  command: x\n", []string{
		"schedule.yaml:3:9: task \"t\": cron \"0 5 * * * /bin/x\": \"/bin/x\" is no field\n  hint: the command of a crontab line has its own key, command:, and the user before it user:"}},
	{"daily, which is a day", "tasks:\n- name: t\n  every: daily at 13:00\n  command: x\n", []string{
		"schedule.yaml:3:10: task \"t\": every \"daily at 13:00\": \"daily\" is not a word for a frequency\n  hint: did you mean \"day at 13:00\"?"}},
	{"a method of Laravel", one("runInBackground: true"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"runInBackground\"\n  hint: did you mean \"background\"?"}},
	{"a method of Laravel that says when", "tasks:\n- name: t\n  dailyAt: '13:00'\n  command: x\n", []string{
		"schedule.yaml:3:3: task \"t\": unknown key \"dailyAt\"\n  hint: write `every: day at 13:00`"}},
	{"a method of Laravel for mails", one("emailOutputOnFailure: ops@example.com"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"emailOutputOnFailure\"\n  hint: write `on_failure: {mail: ADDRESS}`"}},
	{"whom to tell, and as whom", one("notify: ops@example.com\nrun_as: www-data"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"notify\"\n  hint: write `on_failure: {mail: ADDRESS}`",
		"schedule.yaml:6:3: task \"t\": unknown key \"run_as\"\n  hint: did you mean \"user\"?"}},
	{"a task that comes after another", one("depends_on: other"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"depends_on\"\n  hint: one task starts another: write `on_success: {trigger: NAME}` in the task that comes first"}},
	{"how many runs at once", one("max_parallel: 3\nconcurrency: 1\nmaxConcurrentRuns: 2\nwait: true"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"max_parallel\"\n  hint: " + atOnce,
		"schedule.yaml:6:3: task \"t\": unknown key \"concurrency\"\n  hint: " + atOnce,
		"schedule.yaml:7:3: task \"t\": unknown key \"maxConcurrentRuns\"\n  hint: " + atOnce,
		"schedule.yaml:8:3: task \"t\": unknown key \"wait\"\n  hint: a run that waits for the run before it: `without_overlapping: wait`, in a task"}},
	{"how many runs at once, for all tasks", "concurrency: 3\ndefaults: {max_parallel: 3}\n" + one(""), []string{
		"schedule.yaml:1:1: unknown key \"concurrency\"\n  hint: " + atOnce,
		"schedule.yaml:2:12: defaults: unknown key \"max_parallel\"\n  hint: " + atOnce}},
	{"variables as a list", one("env: [A=b]"), []string{
		"schedule.yaml:5:8: task \"t\": env must be a mapping of keys and values, not a list\n  hint: write {NAME: value}, or a line `NAME: value` for each, without \"-\""}},

	// true is no text: it once was the name of a mutex, a file called true, and a hook that did
	// nothing. false takes away what is inherited.
	{"a mutex that is true", one("mutex: true"), []string{
		"schedule.yaml:5:10: task \"t\": mutex must be text, not true\n  hint: leave the key out for a mutex of its own name; `without_overlapping` says whether it is taken"}},
	{"an output that is true", one("output: true"), []string{
		"schedule.yaml:5:11: task \"t\": output must be text, not true\n  hint: leave the key out for no copy: what a task prints is kept anyway (sched logs)"}},
	{"a hook that is true", one("before: true"), []string{
		"schedule.yaml:5:11: task \"t\": before must be text, not true\n  hint: leave the key out for no hook, or write false against one that is inherited; the command is written \"true\""}},
	{"a folder that is true", one("dir: true"), []string{
		"schedule.yaml:5:8: task \"t\": dir must be text, not true\n  hint: write it in quotes if that is its name"}},
	{"a user that is true", one("user: true"), []string{
		"schedule.yaml:5:9: task \"t\": user must be text, not true\n  hint: write it in quotes if that is its name"}},
	{"a file of an output that is true", one("output: {file: true}"), []string{
		"schedule.yaml:5:18: task \"t\": output.file must be text, not true\n  hint: write it in quotes if that is its name"}},
	{"patterns that each tick would read for long", one("params:\n  A: {default: a, pattern: '\\pL{999}\\pL{999}\\pL{999}\\pL{999}\\pL{999}\\pL{999}'}\n" +
		"  B: {default: a, pattern: '" + strings.Repeat("a", 501) + "'}\n  C: {default: a, pattern: 'a{999}|a'}"), []string{
		"schedule.yaml:6:30: task \"t\": params.A.pattern \"\\\\pL{999}\\\\pL{999}\\\\pL{999}\\\\pL{999}\\\\pL{999}\\\\pL{999}\" would take each tick too long to read\n  hint: repeat less, or look at the value in the command",
		"schedule.yaml:7:30: task \"t\": params.B.pattern is longer than 500 bytes\n  hint: look at the value in the command"}},
	{"params that nobody could set", one(strings.Join([]string{
		`params:`,
		`  SCHED_RUN: x`,
		`  PATH: x`,
		`  LD_PRELOAD: x`,
		`  2nd: x`,
		`  A-B: x`,
		`  A:`,
		`  B: [x]`,
		`  C: ${HOME}/x`,
		`  D: {default: c, values: [a, b]}`,
		`  E: {default: "", pattern: '\d+'}`,
		`  F: {default: 12 or 13, pattern: '\d+|x'}`,
		`  G: {default: a, pattern: 'a)|(b'}`,
		`  H: {default: a, values: [a], pattern: a}`,
		`  I: {default: a, values: []}`,
		`  J: {default: a, matches: a}`,
		`  K: "a\nb"`,
		`  L: {values: [a]}`,
		`  M: ok`,
		`  M: twice`,
	}, "\n")), []string{
		"schedule.yaml:6:5: task \"t\": params: \"SCHED_RUN\" is a variable that sched sets itself\n  hint: choose another name",
		"schedule.yaml:7:5: task \"t\": params: \"PATH\" cannot be a param: it decides which programs run\n  hint: choose another name",
		"schedule.yaml:8:5: task \"t\": params: \"LD_PRELOAD\" cannot be a param: it decides which programs run\n  hint: choose another name",
		"schedule.yaml:9:5: task \"t\": params: \"2nd\" cannot name a param\n  hint: use letters, digits and _, and begin with a letter or _",
		"schedule.yaml:10:5: task \"t\": params: \"A-B\" cannot name a param\n  hint: use letters, digits and _, and begin with a letter or _",
		"schedule.yaml:11:7: task \"t\": params.A has no value\n  hint: write \"\" for an empty default, or {} for none",
		"schedule.yaml:12:8: task \"t\": params.B must be text, not a list",
		"schedule.yaml:13:8: task \"t\": params.C: ${…} is not expanded in a param\n  hint: write a plain text, and let the command find the rest",
		"schedule.yaml:14:18: task \"t\": the default of params.D: \"c\" is not among its values: a, b\n  hint: the default must be a value that people may set, too",
		"schedule.yaml:15:18: task \"t\": the default of params.E: \"\" does not match the pattern \\d+\n  hint: the default must be a value that people may set, too",
		"schedule.yaml:16:18: task \"t\": the default of params.F: \"12 or 13\" does not match the pattern \\d+|x\n  hint: the default must be a value that people may set, too",
		"schedule.yaml:17:30: task \"t\": params.G.pattern \"a)|(b\" is no regular expression: unexpected ): `a)|(b`\n  hint: write it in the syntax of RE2",
		"schedule.yaml:18:43: task \"t\": params.H has values and a pattern\n  hint: keep one of the two",
		"schedule.yaml:19:29: task \"t\": params.I.values is an empty list",
		"schedule.yaml:20:21: task \"t\": unknown key \"matches\" in params.J\n  hint: the keys here are default, values, pattern",
		"schedule.yaml:21:8: task \"t\": the default of params.K: \"a\\nb\" is not one line of text\n  hint: the default must be a value that people may set, too",
		"schedule.yaml:22:8: task \"t\": params.L has no default, and the task has a time: nobody gives it a value then\n  hint: give it a default, or take the time of the task away",
		"schedule.yaml:24:5: task \"t\": params: \"M\" is given twice, first at line 23\n  hint: remove one of the two"}},
	{"params as a list", one("params: [DAY]"), []string{
		"schedule.yaml:5:11: task \"t\": params must be a mapping of keys and values, not a list\n  hint: write {NAME: default}, or a line `NAME: default` for each, without \"-\""}},
	{"params as a text", one("params: DAY"), []string{
		"schedule.yaml:5:11: task \"t\": params must be a mapping of keys and values, not the text \"DAY\"\n  hint: write {NAME: default}, or a line `NAME: default` for each, without \"-\""}},
	{"a variable in env and in params", one("env: {DAY: x}\nparams: {DAY: y}"), []string{
		"schedule.yaml:6:17: task \"t\": DAY is in env and in params\n  hint: keep one of the two"}},
	{"a param without a default in defaults, and a hook that gives it no value", "defaults: {params: {DAY: {}}}\ntasks:\n- {name: t, every: hour, command: x, params: {DAY: today}, after: {trigger: u}}\n- {name: u, command: y}\n- {name: v, command: y}\n", []string{
		"schedule.yaml:3:77: task \"t\": trigger: u has a param without a default, and a hook gives it no value\n  hint: give its params defaults"}},
	{"environments that are true", one("environments: [true]"), []string{
		"schedule.yaml:5:18: task \"t\": environments must be text, not true\n  hint: write it in quotes if that is its name"}},
	{"paths and names of the top that are true or false", "environment: true\ntimezone: false\nstate_dir: true\nholidays: true\nmaintenance_file: false\nmetrics: {textfile: true}\n", []string{
		"schedule.yaml:1:14: environment must be text, not true\n  hint: write it in quotes if that is its name",
		"schedule.yaml:2:11: timezone must be text, not false\n  hint: write it in quotes if that is its name",
		"schedule.yaml:3:12: state_dir must be text, not true\n  hint: write it in quotes if that is its name",
		"schedule.yaml:4:11: holidays must be text, not true\n  hint: write it in quotes if that is its name",
		"schedule.yaml:5:19: maintenance_file must be text, not false\n  hint: write it in quotes if that is its name",
		"schedule.yaml:6:21: metrics.textfile must be text, not true\n  hint: write it in quotes if that is its name"}},
	{"a name, a description and a tag that are true", "name: true\ntasks:\n- name: true\n  every: hour\n  command: x\n  description: true\n  tags: [a, true]\n", []string{
		"schedule.yaml:1:7: name must be text, not true\n  hint: write it in quotes if that is its name",
		"schedule.yaml:3:9: task \"true\": name must be text, not true\n  hint: write it in quotes if that is its name",
		"schedule.yaml:6:16: task \"true\": description must be text, not true\n  hint: say what the task is for, or leave the key out",
		"schedule.yaml:7:13: task \"true\": tags must be text, not true\n  hint: write it in quotes if that is its name"}},
	{"an env_file that is true", one("env_file: true"), []string{
		"schedule.yaml:5:13: task \"t\": env_file must be text, not true\n  hint: write false for none"}},

	// The store.
	{"a store without a name", "store: redis://a\ntasks: []\n", []string{
		"schedule.yaml:1:8: a store needs a name\n  hint: add `name:`; servers that share a store meet under the name of their schedule"}},
	{"a URL that the store refuses", "name: shop\nstore: [redis://a, refused://me:secret@b]\ntasks: []\n", []string{
		"schedule.yaml:2:8: refused is no store\n  hint: take another"}},
	{"no servers", "name: shop\nstore: []\ntasks: []\n", []string{
		"schedule.yaml:2:8: store is an empty list\n  hint: leave the key out for locks on this machine alone"}},
	{"one of the servers is empty", "name: shop\nstore: [redis://a, \"${EMPTY}\"]\ntasks: []\n", []string{
		"schedule.yaml:2:20: an empty server in store"}},
	{"a lease without a store", "lease: 30s\ntasks: []\n", []string{
		"schedule.yaml:1:8: lease does nothing without a store\n  hint: add `store:`; the locks of one machine need no lease"}},
	{"a lease that no network renews in time", "name: shop\nstore: redis://a\nlease: 1s\ntasks: []\n", []string{
		"schedule.yaml:3:8: lease 1s is too short\n  hint: it takes at least 5s"}},
	{"true for the name of a machine", "server: true\ntasks: []\n", []string{
		"schedule.yaml:1:9: server must be text, not true\n  hint: leave the key out for the host name"}},
	{"what no machine is called", "server: web 7\ntasks: []\n", []string{
		"schedule.yaml:1:9: server \"web 7\" is not a valid name\n  hint: use letters, digits and . _ -, and begin with a letter or a digit"}},
	{"a store in a task", one("store: redis://a"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"store\"\n  hint: it belongs at the top of the file, not in a task"}},
	{"a word for a lost lease", one("on_lost_lease: kill"), []string{
		"schedule.yaml:5:18: task \"t\": on_lost_lease must be continue or stop, not the text \"kill\""}},

	// Broken YAML.
	{"a tab in the indentation", "tasks:\n- name: a\n\tcommand: x\n", []string{
		"schedule.yaml:3:1: the indentation holds a tab\n  hint: indent with spaces"}},
	{"a macro without quotes", "tasks:\n- name: a\n  cron: @daily\n", []string{
		"schedule.yaml:3:9: text cannot start with this character\n  hint: put the text in quotes, as in `cron: \"@daily\"`"}},
	{"a percent sign without quotes", "tasks:\n- name: a\n  command: %d\n", []string{
		"schedule.yaml:3:12: text cannot start with this character\n  hint: put the text in quotes"}},
	{"a test of bash without quotes", "tasks:\n- name: a\n  command: [[ -f x ]] && y\n", []string{
		"schedule.yaml:3:12: something follows the closing bracket\n  hint: put the whole text in quotes"}},
	{"a redirection without quotes", "tasks:\n- name: a\n  command: > out.log\n", []string{
		"schedule.yaml:3:12: text cannot start with this character\n  hint: put the text in quotes"}},
	{"stars without quotes", "tasks:\n- name: a\n  cron: */5 * * * *\n  command: x\n", []string{
		"schedule.yaml:3:9: text cannot start with this character\n  hint: put the text in quotes, as in `cron: \"*/5 * * * *\"`"}},
	{"a colon in a command", "tasks:\n- name: a\n  command: echo a: b\n", []string{
		"schedule.yaml:3:18: a second \": \" in one line\n  hint: put the text in quotes, or start a new line"}},
	{"text after quotes", "tasks:\n- name: a\n  command: \"my app\" --all\n  every: hour\n", []string{
		"schedule.yaml:3:12: something follows the closing quote or bracket\n  hint: put the whole text in quotes, or write it after `|` on a line of its own"}},
	{"a key that is indented too little, far down",
		"name: a\nenv: {A: b}\ntasks:\n- name: a\n  command: x\n\n- name: b\n command: x\n", []string{
			"schedule.yaml:8:2: this line does not fit the ones above\n  hint: check the indentation, and the quotes and brackets"}},
	{"quotes that are never closed", "tasks:\n- name: a\n  command: \"x\n  every: hour\n", []string{
		"schedule.yaml:3:12: the quotes are not closed\n  hint: close them where the text ends"}},
	{"a bracket that is never closed", "tasks:\n- name: a\n  command: [x\n", []string{
		"schedule.yaml:3:3: a comma or the closing bracket is missing\n  hint: inside {…} and […] commas part the values; a text with a comma, a bracket or \": \" needs quotes"}},
	{"a colon in a text in braces", "tasks:\n- {name: a, every: day, command: backup \"x: y\"}\n", []string{
		"schedule.yaml:2:43: a second \": \" in a value inside {…}\n  hint: put a comma before a new key; else put the whole value in quotes, or write each key on a line of its own"}},
	{"a comment in a text in braces", "tasks:\n- {name: a, every: day, command: backup #1}\n", []string{
		"schedule.yaml:2:41: a \"#\" after a blank begins a comment, also inside {…}\n  hint: put the whole value in quotes, or write each key on a line of its own"}},
	{"a brace in a text in braces", "tasks:\n- {name: a, every: day, command: echo {a}}\n", []string{
		"schedule.yaml:2:39: a bracket in a value inside {…}\n  hint: put the whole value in quotes, or write each key on a line of its own"}},
	{"text after quotes in braces", "tasks:\n- {name: a, every: day, command: \"x\" y}\n", []string{
		"schedule.yaml:2:34: something follows the closing quote\n  hint: put the whole text in quotes, or write each key on a line of its own"}},
	{"a variable in a mapping in braces", "env: {A: b, C: ${HOME}/x}\n", []string{
		"schedule.yaml:1:16: a brace inside a mapping or a list in brackets\n  hint: put the text with ${…} in quotes there"}},
	{"a key without a colon", "tasks:\n- name: a\n  command x\n  every: hour\n", []string{
		"schedule.yaml:3:3: a key without `:`\n  hint: write `key: value`; check the indentation"}},
	{"a merge conflict", "tasks:\n<<<<<<< HEAD\n- name: a\n=======\n- name: b\n>>>>>>> x\n", []string{
		"schedule.yaml:2:1: a mark of a merge conflict\n  hint: decide for one of the two versions"}},
	{"an alias of nothing", "name: *x\n", []string{
		"schedule.yaml:1:7: an alias of something that is not there\n  hint: text that starts with \"*\" needs quotes"}},
	{"an alias inside its own value", "tasks: &a\n- *a\n", []string{
		"schedule.yaml:2:3: the alias *a is inside the value it stands for"}},
	{"a billion laughs", laughs(), []string{
		"schedule.yaml:5:20: the aliases of this file stand for more than 16 MiB"}},
	{"something very deep", "name: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n", []string{
		"schedule.yaml:1:106: this is nested more than 100 deep"}},
	{"a tag", one("description: !mine x"), []string{
		"schedule.yaml:5:16: the tag !mine means nothing here\n  hint: text that starts with \"!\" needs quotes"}},
	{"a negated command", "tasks:\n- name: t\n  every: minute\n  command: ! pgrep x\n", []string{
		"schedule.yaml:4:12: YAML takes this \"!\" for a tag, and drops it\n  hint: text that starts with \"!\" needs quotes"}},
	{"a merge key that merges a text", one("<<: x"), []string{
		"schedule.yaml:5:7: \"<<\" takes a mapping, or a list of mappings, not the text \"x\""}},

	// Keys.
	{"an unknown key at the top", "task: []\n", []string{
		"schedule.yaml:1:1: unknown key \"task\"\n  hint: did you mean \"tasks\"?"}},
	{"an unknown key that is like no other", "colour: red\ntasks: []\n", []string{
		"schedule.yaml:1:1: unknown key \"colour\"\n  hint: the keys here are name, timezone, environment, store, lease, server, state_dir, env, include, pools, history, metrics, logs, mail, holidays, calendars, assert, pauses, maintenance_file, defaults, tasks"}},
	{"a key of tasks at the top", "timeout: 1h\ntasks: []\n", []string{
		"schedule.yaml:1:1: unknown key \"timeout\"\n  hint: it is a key of tasks: put it into a task, or under `defaults:` for all of them"}},
	{"a misspelt key of a task is not missing too", "tasks:\n- name: t\n  every: minute\n  comand: x\n", []string{
		"schedule.yaml:4:3: task \"t\": unknown key \"comand\"\n  hint: did you mean \"command\"?"}},
	{"a word of another scheduler", "tasks:\n- name: t\n  interval: minute\n  command: x\n", []string{
		"schedule.yaml:3:3: task \"t\": unknown key \"interval\"\n  hint: did you mean \"every\"?"}},
	{"words for runs that overlap", one("allow_overlap: false"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"allow_overlap\"\n  hint: write `without_overlapping: true`"}},
	{"words of other schedulers for keys of a task", one("working_dir: x\nsingleton: true\nlock: x\nif: x\nsecrets_file: x\ncatchup: true\nstdout: x\nmax_attempts: 3"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"working_dir\"\n  hint: did you mean \"dir\"?",
		"schedule.yaml:6:3: task \"t\": unknown key \"singleton\"\n  hint: write `without_overlapping: true`",
		"schedule.yaml:7:3: task \"t\": unknown key \"lock\"\n  hint: write `without_overlapping: true`",
		"schedule.yaml:8:3: task \"t\": unknown key \"if\"\n  hint: did you mean \"when\"?",
		"schedule.yaml:9:3: task \"t\": unknown key \"secrets_file\"\n  hint: did you mean \"env_file\"?",
		"schedule.yaml:10:3: task \"t\": unknown key \"catchup\"\n  hint: write `missed: once`",
		"schedule.yaml:11:3: task \"t\": unknown key \"stdout\"\n  hint: did you mean \"output\"?",
		"schedule.yaml:12:3: task \"t\": unknown key \"max_attempts\"\n  hint: did you mean \"retry\"?"}},
	{"a backoff in words", one("retry: {attempts: 2, backoff: exponential}"), []string{
		"schedule.yaml:5:33: task \"t\": retry.backoff must be a number, not the text \"exponential\"\n" +
			"  hint: write a factor: with `backoff: 2` each wait is twice as long as the one before"}},
	{"a deadline that may be one of several", one("deadline: 5m"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"deadline\"\n  hint: start_deadline bounds how late it starts, " +
			"timeout how long an attempt takes, and expect says when it is overdue"}},
	{"the times as other schedulers have them", "tasks:\n- name: t\n  schedule: 0 3 * * *\n  command: x\n", []string{
		"schedule.yaml:3:13: task \"t\": schedule must be a list of times with values, not the text \"0 3 * * *\"\n" +
			"  hint: for times without values write `cron: …` or `every: …`"}},
	{"a key of the top in a task", one("history: {keep: 1h}"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"history\"\n  hint: it belongs at the top of the file, not in a task"}},
	{"a hook as a key of a task", one("mail: ops@example.com"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"mail\"\n  hint: it is a hook, as in `on_failure: {mail: …}`"}},
	{"a service as a key of a task", one("slack: URL\ntelegram: x\non_skip: {gotify: x}"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"slack\"\n  hint: write `on_failure: {webhook: URL, format: slack}`",
		"schedule.yaml:6:3: task \"t\": unknown key \"telegram\"\n  hint: write `on_failure: {preset: telegram, with: {…}}`",
		"schedule.yaml:7:13: task \"t\": unknown key \"gotify\" in on_skip\n  hint: write {preset: gotify, with: {…}}"}},
	{"the environment in a task", one("environment: x"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"environment\"\n  hint: variables are set by `env`, and `environments` are those in which it runs; the environment itself is set at the top of the file"}},
	{"an unknown key in a mapping of a task", one("retry: {attempts: 2, delya: 1s}"), []string{
		"schedule.yaml:5:24: task \"t\": unknown key \"delya\" in retry\n  hint: did you mean \"delay\"?"}},
	{"unknown keys in hooks", one("after: {pong: x}\non_failure: [{slack: x}, {colour: x}, {command: x}]"), []string{
		"schedule.yaml:5:11: task \"t\": unknown key \"pong\" in after\n  hint: did you mean \"ping\"?",
		"schedule.yaml:6:17: task \"t\": unknown key \"slack\" in on_failure\n  hint: write {webhook: URL, format: slack}; Mattermost takes what Slack does",
		"schedule.yaml:6:29: task \"t\": unknown key \"colour\" in on_failure\n  hint: the keys here are run, trigger, ping, webhook, mail, sentry, preset, with, on, format, after, when, at_most",
		"schedule.yaml:6:42: task \"t\": unknown key \"command\" in on_failure\n  hint: did you mean \"run\"?"}},
	{"whom to tell in place of a command", one("on_failure: ops@example.com\non_skip: [mailto:a@example.com, 'a@example.com, b@example.com']\n" +
		"after: https://example.com/SECRET\non_success: https://hooks.slack.com/services/T0/SECRET\nbefore: {run: https://example.com/SECRET}"), []string{
		"schedule.yaml:5:15: task \"t\": on_failure: \"ops@example.com\" is a mail address, not a command\n  hint: write {mail: ops@example.com}",
		"schedule.yaml:6:13: task \"t\": on_skip: \"mailto:a@example.com\" is a mail address, not a command\n  hint: write {mail: a@example.com}",
		"schedule.yaml:6:35: task \"t\": on_skip: \"a@example.com, b@example.com\" is a mail address, not a command\n  hint: write {mail: [a@example.com, b@example.com]}",
		"schedule.yaml:7:10: task \"t\": after: this is a URL, not a command\n  hint: write {webhook: URL}, or {ping: URL} for one that is only fetched",
		"schedule.yaml:8:15: task \"t\": on_success: this is a URL, not a command\n  hint: write {webhook: \"${SLACK_URL}\", format: slack}",
		"schedule.yaml:9:17: task \"t\": before.run: this is a URL, not a command\n  hint: write {webhook: URL}, or {ping: URL} for one that is only fetched"}},
	{"words for the bounds of a mapping", one("retry: {max: 3}\nreport: {rows: {min: 1}, size: {gt: 0}, errors: {max: 5}}"), []string{
		"schedule.yaml:5:11: task \"t\": unknown key \"max\" in retry\n  hint: did you mean \"attempts\"?",
		"schedule.yaml:6:19: task \"t\": unknown key \"min\" in report.rows\n  hint: did you mean \"at_least\"?",
		"schedule.yaml:6:35: task \"t\": unknown key \"gt\" in report.size\n  hint: write `at_least`, which allows the bound itself",
		"schedule.yaml:6:52: task \"t\": unknown key \"max\" in report.errors\n  hint: did you mean \"at_most\"?"}},
	{"numbers behind words of other programs", one("timeout-minutes: 30\nattempts: 5\nmin_rows: some"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"timeout-minutes\"\n  hint: write `timeout: 30m`",
		"schedule.yaml:6:3: task \"t\": unknown key \"attempts\"\n  hint: write `retry: {attempts: 5}`",
		"schedule.yaml:7:3: task \"t\": unknown key \"min_rows\"\n  hint: write `report: {rows: {at_least: 1}}`"}},
	{"words that no key stands for", one("max_retries: 3\ncontinue-on-error: true\nsuccessfulJobsHistoryLimit: 3\ncheck: x\nmax_running: 2\nwhatever: x"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"max_retries\"\n  hint: write `retry: {attempts: N}`: N counts the first attempt, too",
		"schedule.yaml:6:3: task \"t\": unknown key \"continue-on-error\"\n  hint: a task that fails stops no other; `success_codes` says which exit codes are no failure",
		"schedule.yaml:7:3: task \"t\": unknown key \"successfulJobsHistoryLimit\"\n  hint: write `history: {runs_per_task: 200}` at the top of the file",
		"schedule.yaml:8:3: task \"t\": unknown key \"check\"\n  hint: `report` judges the numbers of a run, `require` its files, and `fail_if` what it prints",
		"schedule.yaml:9:3: task \"t\": unknown key \"max_running\"\n  hint: " + atOnce,
		"schedule.yaml:10:3: task \"t\": unknown key \"whatever\"\n  hint: docs/schedule-yaml.md lists the keys of tasks"}},
	{"the schedule of Celery", "beat_schedule: {a: {task: x}}\n" + one(""), []string{
		"schedule.yaml:1:1: unknown key \"beat_schedule\"\n  hint: this is the schedule of Celery: write a task for each entry, under `tasks:`"}},
	{"values that other words say", one("timeout: 0\none_server: web-1\nsuccess_codes: 0-3\nwarn_codes: [7-5]"), []string{
		"schedule.yaml:5:12: task \"t\": timeout 0 would end every attempt at once\n  hint: write false for a task without a timeout",
		"schedule.yaml:6:15: task \"t\": one_server must be true or false, not the text \"web-1\"\n  hint: write `one_server: true` and `prefer: [web-1]`",
		"schedule.yaml:7:18: task \"t\": success_codes must be a whole number, not the text \"0-3\"\n  hint: write [0, 1, 2, 3]",
		"schedule.yaml:8:16: task \"t\": warn_codes must be a whole number, not the text \"7-5\""}},
	{"a key given twice", one("command: y"), []string{
		"schedule.yaml:5:3: task \"t\": \"command\" is given twice, first at line 4\n  hint: remove one of the two"}},
	{"a key given twice in what is merged", "x-slow: &slow {timeout: 5m, timeout: 6m}\n" + one("<<: *slow"), []string{
		"schedule.yaml:1:29: task \"t\": \"timeout\" is given twice, first at line 1\n  hint: remove one of the two"}},
	{"a variable given twice", "env:\n  A: 1\n  A: 2\ntasks: []\n", []string{
		"schedule.yaml:3:3: env: \"A\" is given twice, first at line 2\n  hint: remove one of the two"}},
	{"a key that is a list", one("[a]: b"), []string{
		"schedule.yaml:5:3: task \"t\": a key must be text, not a list"}},
	{"hooks as one key, and a task that it depends on", one("hooks: {failure: x}\ndependencies: [a]\nlog_file: x"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"hooks\"\n  hint: hooks are keys of the task itself, such as on_failure",
		"schedule.yaml:6:3: task \"t\": unknown key \"dependencies\"\n  hint: one task starts another: write `on_success: {trigger: NAME}` in the task that comes first",
		"schedule.yaml:7:3: task \"t\": unknown key \"log_file\"\n  hint: did you mean \"output\"?"}},
	{"a text that is not indented", "tasks:\n- name: t\n  command: |\n  echo a\n  echo b\n", []string{
		"schedule.yaml:4:3: the text of the key above is not indented\n  hint: indent its lines further than the key"}},
	{"times with their zones", one("from: 2026-12-24 18:00 CET\nuntil: 2026-12-25 18:00:00+01:00"), []string{
		"schedule.yaml:5:9: task \"t\": from \"2026-12-24 18:00 CET\" is not a date, or a date with a time\n  hint: a time with its zone is written as 2026-12-24T18:00:00+01:00",
		"schedule.yaml:6:10: task \"t\": until \"2026-12-25 18:00:00+01:00\" is not a date, or a date with a time\n  hint: a time with its zone is written as 2026-12-24T18:00:00+01:00"}},
	{"days in one text", one("days: [mon fri, Mo]"), []string{
		"schedule.yaml:5:10: task \"t\": days: the text \"mon fri\" is not a day of the week\n  hint: days are written as monday or mon, weekdays, or [mon, wed]",
		"schedule.yaml:5:19: task \"t\": days: the text \"Mo\" is not a day of the week\n  hint: days are written as monday or mon, weekdays, or [mon, wed]"}},
	{"metrics that are only wanted", "metrics: true\ntasks: []\n", []string{
		"schedule.yaml:1:10: metrics must be a mapping of keys and values, not true\n  hint: write it as in `metrics: {textfile: /var/lib/node_exporter/textfile/shop.prom}`"}},
	{"a name in the defaults", "defaults: {name: a}\ntasks: []\n", []string{
		"schedule.yaml:1:12: defaults: \"name\" does not belong in defaults\n  hint: put it into the tasks themselves"}},
	{"a command and a time in the defaults", "defaults: {command: a, cron: x, every: minute}\ntasks: []\n", []string{
		"schedule.yaml:1:12: defaults: \"command\" does not belong in defaults\n  hint: put it into the tasks themselves",
		"schedule.yaml:1:24: defaults: \"cron\" does not belong in defaults\n  hint: put it into the tasks themselves",
		"schedule.yaml:1:33: defaults: \"every\" does not belong in defaults\n  hint: put it into the tasks themselves"}},

	// Values at the top.
	{"a name with a space", "name: my shop\ntasks: []\n", []string{
		"schedule.yaml:1:7: name \"my shop\" is not a valid name\n  hint: did you mean \"my-shop\"? Use letters, digits and . _ : / -, and begin with a letter or a digit"}},
	{"no such time zone", "timezone: asia/shanghai\ntasks: []\n", []string{
		"schedule.yaml:1:11: timezone \"asia/shanghai\" is not a known time zone\n  hint: did you mean \"Asia/Shanghai\"?"}},
	{"hours from UTC for a time zone", "timezone: GMT+2\ntasks: []\n", []string{
		"schedule.yaml:1:11: timezone \"GMT+2\" is not a known time zone\n  hint: write the zone of a place, as \"Europe/Berlin\"; the same offset all year is \"Etc/GMT-2\""}},
	{"MAILTO at the top", "MAILTO: a@example.com\ntasks: []\n", []string{
		"schedule.yaml:1:1: unknown key \"MAILTO\"\n  hint: write `defaults: {after: {mail: ADDRESS, when: output}}`"}},
	{"the words of systemd and Kubernetes", one("OnCalendar: daily\nPersistent: true\nstartingDeadlineSeconds: 60\nsuspend: true\ndisabled: true\nMAILTO: a"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"OnCalendar\"\n  hint: write `every: day at 2:30`",
		"schedule.yaml:6:3: task \"t\": unknown key \"Persistent\"\n  hint: write `missed: once`",
		"schedule.yaml:7:3: task \"t\": unknown key \"startingDeadlineSeconds\"\n  hint: did you mean \"start_deadline\"?",
		"schedule.yaml:8:3: task \"t\": unknown key \"suspend\"\n  hint: write `enabled: false`",
		"schedule.yaml:9:3: task \"t\": unknown key \"disabled\"\n  hint: write `enabled: false`",
		"schedule.yaml:10:3: task \"t\": unknown key \"MAILTO\"\n  hint: write `after: {mail: ADDRESS, when: output}`"}},
	{"a city for a time zone", "timezone: new york\ntasks: []\n", []string{
		"schedule.yaml:1:11: timezone \"new york\" is not a known time zone\n  hint: did you mean \"America/New_York\"?"}},
	{"an offset for a time zone", "timezone: +08:00\ntasks: []\n", []string{
		"schedule.yaml:1:11: timezone \"+08:00\" is not a known time zone\n  hint: write the zone of a place, as \"Europe/Berlin\"; the same offset all year is \"Etc/GMT-8\""}},
	{"the zone of the machine by name", "timezone: local\ntasks: []\n", []string{
		"schedule.yaml:1:11: timezone \"local\" is not a known time zone\n  hint: leave the key out for the zone of the machine"}},
	{"a key without a value", "name:\ntasks:\n", []string{
		"schedule.yaml:1:6: name has no value\n  hint: write it as in `name: shop`",
		"schedule.yaml:2:7: tasks has no value\n  hint: begin each task with `- name: NAME`"}},
	{"a variable that is not set", "environment: ${APP_ENV}\ntasks: []\n", []string{
		"schedule.yaml:1:14: environment: the variable APP_ENV is not set\n  hint: set it here and above the line of the crontab (`env` and `env_file` are for commands), or write ${APP_ENV:-default}"}},
	{"a variable that is empty", "environment: ${EMPTY}\ntasks: []\n", []string{
		"schedule.yaml:1:14: environment is empty"}},
	{"variables that would switch off what they are for", "name: shop\nstore: ${EMPTY}\nserver: ${EMPTY}\n" +
		"mail: {url: '${EMPTY}', from: '${EMPTY}'}\ntasks: []\n", []string{
		"schedule.yaml:2:8: store is empty: $EMPTY is set to nothing\n  hint: write ${EMPTY:-} if a machine may have no store",
		"schedule.yaml:3:9: server is empty: $EMPTY is set to nothing\n  hint: write ${EMPTY:-} if a machine may have its host name",
		"schedule.yaml:4:13: mail.url is empty: $EMPTY is set to nothing\n  hint: write ${EMPTY:-} if a machine may send by its sendmail",
		"schedule.yaml:4:31: mail.from is empty: $EMPTY is set to nothing\n  hint: write ${EMPTY:-} if a machine may have its own address"}},
	{"an open brace", "environment: ${APP\ntasks: []\n", []string{
		"schedule.yaml:1:14: environment: ${ without }\n  hint: write $${ for a literal ${"}},
	{"an expansion only a shell knows", "environment: ${APP:?no}\ntasks: []\n", []string{
		"schedule.yaml:1:14: environment: \"APP:?no\" is not the name of a variable\n  hint: only ${VAR}, ${VAR:-default}, ${file:PATH} and ${credential:NAME} are expanded; write $${ for a literal ${"}},
	{"a home folder", "state_dir: ~/x\ntasks: []\n", []string{
		"schedule.yaml:1:12: state_dir \"~/x\": \"~\" is not expanded here\n  hint: write ${HOME}/x"}},
	{"variables that are a list", "env: [A]\ntasks: []\n", []string{
		"schedule.yaml:1:6: env must be a mapping of keys and values, not a list\n  hint: write {NAME: value}, or a line `NAME: value` for each, without \"-\""}},
	{"variables with wrong names and values", "env: {'a=b': c, D: [e], F: }\ntasks: []\n", []string{
		"schedule.yaml:1:7: env: \"a=b\" cannot name a variable",
		"schedule.yaml:1:20: env.D must be text, not a list",
		"schedule.yaml:1:28: env.F has no value\n  hint: write \"\" for an empty one"}},
	{"history with wrong values", "history: {keep: 30, runs_per_task: 0}\ntasks: []\n", []string{
		"schedule.yaml:1:17: history.keep 30 has no unit\n  hint: write 30s, 30m or 30h",
		"schedule.yaml:1:36: history.runs_per_task must be at least 1, not 0"}},
	{"failures that are kept for less than other runs",
		"history: {keep: 90d, keep_failures: 30d}\ntasks: []\n", []string{
			"schedule.yaml:1:10: history.keep_failures is less than history.keep\n  hint: failures are kept at least as long as other runs"}},
	{"history that is a text", "history: 30d\ntasks: []\n", []string{
		"schedule.yaml:1:10: history must be a mapping of keys and values, not the text \"30d\"\n  hint: write it as in `history: {keep: 90d, runs_per_task: 200}`"}},
	{"metrics without a textfile", "metrics: {}\ntasks: []\n", []string{
		"schedule.yaml:1:10: metrics has no textfile\n  hint: write {textfile: PATH}"}},
	{"metrics that are a path", "metrics: /var/x.prom\ntasks: []\n", []string{
		"schedule.yaml:1:10: metrics must be a mapping of keys and values, not the text \"/var/x.prom\"\n  hint: write {textfile: /var/x.prom}"}},
	{"metrics with wrong values", "metrics: {textfile: '', file: a.prom}\ntasks: []\n", []string{
		"schedule.yaml:1:21: metrics.textfile is empty",
		"schedule.yaml:1:25: unknown key \"file\" in metrics\n  hint: the only key here is textfile"}},

	// Tasks.
	{"tasks that are a mapping", "tasks:\n  a: {command: x}\n", []string{
		"schedule.yaml:2:3: tasks must be a list, not a mapping\n  hint: begin each task with `- name: NAME`"}},
	{"entries that are no tasks", "tasks:\n- x\n-\n- [a]\n", []string{
		"schedule.yaml:2:3: a task must be a mapping of keys and values, not the text \"x\"\n  hint: a task has at least a name, a command, and cron or every",
		"schedule.yaml:3:2: an empty entry\n  hint: remove the `-`",
		"schedule.yaml:4:3: a task must be a mapping of keys and values, not a list\n  hint: a task has at least a name, a command, and cron or every"}},
	{"a task that says nothing", "tasks:\n- {}\n", []string{
		"schedule.yaml:2:3: a task without a name\n  hint: add `name:`; it is how commands and messages call the task",
		"schedule.yaml:2:3: the task has no command\n  hint: add `command:`",
		"schedule.yaml:2:3: the task has no time: neither cron nor every is given\n  hint: add `cron:` or `every:`, or `every: hand` for what people start; or start it from another task with `{trigger: …}`"}},
	{"a time for all tasks", "defaults: {every: day}\ntasks:\n- {name: a, command: x}\n- {name: b, command: y}\n", []string{
		"schedule.yaml:1:12: defaults: \"every\" does not belong in defaults\n  hint: put it into the tasks themselves"}},
	{"cron and every", one("cron: '* * * * *'"), []string{
		"schedule.yaml:3:10: task \"t\": cron and every cannot both be given\n  hint: keep one of the two"}},
	{"two tasks of one name", one("") + "- name: t\n  every: hour\n  command: y\n", []string{
		"schedule.yaml:6:9: task \"t\": the name is already taken at schedule.yaml:2:9\n  hint: names are unique in the whole schedule, groups and includes too"}},
	{"a name that is too long", "tasks:\n- name: " + strings.Repeat("a", 129) +
		"\n  every: hour\n  command: y\n", []string{
		"schedule.yaml:2:9: task \"" + strings.Repeat("a", 60) + "…\": name \"" + strings.Repeat("a", 60) +
			"…\" is longer than 128 characters"}},
	{"an empty command", "tasks:\n- {name: t, every: hour, command: ' '}\n", []string{
		"schedule.yaml:2:35: task \"t\": command is empty"}},
	{"an empty list of a command", "tasks:\n- {name: t, every: hour, command: []}\n", []string{
		"schedule.yaml:2:35: task \"t\": command is an empty list"}},
	{"a command without its program", "tasks:\n- {name: t, every: hour, command: ['', x]}\n", []string{
		"schedule.yaml:2:36: task \"t\": command is empty"}},
	{"a command that is a mapping", "tasks:\n- {name: t, every: hour, command: {run: x}}\n", []string{
		"schedule.yaml:2:35: task \"t\": command must be text or a list, not a mapping"}},
	{"a null character", "tasks:\n- {name: t, every: hour, command: \"a\\0b\"}\n", []string{
		"schedule.yaml:2:35: task \"t\": command holds a null character, which no program can be given"}},
	{"an empty list of times", "tasks:\n- {name: t, cron: [], command: x}\n", []string{
		"schedule.yaml:2:19: task \"t\": cron is an empty list"}},
	{"every as a list", "tasks:\n- {name: t, every: [hour], command: x}\n", []string{
		"schedule.yaml:2:20: task \"t\": every must be text, not a list\n  hint: write it as in `every: weekday at 02:30`"}},
	{"yes and no and words", one("background: yes\nenabled: off\none_server: 'true'\nwithout_overlapping: maybe"), []string{
		"schedule.yaml:5:15: task \"t\": background must be true or false, not the text \"yes\"\n  hint: write true",
		"schedule.yaml:6:12: task \"t\": enabled must be true or false, not the text \"off\"\n  hint: write false",
		"schedule.yaml:7:15: task \"t\": one_server must be true or false, not the text \"true\"\n  hint: remove the quotes",
		"schedule.yaml:8:24: task \"t\": without_overlapping must be true, false, wait or replace, not the text \"maybe\"\n  hint: write true for a run that is skipped while another one runs, wait for a run that waits, or replace for one that ends the other"}},
	{"durations", one("timeout: 30\nkill_after: -5s\nretry: {attempts: 2, delay: 5 minutes, max_delay: 0s}"), []string{
		"schedule.yaml:5:12: task \"t\": timeout 30 has no unit\n  hint: write 30s, 30m or 30h",
		"schedule.yaml:6:15: task \"t\": kill_after -5s is negative",
		"schedule.yaml:7:31: task \"t\": retry.delay \"5 minutes\" is not a duration\n  hint: write 5m",
		"schedule.yaml:7:53: task \"t\": retry.max_delay 0s is too short"}},
	{"what is expected and cannot be", one("expect: {within: 0s, every: soon, often: 1h}"), []string{
		"schedule.yaml:5:20: task \"t\": expect.within 0s is too short\n  hint: it takes at least 1s",
		"schedule.yaml:5:31: task \"t\": expect.every \"soon\" is not a duration\n  hint: a duration is written as 90s, 20m, 1h30m or 30d",
		"schedule.yaml:5:37: task \"t\": unknown key \"often\" in expect\n  hint: the keys here are within, every"}},
	{"nothing that is expected", one("expect: {}"), []string{"schedule.yaml:5:11: task \"t\": expect is empty\n  hint: write {within: 30m, every: 26h}, or one of the two"}},
	{"expected is no mapping", one("expect: 30m"), []string{"schedule.yaml:5:11: task \"t\": expect must be a mapping of keys and values, not the text \"30m\"\n  hint: write {within: 30m, every: 26h}, or one of the two"}},
	{"what no run can exceed", one("timeout: 10m\nexpect: {within: 30m}"), []string{
		"schedule.yaml:6:11: task \"t\": no run takes longer than expect.within, 30 m 0 s (at schedule.yaml:6:11): timeout ends it after 10 m 10 s (at schedule.yaml:5:12)\n  hint: make one of the two shorter"}},
	{"what every run exceeds", "tasks: [{name: t, every: day, command: x, expect: {every: 1h}}]\n", []string{
		"schedule.yaml:1:51: task \"t\": expect.every 1 h 0 m is shorter than the time from one run to the next, 1 d 0 h (at schedule.yaml:1:26): it would always be overdue\n  hint: make it longer than the time between two runs and what a run takes"}},
	{"nothing to be overdue", one("on_overdue: page"), []string{
		"schedule.yaml:5:15: task \"t\": on_overdue never fires: nothing is expected of the task\n  hint: add `expect: {every: 26h}`"}},
	{"a boot of all servers, at a time", "tasks: [{name: t, every: boot, command: x, one_server: true, spread: 5m, expect: {every: 1h}}]\n", []string{
		"schedule.yaml:1:56: task \"t\": one_server contradicts a boot (at schedule.yaml:1:26), which only one machine has\n  hint: remove one_server, or write `one_server: false` against one that is inherited",
		"schedule.yaml:1:70: task \"t\": spread contradicts a boot (at schedule.yaml:1:26), which has no time\n  hint: keep one of the two",
		"schedule.yaml:1:82: task \"t\": expect.every contradicts a boot (at schedule.yaml:1:26): nobody knows when the next one is\n  hint: keep expect.within, and write `every: false` against one that is inherited"}},
	{"a lost run that is not tried again", one("retry: {attempts: 1, lost: true}"), []string{
		"schedule.yaml:5:30: task \"t\": retry.lost contradicts one attempt (at schedule.yaml:5:21): nothing is tried again\n  hint: write attempts: 2 or more"}},
	{"missed slots", one("missed: twice\nmissed_within: 40d\nstart_deadline: 0s"), []string{
		"schedule.yaml:5:11: task \"t\": missed must be skip, once, all or after_pause, not the text \"twice\"",
		"schedule.yaml:6:18: task \"t\": missed_within 40d is longer than the 31 days that sched looks back",
		"schedule.yaml:7:19: task \"t\": start_deadline 0s would skip every run\n  hint: write false for a task that may start at any time"}},
	{"how old a missed slot may be that does not run", one("missed: skip\nmissed_within: 1h"), []string{
		"schedule.yaml:6:18: task \"t\": missed_within is for tasks with missed: once, missed: all, missed: after_pause or store_down: wait\n  hint: add `missed: once`, or remove it"}},
	{"a number of missed slots for a task that runs one of them", one("missed: once\nmissed_at_most: 24"), []string{
		"schedule.yaml:6:19: task \"t\": missed_at_most is for tasks with missed: all\n  hint: add `missed: all`, or remove it"}},
	{"a number of missed slots for a task that runs none of them", one("missed_at_most: 24"), []string{
		"schedule.yaml:5:19: task \"t\": missed_at_most is for tasks with missed: all\n  hint: add `missed: all`, or remove it"}},
	{"too many missed slots", one("missed: all\nmissed_at_most: 2000"), []string{
		"schedule.yaml:6:19: task \"t\": missed_at_most must be from 1 to 1000, not 2000"}},
	{"no missed slot", one("missed: all\nmissed_at_most: 0"), []string{
		"schedule.yaml:6:19: task \"t\": missed_at_most must be from 1 to 1000, not 0"}},
	{"missed slots in the words of others", one("missed: every\nmissed_at_most: all"), []string{
		"schedule.yaml:5:11: task \"t\": missed must be skip, once, all or after_pause, not the text \"every\"",
		"schedule.yaml:6:19: task \"t\": missed_at_most must be a whole number, not the text \"all\""}},
	{"missed slots that are no longer", one("missed: once\nmissed_within: 30s\nstart_deadline: soon"), []string{
		"schedule.yaml:6:18: task \"t\": missed_within 30s is too short\n  hint: it takes at least 1m",
		"schedule.yaml:7:19: task \"t\": start_deadline \"soon\" is not a duration\n  hint: a duration is written as 90s, 20m, 1h30m or 30d"}},
	{"a timeout of nothing", one("timeout: 0s"), []string{
		"schedule.yaml:5:12: task \"t\": timeout 0s would end every attempt at once\n  hint: write false for a task without a timeout"}},
	{"a timeout that is a list", one("timeout: [1h]"), []string{
		"schedule.yaml:5:12: task \"t\": timeout must be a duration such as 90s, not a list\n  hint: write it as in `timeout: 20m`"}},
	{"retry as a number", one("retry: 3"), []string{
		"schedule.yaml:5:10: task \"t\": retry must be a mapping, not the number 3\n  hint: write {attempts: 4}: the first attempt counts, too"}},
	{"retry without attempts", one("retry: {delay: 1s}"), []string{
		"schedule.yaml:5:10: task \"t\": retry has no attempts\n  hint: add attempts: the first try and all that follow it"}},
	{"retry with wrong numbers", one("retry: {attempts: 0, backoff: 0.5, delay: 10s, max_delay: 5s}"), []string{
		"schedule.yaml:5:21: task \"t\": retry.attempts must be at least 1, not 0",
		"schedule.yaml:5:33: task \"t\": retry.backoff must be at least 1, not 0.5",
		"schedule.yaml:5:61: task \"t\": retry.max_delay 5s is shorter than the delay, 10s"}},
	{"retry with texts", one("retry: {attempts: two, backoff: [2]}"), []string{
		"schedule.yaml:5:21: task \"t\": retry.attempts must be a whole number, not the text \"two\"",
		"schedule.yaml:5:35: task \"t\": retry.backoff must be a number, not a list"}},
	{"codes", one("success_codes: [0, 256, x, 1.5]"), []string{
		"schedule.yaml:5:22: task \"t\": success_codes must be from 0 to 255, not 256",
		"schedule.yaml:5:27: task \"t\": success_codes must be a whole number, not the text \"x\"",
		"schedule.yaml:5:30: task \"t\": success_codes must be a whole number, not the number 1.5"}},
	{"limits", one("limits: {memory: 512, cpu: 0.8, files: 8, disk: 1GB}") +
		"- {name: u, every: hour, command: x, limits: 512M}\n- {name: v, every: hour, command: x, limits: {}}\n" +
		"- {name: w, every: hour, command: x, limits: {memory: 1M, cpu: 0%}}\n- {name: m, every: hour, command: x, memory_limit: 1G}", []string{
		"schedule.yaml:5:20: task \"t\": limits.memory 512 has no unit\n  hint: write 512MB or 512KB",
		"schedule.yaml:5:30: task \"t\": limits.cpu \"0.8\" is not a percentage\n  hint: write it as 80%, a part of one processor",
		"schedule.yaml:5:42: task \"t\": limits.files must be at least 16, not 8",
		"schedule.yaml:5:45: task \"t\": unknown key \"disk\" in limits\n  hint: the keys here are memory, cpu, files",
		"schedule.yaml:6:46: task \"u\": limits must be a mapping of keys and values, not the text \"512M\"\n  hint: write {memory: 512MB, cpu: 80%, files: 4096}, or some of the three",
		"schedule.yaml:7:46: task \"v\": limits is empty\n  hint: write {memory: 512MB, cpu: 80%, files: 4096}, or some of the three",
		"schedule.yaml:8:55: task \"w\": limits.memory 1M is less than 16MB",
		"schedule.yaml:8:64: task \"w\": limits.cpu must be from 1% to 100000%, not 0%",
		"schedule.yaml:9:38: task \"m\": unknown key \"memory_limit\"\n  hint: write `limits: {memory: 512MB}`"}},
	{"values", one("report:\n  rows: {at_least: 5, at_most: 1}\n  a-b: {}\n  duration: {unit: bytes}\n" +
		"  size: {unit: bytes, at_least: 5, warn_below: much, usual: 0.5}\n  usd: {budget: {at_most: 0, per: 1d}}\n" +
		"  cost: {budget: {at_most: 1, per: 40d, then: stop}}\n  n: 5"), []string{
		"schedule.yaml:6:22: task \"t\": report.rows: at_least 5 is more than at_most 1",
		"schedule.yaml:7:5: task \"t\": report: \"a-b\" cannot name a value\n  hint: use at most 64 letters, digits and _, and begin with a letter or _",
		"schedule.yaml:8:22: task \"t\": report.duration is measured in seconds\n  hint: leave it out",
		"schedule.yaml:9:50: task \"t\": report.size.warn_below \"much\" is not a size\n  hint: a size is written as 512KB, 10MB or 1GB",
		"schedule.yaml:9:63: task \"t\": report.size.usual must be a percentage, not the number 0.5\n  hint: write it as 50%, a part of the median",
		"schedule.yaml:10:19: task \"t\": report.usd.budget needs at_most, more than 0, and per\n  hint: write {at_most: 5, per: 1d}",
		"schedule.yaml:11:38: task \"t\": report.cost.budget.per 40d is longer than the 31 days that sched looks back",
		"schedule.yaml:11:49: task \"t\": report.cost.budget.then must be pause, fail or warn, not the text \"stop\"",
		"schedule.yaml:12:8: task \"t\": report.n must be a mapping of keys and values, not the number 5\n  hint: write {at_least: 1}, or {} to keep it unjudged"}},
	{"a budget of time", one("report: {duration: {budget: {at_most: 1h, per: 1d}}, free: {unit: percent, at_least: nan%}}"), []string{
		"schedule.yaml:5:31: task \"t\": report.duration cannot have a budget\n  hint: let the command report what it uses up",
		"schedule.yaml:5:88: task \"t\": report.free.at_least must be a number, not the text \"nan%\"\n  hint: write it as 80%"}},
	{"what is printed", one("fail_if: Traceback\nwarn_if: {output: '(', stderr: some}"), []string{
		"schedule.yaml:5:12: task \"t\": fail_if must be a mapping, not the text \"Traceback\"\n  hint: write {output: \"Traceback\"}",
		"schedule.yaml:6:21: task \"t\": warn_if.output \"(\" is no regular expression: missing closing ): `(`\n  hint: write it in the syntax of RE2",
		"schedule.yaml:6:34: task \"t\": warn_if.stderr must be any, not the text \"some\""}},
	{"required files", one("require: [{newer_than: run}, {file: a, newer_than: day, at_least: 5}, ~/x]"), []string{
		"schedule.yaml:5:13: task \"t\": require has no file\n  hint: write {file: backup.tgz, newer_than: run, at_least: 1KiB}",
		"schedule.yaml:5:54: task \"t\": require.newer_than must be run, not the text \"day\"",
		"schedule.yaml:5:69: task \"t\": require.at_least 5 has no unit\n  hint: write 5MB or 5KB",
		"schedule.yaml:5:73: task \"t\": require \"~/x\": \"~\" is not expanded here\n  hint: write ${HOME}/x"}},
	{"a code of both kinds", "defaults: {warn_codes: [75, 3]}\n" +
		one("success_codes: [0, 75]\nwarn_codes: [75, 0]\non_warning: {after: 2, run: x}"), []string{
		"schedule.yaml:7:15: task \"t\": warn_codes contradicts success_codes: both have 75\n  hint: take it out of one of the two",
		"schedule.yaml:7:15: task \"t\": warn_codes contradicts success_codes: both have 0\n  hint: take it out of one of the two",
		"schedule.yaml:8:23: task \"t\": after counts failures in a row, so it is for on_failure and on_recovery, not for on_warning"}},
	{"an inherited code", "defaults: {warn_codes: [75, 3]}\n" + one("success_codes: [0, 75]"), []string{
		"schedule.yaml:6:18: task \"t\": warn_codes contradicts success_codes: both have 75\n  hint: take it out of one of the two"}},
	{"no codes", one("success_codes: []"), []string{
		"schedule.yaml:5:18: task \"t\": success_codes is an empty list"}},
	{"a policy nobody knows", one("store_down: later"), []string{
		"schedule.yaml:5:15: task \"t\": store_down must be skip, run or wait, not the text \"later\""}},
	{"a wait that nobody knows", one("background: true\nwithout_overlapping: waits"), []string{
		"schedule.yaml:6:24: task \"t\": without_overlapping must be true, false, wait or replace, not the text \"waits\"\n  hint: did you mean \"wait\"?"}},
	{"a wait by another word", one("background: true\nwithout_overlapping: queue"), []string{
		"schedule.yaml:6:24: task \"t\": without_overlapping must be true, false, wait or replace, not the text \"queue\"\n  hint: write true for a run that is skipped while another one runs, wait for a run that waits, or replace for one that ends the other"}},
	{"how long it waits, in the wrong key", one("background: true\nwithout_overlapping: {wait: 5m}"), []string{
		"schedule.yaml:6:24: task \"t\": without_overlapping must be true, false, wait or replace, not a mapping\n  hint: write `without_overlapping: wait`, and below it `wait_at_most: 5m`"}},
	{"how long it waits, alone", one("background: true\nwithout_overlapping: 20m"), []string{
		"schedule.yaml:6:24: task \"t\": without_overlapping must be true, false, wait or replace, not the text \"20m\"\n  hint: write `without_overlapping: wait`, and below it `wait_at_most: 20m`"}},
	{"a list of waits", one("background: true\nwithout_overlapping: [wait]"), []string{
		"schedule.yaml:6:24: task \"t\": without_overlapping must be true, false, wait or replace, not a list\n  hint: write true for a run that is skipped while another one runs, wait for a run that waits, or replace for one that ends the other"}},
	{"what others take for true", one("without_overlapping: yes"), []string{
		"schedule.yaml:5:24: task \"t\": without_overlapping must be true, false, wait or replace, not the text \"yes\"\n  hint: write true"}},
	{"an underscore that was forgotten", one("missed: afterpause\nmissed_within: 1h"), []string{
		"schedule.yaml:5:11: task \"t\": missed must be skip, once, all or after_pause, not the text \"afterpause\"\n  hint: did you mean \"after_pause\"?"}},
	{"a foreground task that waits", one("without_overlapping: wait"), []string{
		"schedule.yaml:5:24: task \"t\": without_overlapping: wait is for background tasks: all foreground tasks after it would wait with it\n  hint: add `background: true`, or write `without_overlapping: true`"}},
	{"a foreground task that ends its run", one("without_overlapping: replace"), []string{
		"schedule.yaml:5:24: task \"t\": without_overlapping: replace is for background tasks: all foreground tasks after it would wait with it\n  hint: add `background: true`, or write `without_overlapping: true`"}},
	{"how long a task waits that does not", one("without_overlapping: true\nwait_at_most: 5m"), []string{
		"schedule.yaml:6:17: task \"t\": wait_at_most is for tasks with without_overlapping: wait or replace\n  hint: add `without_overlapping: wait`, or remove it"}},
	{"a wait of nothing", one("background: true\nwithout_overlapping: wait\nwait_at_most: 0s"), []string{
		"schedule.yaml:7:17: task \"t\": wait_at_most 0s would skip every run that has to wait\n  hint: write `without_overlapping: true` for a task that does not wait"}},
	{"a wait of nothing, without a unit", one("background: true\nwithout_overlapping: wait\nwait_at_most: 0"), []string{
		"schedule.yaml:7:17: task \"t\": wait_at_most 0 would skip every run that has to wait\n  hint: write `without_overlapping: true` for a task that does not wait"}},
	{"a slot that waits for a store that nobody asks", one("store_down: wait"), []string{
		"schedule.yaml:5:15: task \"t\": store_down: wait is for tasks that ask the store\n  hint: add `one_server: true` or `without_overlapping: true`, or remove it"}},
	{"a slot that waits for a store that is not there",
		one("one_server: true\nstore_down: wait\nmissed_within: 1h"), []string{
			"schedule.yaml:6:15: task \"t\": store_down: wait needs a store\n  hint: add `store:`, or remove it"}},
	{"a server that is preferred by what runs on all", one("prefer: [web-1]"), []string{
		"schedule.yaml:5:11: task \"t\": prefer is for tasks with one_server\n  hint: add `one_server: true`, or remove it"}},
	{"servers that are none", one("servers: []"), []string{
		"schedule.yaml:5:12: task \"t\": servers is an empty list\n  hint: leave the key out for every server, or switch the task off with `enabled: false`"}},
	{"servers in one text", one("servers: web-1, web-2"), []string{
		"schedule.yaml:5:12: task \"t\": servers: \"web-1, web-2\" is neither the name of a server nor a label\n  hint: write a list: [web-1, web-2]"}},
	{"labels in one text", one("servers: role=db, zone=eu"), []string{
		"schedule.yaml:5:12: task \"t\": servers: \"role=db, zone=eu\" is neither the name of a server nor a label\n  hint: write a list: [role=db, zone=eu]"}},
	{"labels in a mapping", one("servers: {role: db, zone: eu}"), []string{
		"schedule.yaml:5:12: task \"t\": servers must be text, not a mapping\n  hint: write a list: [role=db, zone=eu]"}},
	{"all servers but one", one("servers: ['!web-1']"), []string{
		"schedule.yaml:5:13: task \"t\": servers: \"!web-1\" is not the name of a server\n  hint: name those that run it: there is no word for all but one"}},
	{"a label with a colon", one("servers: [web-1, 'role:db']"), []string{
		"schedule.yaml:5:20: task \"t\": servers: \"role:db\" is not the name of a server\n  hint: a label is written role=db"}},
	{"a label in a mapping", one("servers: {role: db}"), []string{
		"schedule.yaml:5:12: task \"t\": servers must be text, not a mapping\n  hint: write role=db"}},
	{"a label without a value", one("servers: role="), []string{
		"schedule.yaml:5:12: task \"t\": servers: \"role=\" is not a label\n  hint: write NAME=VALUE of letters, digits and . _ -, as role=db; in VALUE * stands for any characters, and ? for one"}},
	{"any label", one("servers: '*=db'"), []string{
		"schedule.yaml:5:12: task \"t\": servers: \"*=db\" is not a label\n  hint: write NAME=VALUE of letters, digits and . _ -, as role=db; in VALUE * stands for any characters, and ? for one"}},
	{"a variable for a server", one("servers: ${HOST}"), []string{
		"schedule.yaml:5:12: task \"t\": servers: \"${HOST}\" is not the name of a server\n  hint: use letters, digits and . _ -; * stands for any characters, and ? for one"}},
	{"true for a server", one("servers: true"), []string{
		"schedule.yaml:5:12: task \"t\": servers must be text, not true\n  hint: leave the key out for every server"}},
	{"a server that is preferred and does not run it",
		one("one_server: true\nservers: [web-1, 'db-*']\nprefer: [db-2, web-2]"), []string{
			"schedule.yaml:7:11: task \"t\": prefer contradicts servers (at schedule.yaml:6:12): \"web-2\" is not among web-1, db-*\n  hint: add it there, or prefer one of those"}},
	{"a label that is preferred", one("one_server: true\nprefer: [web-1, role=db]"), []string{
		"schedule.yaml:6:19: task \"t\": prefer: \"role=db\" is not the name of one server\n  hint: write its name, as `sched list --servers` shows it"}},
	{"a mutex", one("mutex: -x"), []string{
		"schedule.yaml:5:10: task \"t\": mutex \"-x\" is not a valid name\n  hint: use letters, digits and . _ : / -, and begin with a letter or a digit"}},
	{"a pool that the file has not", "pools: {database: 2}\n" + one("pool: databse"), []string{
		"schedule.yaml:6:9: task \"t\": pool \"databse\" is not among the pools of the file\n  hint: did you mean \"database\"?"}},
	{"a pool without pools", one("pool: db"), []string{
		"schedule.yaml:5:9: task \"t\": pool \"db\" is not among the pools of the file\n  hint: add `pools: {db: 1}` at the top of the file, with how many of its runs may go on at once"}},
	{"a pool that is true", "pools: {db: 1}\n" + one("pool: true"), []string{
		"schedule.yaml:6:9: task \"t\": pool must be text, not true\n  hint: write it in quotes if that is its name"}},
	{"a pool that lets nothing run is known all the same", "pools: {db: 0}\n" + one("pool: db"), []string{
		"schedule.yaml:1:13: pools.db must be from 1 to 1000, not 0"}},
	{"pools of every kind of mistake", "pools: {-x: 1, a: two, a: 2, b: 1.5, c: 1001, [d]: 1}\n" + one(""), []string{
		"schedule.yaml:1:9: pools \"-x\" is not a valid name\n  hint: use letters, digits and . _ : / -, and begin with a letter or a digit",
		"schedule.yaml:1:19: pools.a must be a whole number, not the text \"two\"",
		"schedule.yaml:1:24: pools: \"a\" is given twice, first at line 1\n  hint: remove one of the two",
		"schedule.yaml:1:33: pools.b must be a whole number, not the number 1.5",
		"schedule.yaml:1:41: pools.c must be from 1 to 1000, not 1001",
		"schedule.yaml:1:47: a key must be text, not a list"}},
	{"pools that are a list", "pools: [db]\n" + one(""), []string{
		"schedule.yaml:1:8: pools must be a mapping of keys and values, not a list\n  hint: write it as in `pools: {database: 2}`"}},
	{"pools in a task", one("pools: {db: 2}"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"pools\"\n  hint: it belongs at the top of the file, not in a task"}},
	{"a pool at the top", "pool: db\n" + one(""), []string{
		"schedule.yaml:1:1: unknown key \"pool\"\n  hint: it is a key of tasks: put it into a task, or under `defaults:` for all of them"}},
	{"a shell that is a text with its option", one("shell: /bin/bash -eu -c"), []string{
		"schedule.yaml:5:10: task \"t\": shell must be a list, not the text \"/bin/bash -eu -c\"\n  hint: write [/bin/bash, -eu, -c]"}},
	{"a shell that is a text", one("shell: /bin/bash"), []string{
		"schedule.yaml:5:10: task \"t\": shell must be a list, not the text \"/bin/bash\"\n  hint: write [/bin/bash, -c]"}},
	{"tags", one("tags: {a: b}"), []string{
		"schedule.yaml:5:9: task \"t\": tags must be text, not a mapping\n  hint: write it as in `tags: [reports, slow]`"}},
	{"environments that are none", one("environments: []"), []string{
		"schedule.yaml:5:17: task \"t\": environments is an empty list\n  hint: leave the key out for every environment, or switch the task off with `enabled: false`"}},
	{"an output without a file", one("output: {append: true}"), []string{
		"schedule.yaml:5:20: task \"t\": output.append is about a copy, and output has no file\n  hint: add `file: PATH`"}},
	{"limits of the output", one("output: {limit: 10}"), []string{
		"schedule.yaml:5:19: task \"t\": output.limit 10 has no unit\n  hint: write 10MB or 10KB"}},
	{"a limit in words", one("output: {limit: a lot}"), []string{
		"schedule.yaml:5:19: task \"t\": output.limit \"a lot\" is not a size\n  hint: a size is written as 512KB, 10MB or 1GB"}},
	{"a limit without room for a line", one("output: {limit: 1KB}"), []string{
		"schedule.yaml:5:19: task \"t\": output.limit 1KB is less than 16KB"}},
	{"times that are none", one("from: someday\nuntil: 2026-02-30"), []string{
		"schedule.yaml:5:9: task \"t\": from \"someday\" is not a date, or a date with a time\n  hint: write a date, or a date and a time, as in 2026-12-24 or 2026-12-24 18:00",
		"schedule.yaml:6:10: task \"t\": until \"2026-02-30\" is not a date, or a date with a time\n  hint: write a date, or a date and a time, as in 2026-12-24 or 2026-12-24 18:00"}},
	{"an end before its beginning", one("from: 2026-12-24 18:00\nuntil: 2026-12-24"), []string{
		"schedule.yaml:6:10: task \"t\": until contradicts from, which is not before it: it would never be due\n  hint: make until later than from"}},
	{"an end at its inherited beginning", "defaults: {from: 2026-12-24}\ntasks: [{name: t, every: minute, command: x, until: 2026-12-24 00:00}]\n", []string{
		"schedule.yaml:2:53: task \"t\": until contradicts from, which is not before it: it would never be due\n  hint: make until later than from"}},
	{"spreads", one("spread: 30s"), []string{
		"schedule.yaml:5:11: task \"t\": spread 30s is too short\n  hint: it takes at least 2m"}},
	{"a share in percent", one("retry: {attempts: 3, jitter: 20%}"), []string{
		"schedule.yaml:5:32: task \"t\": retry.jitter must be a number, not the text \"20%\"\n  hint: write 0.2"}},
	{"a duration that nobody lives to see", one("timeout: 99999999999h\nkill_after: 40000d"), []string{
		"schedule.yaml:5:12: task \"t\": timeout 99999999999h is longer than 100 years",
		"schedule.yaml:6:15: task \"t\": kill_after 40000d is longer than 100 years"}},
	{"a whole number that is too large for YAML", "pools: {a: 99999999999999999999, b: -99999999999999999999}\n" +
		one("retry: {attempts: 99999999999999999999}"), []string{
		"schedule.yaml:1:12: pools.a must be from 1 to 1000, not 99999999999999999999",
		"schedule.yaml:1:37: pools.b must be from 1 to 1000, not -99999999999999999999",
		"schedule.yaml:6:21: task \"t\": retry.attempts 99999999999999999999 is too large"}},
	{"numbers that are too large to count to",
		one("retry: {attempts: 3000000000, backoff: 1e10}\nlimits: {files: 99999999999}"), []string{
			"schedule.yaml:5:21: task \"t\": retry.attempts 3000000000 is too large",
			"schedule.yaml:5:42: task \"t\": retry.backoff 1e10 is too large",
			"schedule.yaml:6:19: task \"t\": limits.files 99999999999 is too large"}},
	{"a wait that is misspelt", one("background: true\nwithout_overlapping: waits\nwait_at_most: 5m"), []string{
		"schedule.yaml:6:24: task \"t\": without_overlapping must be true, false, wait or replace, not the text \"waits\"\n  hint: did you mean \"wait\"?"}},
	{"a spread of days", one("spread: 2d"), []string{
		"schedule.yaml:5:11: task \"t\": spread 2d is longer than a day"}},
	{"a retry of nothing", one("retry: {}"), []string{
		"schedule.yaml:5:10: task \"t\": retry is empty\n  hint: write {attempts: 3}, or false for one attempt"}},
	{"jitter in percent", one("retry: {attempts: 2, jitter: 20}"), []string{
		"schedule.yaml:5:32: task \"t\": retry.jitter must be from 0 to 1, not 20\n  hint: 0.2 is a fifth"}},
	{"a condition that is false", one("when: false\nskip: false"), []string{
		"schedule.yaml:5:9: task \"t\": when: false may mean that the task never runs, or that nobody is asked\n  hint: write [] against one that is inherited, or `enabled: false` for a task that never runs"}},
	{"a longest wait against an inherited delay", "defaults: {retry: {attempts: 2, delay: 5m}}\n" +
		one("background: true\nretry: {max_delay: 1m}"), []string{
		"schedule.yaml:7:22: task \"t\": retry.max_delay 1m0s is shorter than the delay, 5m0s"}},
	{"no delay between attempts that are not given", one("retry: {delay: 1m}"), []string{
		"schedule.yaml:5:10: task \"t\": retry has no attempts\n  hint: add attempts: the first try and all that follow it"}},
	{"an output that is a list", one("output: [a]"), []string{
		"schedule.yaml:5:11: task \"t\": output must be a file or a mapping, not a list\n  hint: write {file: PATH, append: true}"}},

	// Conditions.
	{"windows", one("between: 8:00-17:00\nunless_between: ['8:00']"), []string{
		"schedule.yaml:5:12: task \"t\": between must be a list, not the text \"8:00-17:00\"\n  hint: write [\"8:00\", \"17:00\"]",
		"schedule.yaml:6:19: task \"t\": unless_between must be a pair of times, not a list of 1\n  hint: write [\"8:00\", \"17:00\"], or a list of such pairs"}},
	{"a window as text", one("between: 01:00-05:00\nunless_between: ['9 to 17:30']"), []string{
		"schedule.yaml:5:12: task \"t\": between must be a list, not the text \"01:00-05:00\"\n  hint: write [\"01:00\", \"05:00\"]",
		"schedule.yaml:6:19: task \"t\": unless_between must be a pair of times, not a list of 1\n  hint: write [\"9:00\", \"17:30\"]"}},
	{"a window as a mapping", one("between: {from: 01:00, to: 05:00}\nunless_between: at noon"), []string{
		"schedule.yaml:5:12: task \"t\": between must be a list, not a mapping\n  hint: write [\"01:00\", \"05:00\"]",
		"schedule.yaml:6:19: task \"t\": unless_between must be a list, not the text \"at noon\"\n  hint: write [\"8:00\", \"17:00\"]"}},
	{"times", one("between: [8, 25:00]\nunless_between: [['24:00', '1:00'], x]"), []string{
		"schedule.yaml:5:13: task \"t\": between: the number 8 is not a time of the day\n  hint: a time is written as \"8:00\" or \"17:30\"",
		"schedule.yaml:5:16: task \"t\": between: the text \"25:00\" is not a time of the day\n  hint: a time is written as \"8:00\" or \"17:30\"",
		"schedule.yaml:6:21: task \"t\": unless_between cannot begin at 24:00\n  hint: the day begins at \"0:00\"",
		"schedule.yaml:6:39: task \"t\": unless_between must be a pair of times, not the text \"x\"\n  hint: write [\"8:00\", \"17:00\"], or a list of such pairs"}},
	{"days", one("days: [mon, tusday, 8]"), []string{
		"schedule.yaml:5:15: task \"t\": days: the text \"tusday\" is not a day of the week\n  hint: did you mean \"tuesday\"?",
		"schedule.yaml:5:23: task \"t\": days: the number 8 is not a day of the week\n  hint: days are written as monday or mon, weekdays, or [mon, wed]"}},

	// Hooks.
	{"a hook that is a list", one("before: [[a, b]]"), []string{
		"schedule.yaml:5:12: task \"t\": a hook of before must be text or a mapping, not a list\n  hint: a list to be run without a shell is written {run: […]}"}},
	{"empty hooks", one("before: {}\nafter:\non_skip: ''\non_failure: {run: }"), []string{
		"schedule.yaml:5:11: task \"t\": a hook of before is empty\n  hint: write {run: COMMAND}",
		"schedule.yaml:6:9: task \"t\": after has no value\n  hint: write it as in `after: {ping: 'https://hc-ping.com/uuid'}`",
		"schedule.yaml:7:12: task \"t\": on_skip is empty",
		"schedule.yaml:8:21: task \"t\": on_failure.run has no value\n  hint: write it as in `run: [logger, report ended]`"}},
	{"hooks that are nothing, or two things", one("before: {at_most: 1 per 1h}\nafter: {ping: a, mail: b}\non_skip: {ping: ''}\non_failure: {mail: []}"), []string{
		"schedule.yaml:5:11: task \"t\": a hook of before does nothing\n  hint: say what it is: run, trigger, ping, webhook, mail, sentry or preset",
		"schedule.yaml:6:10: task \"t\": a hook of after is ping and mail at once\n  hint: make a list of them, each on its own",
		"schedule.yaml:7:19: task \"t\": on_skip.ping is empty",
		"schedule.yaml:8:22: task \"t\": on_failure.mail is an empty list"}},
	{"triggers of what is not there, where no run has ended, and of two kinds", one("before: {trigger: u}\non_skip: [{trigger: u}]\nafter: [{trigger: laod}, {trigger: true}, {trigger: [u]}]\non_failure: {trigger: u, run: x}\non_success: {trigger: u, when: changed}") + "- {name: load, command: y, every: hour}\n- {name: u, command: y, every: hour}\n", []string{
		"schedule.yaml:5:21: task \"t\": a trigger comes after a run, and in before none has ended\n  hint: move it to after, on_success, on_warning, on_failure or on_recovery",
		"schedule.yaml:6:23: task \"t\": a trigger comes after a run, and in on_skip none has ended\n  hint: move it to after, on_success, on_warning, on_failure or on_recovery",
		"schedule.yaml:7:21: task \"t\": trigger: there is no task \"laod\"\n  hint: did you mean \"load\"?",
		"schedule.yaml:7:38: task \"t\": after.trigger must be text, not true\n  hint: name the task that is started",
		"schedule.yaml:7:55: task \"t\": after.trigger must be text, not a list\n  hint: write it as in `trigger: load`",
		"schedule.yaml:8:15: task \"t\": a hook of on_failure is run and trigger at once\n  hint: make a list of them, each on its own",
		"schedule.yaml:9:34: task \"t\": on_success.when is for ping, webhook, mail, preset, not for trigger"}},
	{"chains without an end", "tasks:\n- {name: a, every: hour, command: x, on_success: {trigger: b}}\n- {name: b, command: x, after: [{trigger: c}, {trigger: d}]}\n- {name: c, command: x, on_failure: {trigger: a}}\n- {name: d, command: x, on_recovery: {trigger: d}}\n", []string{
		"schedule.yaml:4:47: task \"c\": trigger: a chain without an end: a → b (on_success at schedule.yaml:2:60) → c (after at schedule.yaml:3:43) → a (on_failure at schedule.yaml:4:47)\n  hint: take one of these triggers away; where it is inherited, `on_failure: false` does",
		"schedule.yaml:5:48: task \"d\": trigger: a chain without an end: d → d (on_recovery at schedule.yaml:5:48)\n  hint: take one of these triggers away; where it is inherited, `on_recovery: false` does"}},
	{"a chain without an end that is inherited", "defaults: {on_failure: {trigger: alert}}\ntasks:\n- {name: t, every: hour, command: x}\n- {name: alert, command: x}\n", []string{
		"schedule.yaml:1:34: task \"alert\": trigger: a chain without an end: alert → alert (on_failure at schedule.yaml:1:34)\n  hint: take one of these triggers away; where it is inherited, `on_failure: false` does"}},
	{"a task without a time that nothing triggers", "tasks:\n- {name: t, every: hour, command: x, after: {trigger: u}}\n- {name: u, command: x}\n- {name: v, command: x}\n", []string{
		"schedule.yaml:4:3: task \"v\": the task has no time: neither cron nor every is given\n  hint: add `cron:` or `every:`, or `every: hand` for what people start; or start it from another task with `{trigger: …}`"}},
	{"whom to tell", one("after: [{ping: refused}, {webhook: '${REFUSED}'}]\non_failure: {mail: [a, refused, [b]]}"), []string{
		"schedule.yaml:5:18: task \"t\": after.ping: nobody can be told there\n  hint: take another",
		"schedule.yaml:5:38: task \"t\": after.webhook: nobody can be told there\n  hint: take another",
		"schedule.yaml:6:26: task \"t\": on_failure.mail: nobody can be told there\n  hint: take another",
		"schedule.yaml:6:35: task \"t\": on_failure.mail must be text, not a list\n  hint: write it as in `mail: [ops@example.com]`"}},
	{"a name of a secret that begins with a dot", one("secrets: .d5"), []string{
		"schedule.yaml:5:12: task \"t\": secrets holds names of variables, and this cannot be one\n" +
			"  hint: write [DB_PASSWORD]; the value itself belongs into a file for `env_file`",
	}},
	{"secrets that are not there", one("after: [{ping: 'https://x/${MISSING}'}, {webhook: '${file:/no/such/file}'}, {mail: '${file:}'}, {ping: '${file:/}'}]"), []string{
		"schedule.yaml:5:18: task \"t\": after.ping: the variable MISSING is not set\n  hint: set it here and above the line of the crontab (`env` and `env_file` are for commands), or write ${MISSING:-default}",
		"schedule.yaml:5:53: task \"t\": after.webhook: there is no file /no/such/file\n  hint: a path is relative to the folder of the schedule",
		"schedule.yaml:5:86: task \"t\": after.mail: ${file:} names no file\n  hint: write ${file:PATH}",
		"schedule.yaml:5:106: task \"t\": after.ping: the file / does not hold one value\n  hint: put the value alone into it, on one line of at most 64 KiB"}},
	{"the file of a secret in env", "env: {A: '${file:secret}'}\ntasks: []\n", []string{
		"schedule.yaml:1:10: env.A: what is in env is written down with every run, which is no place for the text of a file\n  hint: put the variable into a file for `env_file`, or let the command read this one"}},
	{"credentials in what is kept", "env: {A: '${credential:a}'}\ntasks:\n- {name: t, every: hour, command: x, dir: '${credential:a}'}\n", []string{
		"schedule.yaml:1:10: env.A is written down with every run, which is no place for a credential\n  hint: it belongs into a URL or an address; a command reads the file $CREDENTIALS_DIRECTORY/NAME",
		"schedule.yaml:3:43: task \"t\": dir is written down with every run, which is no place for a credential\n  hint: it belongs into a URL or an address; a command reads the file $CREDENTIALS_DIRECTORY/NAME"}},
	{"credentials that are not there", one("after: [{ping: 'https://x/${credential:a}'}, {ping: 'https://x/${credential:a/b}'}]"), []string{
		"schedule.yaml:5:18: task \"t\": after.ping: there is no credential a, because CREDENTIALS_DIRECTORY is not set\n  hint: systemd sets it: write LoadCredential=NAME:PATH into the unit of the ticks, or ${credential:NAME:-} if it may be missing",
		"schedule.yaml:5:55: task \"t\": after.ping: \"a/b\" is not the name of a credential\n  hint: write the NAME of LoadCredential=NAME:PATH; any other file is ${file:PATH}"}},
	{"a preset that is a format", one("on_failure: {preset: slack, with: {url: x}}"), []string{
		"schedule.yaml:5:24: task \"t\": there is no preset \"slack\": they are gotify, matrix, pagerduty, pushover, telegram\n  hint: write {webhook: URL, format: slack}; Mattermost takes what Slack does"}},
	{"presets", one("after: [{preset: telegrm}, {preset: gotify}, {preset: matrix, with: {a: b}}, {preset: x.yaml}, {ping: x, with: {a: b}}, {gotify: x}]"), []string{
		"schedule.yaml:5:20: task \"t\": there is no preset \"telegrm\": they are gotify, matrix, pagerduty, pushover, telegram\n  hint: did you mean \"telegram\"?",
		"schedule.yaml:5:30: task \"t\": after: the preset gotify needs url, the URL of the server\n  hint: write {preset: gotify, with: {url: …, token: …}}",
		"schedule.yaml:5:30: task \"t\": after: the preset gotify needs token, the token of the application\n  hint: write {preset: gotify, with: {url: …, token: …}}",
		"schedule.yaml:5:71: task \"t\": after: the preset matrix needs url, the URL of the homeserver\n  hint: write {preset: matrix, with: {url: …, token: …, room: …}}",
		"schedule.yaml:5:71: task \"t\": after: the preset matrix needs token, the access token of a user who is in the room\n  hint: write {preset: matrix, with: {url: …, token: …, room: …}}",
		"schedule.yaml:5:71: task \"t\": after: the preset matrix needs room, the id of the room, as !abc:example.org\n  hint: write {preset: matrix, with: {url: …, token: …, room: …}}",
		"schedule.yaml:5:72: task \"t\": after.with: the preset matrix has no parameter \"a\"\n  hint: they are url, token, room",
		"schedule.yaml:5:89: task \"t\": after.preset cannot name a file here, where only text is read",
		"schedule.yaml:5:114: task \"t\": after.with is for preset, not for ping",
		"schedule.yaml:5:124: task \"t\": unknown key \"gotify\" in after\n  hint: write {preset: gotify, with: {…}}"}},
	{"a parameter of a preset beside the preset", one("on_failure: {preset: telegram, token: a, url: b, wiht: {chat: c}}"), []string{
		"schedule.yaml:5:34: task \"t\": unknown key \"token\" in on_failure\n  hint: values for the preset are under `with`, as in {preset: NAME, with: {token: …}}",
		"schedule.yaml:5:44: task \"t\": unknown key \"url\" in on_failure\n  hint: values for the preset are under `with`, as in {preset: NAME, with: {url: …}}",
		"schedule.yaml:5:52: task \"t\": unknown key \"wiht\" in on_failure\n  hint: did you mean \"with\"?"}},
	{"keys of other notifications", one("after: [{run: a, when: changed}, {mail: a, format: slack}, {webhook: a, on: start}, {run: a, at_most: 1 per 1h}]"), []string{
		"schedule.yaml:5:26: task \"t\": after.when is for ping, webhook, mail, preset, not for run",
		"schedule.yaml:5:54: task \"t\": after.format is for webhook, not for mail",
		"schedule.yaml:5:79: task \"t\": after.on is for ping, not for webhook\n  hint: the key that has the hook says when it fires, as in `on_failure: {webhook: URL}`",
		"schedule.yaml:5:105: task \"t\": after.at_most is for ping, webhook, mail, preset, not for run"}},
	{"pings that tell of the start", one("on_failure: {ping: a, on: failure}\nafter: [{ping: a, on: [begin, stop]}, {ping: a, on: []}, {ping: a, on: start, when: changed}, {ping: a, on: start, at_most: 1 per 1h}]"), []string{
		"schedule.yaml:5:29: task \"t\": a ping with on belongs in after, not in on_failure\n  hint: move it to `after`: it is sent when the run starts, too",
		"schedule.yaml:6:26: task \"t\": after.on must be start, success or failure, not the text \"begin\"",
		"schedule.yaml:6:33: task \"t\": after.on must be start, success or failure, not the text \"stop\"",
		"schedule.yaml:6:55: task \"t\": after.on is an empty list\n  hint: leave the key out for a ping when the run ends",
		"schedule.yaml:6:87: task \"t\": a ping with on tells of every run, so when: changed does not go with it\n  hint: remove one of the two",
		"schedule.yaml:6:127: task \"t\": a ping with on tells of every run, so at_most does not go with it\n  hint: remove one of the two"}},
	{"a count of failures", one("on_failure: {run: a, after: 0}\non_success: {run: a, after: 2}\nbefore: [{mail: a, after: 1}]\non_recovery: {mail: a, after: 2, when: changed}\npause_after: 101"), []string{
		"schedule.yaml:5:31: task \"t\": on_failure.after must be from 1 to 100, not 0",
		"schedule.yaml:6:31: task \"t\": after counts failures in a row, so it is for on_failure and on_recovery, not for on_success",
		"schedule.yaml:7:29: task \"t\": after counts failures in a row, so it is for on_failure and on_recovery, not for before",
		"schedule.yaml:9:16: task \"t\": pause_after must be from 1 to 100, not 101"}},
	{"a first failure that is not told", one("on_failure: {mail: a, after: 2, when: changed}"), []string{
		"schedule.yaml:5:41: task \"t\": when: changed tells of the first failure, so after: 2 does not go with it\n  hint: remove one of the two"}},
	{"when", one("after: {mail: a, when: chnaged}\nbefore: {mail: a, when: output}\non_skip: {mail: a, when: changed}"), []string{
		"schedule.yaml:5:26: task \"t\": after.when must be changed or output, not the text \"chnaged\"\n  hint: did you mean \"changed\"?",
		"schedule.yaml:6:27: task \"t\": when is about how a run ended, and in before none has",
		"schedule.yaml:7:28: task \"t\": when is about how a run ended, and in on_skip none has"}},
	{"at_most", one("after: [{mail: a, at_most: often}, {mail: a, at_most: 0 per 1h}, {mail: a, at_most: 1 per 1ms}, {mail: a, at_most: 1 per hour}]"), []string{
		"schedule.yaml:5:30: task \"t\": at_most \"often\" is not a number per duration\n  hint: write it as `at_most: 1 per 1h`",
		"schedule.yaml:5:57: task \"t\": at_most \"0 per 1h\": the number must be from 1 to 100\n  hint: write it as `at_most: 1 per 1h`",
		"schedule.yaml:5:87: task \"t\": at_most \"1 per 1ms\": the duration must be from 1s to 31d\n  hint: write it as `at_most: 1 per 1h`",
		"schedule.yaml:5:118: task \"t\": at_most \"1 per hour\" is not a number per duration\n  hint: write it as `at_most: 1 per 1h`"}},
	{"the setting of mails", "mail: {url: refused, from: refused, to: x}\ntasks: []\n", []string{
		"schedule.yaml:1:13: mail.url: nobody can be told there\n  hint: take another",
		"schedule.yaml:1:28: mail.from: nobody can be told there\n  hint: take another",
		"schedule.yaml:1:37: unknown key \"to\" in mail\n  hint: whom mails go to is said by each hook, as in `on_failure: {mail: ADDRESS}`"}},
	{"a server of mails in parts", "mail: {host: h, port: 25, username: u, tls: true}\ntasks: []\n", []string{
		"schedule.yaml:1:8: unknown key \"host\" in mail\n  hint: write `url: smtp://HOST:PORT`",
		"schedule.yaml:1:17: unknown key \"port\" in mail\n  hint: write `url: smtp://HOST:PORT`",
		"schedule.yaml:1:27: unknown key \"username\" in mail\n  hint: they stand in the url: `url: smtp://USER:${PASSWORD}@HOST:587`",
		"schedule.yaml:1:40: unknown key \"tls\" in mail\n  hint: write `url: smtps://HOST:465`; smtp:// takes TLS where the server has it"}},
	{"stores and mails by other names", "redis: x\ndatabase: x\nsmtp: x\nmailer: x\ntasks: []\n", []string{
		"schedule.yaml:1:1: unknown key \"redis\"\n  hint: servers share a store: write `store: redis://HOST:6379`",
		"schedule.yaml:2:1: unknown key \"database\"\n  hint: servers share a store: write `store: redis://HOST:6379`",
		"schedule.yaml:3:1: unknown key \"smtp\"\n  hint: write `mail: {url: smtp://HOST:PORT, from: ADDRESS}`",
		"schedule.yaml:4:1: unknown key \"mailer\"\n  hint: write `mail: {url: smtp://HOST:PORT, from: ADDRESS}`"}},
	{"a boot under cron", "tasks: [{name: t, cron: boot, command: x}]\n", []string{
		"schedule.yaml:1:25: task \"t\": cron \"boot\": 1 field, needs 5 (minute hour day month weekday), or 6 with leading seconds\n  hint: write `every: boot` in place of cron"}},
	{"words under cron", "tasks:\n- {name: a, cron: 5 minutes, command: x}\n- {name: b, cron: day at 3:00, command: x}\n- {name: c, cron: daily at 3, command: x}\n- {name: d, cron: every daily at 3, command: x}\n", []string{
		"schedule.yaml:2:19: task \"a\": cron \"5 minutes\": 2 fields, needs 5 (minute hour day month weekday), or 6 with leading seconds\n  hint: write `every: 5 minutes` in place of cron",
		"schedule.yaml:3:19: task \"b\": cron \"day at 3:00\": 3 fields, needs 5 (minute hour day month weekday), or 6 with leading seconds\n  hint: write `every: day at 3:00` in place of cron",
		"schedule.yaml:4:19: task \"c\": cron \"daily at 3\": 3 fields, needs 5 (minute hour day month weekday), or 6 with leading seconds\n  hint: write `every: day at 3:00` in place of cron",
		"schedule.yaml:5:19: task \"d\": cron \"every daily at 3\": these are words and no fields\n  hint: write `every: day at 3:00` in place of cron"}},
	{"a setting of mails that says nothing", "mail: {}\ntasks: []\n", []string{
		"schedule.yaml:1:7: mail is empty\n  hint: write {url: smtp://HOST, from: ADDRESS}"}},

	// Groups.
	{"a group without a name or tasks", "tasks:\n- tasks: []\n- group: g\n", []string{
		"schedule.yaml:2:3: group: a group without a name\n  hint: add `group: NAME`, or remove `tasks:` if this is a task",
		"schedule.yaml:3:3: group \"g\": the group has no tasks\n  hint: add `tasks:`, or call it `name:` if this is a task"}},
	{"keys that no group has", "tasks:\n- {group: g, name: x, description: y, tasks: []}\n", []string{
		"schedule.yaml:2:14: group \"g\": \"name\" does not belong in a group\n  hint: a group is named by `group: NAME`",
		"schedule.yaml:2:23: group \"g\": \"description\" does not belong in a group\n  hint: put it into the tasks themselves"}},
	{"a group whose name is none", "tasks:\n- group: my group\n  tasks: []\n", []string{
		"schedule.yaml:2:10: group \"my group\": this is not a valid name\n  hint: did you mean \"my-group\"? Use letters, digits and . _ : / -, and begin with a letter or a digit"}},
	{"a group of tasks without its tasks", "tasks:\n- group: g\n  every: hour\n", []string{
		"schedule.yaml:2:3: group \"g\": the group has no tasks\n  hint: add `tasks:`, or call it `name:` if this is a task"}},
	{"users that can be none", one("user: deploy:www\ngroup: a b"), []string{
		"schedule.yaml:5:9: task \"t\": user \"deploy:www\" names a group, too\n  hint: write user: deploy and group: www",
		"schedule.yaml:6:10: task \"t\": group \"a b\" cannot be a name\n  hint: write a name as in /etc/passwd or /etc/group, or a number"}},
	{"a user without a name", one("user: ''\ngroup:"), []string{
		"schedule.yaml:5:9: task \"t\": user is empty",
		"schedule.yaml:6:9: task \"t\": group has no value\n  hint: write it as in `group: warehouse`"}},
	{"a user of a variable that is not set", one("user: ${DEPLOY_USER}"), []string{
		"schedule.yaml:5:9: task \"t\": user: the variable DEPLOY_USER is not set\n  hint: set it here and above the line of the crontab (`env` and `env_file` are for commands), or write ${DEPLOY_USER:-default}"}},
	{"nice beyond its ends", one("nice: 20"),
		[]string{"schedule.yaml:5:9: task \"t\": nice must be from -20 to 19, not 20"}},
	{"nice in words", one("nice: low"), []string{"schedule.yaml:5:9: task \"t\": nice must be a whole number, not the text \"low\""}},
	{"no file of variables", one("env_file: [a.env, '']"),
		[]string{"schedule.yaml:5:21: task \"t\": env_file is empty"}},
	{"a mapping for a file of variables", one("env_file: {A: b}"),
		[]string{"schedule.yaml:5:13: task \"t\": env_file must be text, not a mapping\n  hint: write it as in `env_file: [.env]`"}},
	{"a mistake in a group is told once", "tasks:\n- group: g\n  timeout: 1\n  tasks:\n  - {name: a, every: hour, command: x}\n  - {name: b, every: hour, command: x}\n", []string{
		"schedule.yaml:3:12: group \"g\": timeout 1 has no unit\n  hint: write 1s, 1m or 1h"}},
	{"a mistake in the defaults", "defaults: {timeout: x}\ntasks: []\n", []string{
		"schedule.yaml:1:21: defaults: timeout \"x\" is not a duration\n  hint: a duration is written as 90s, 20m, 1h30m or 30d"}},
	{"defaults that are a list", "defaults: []\ntasks: []\n", []string{
		"schedule.yaml:1:11: defaults must be a mapping of keys and values, not a list\n  hint: write keys of tasks, as in {timeout: 1h}"}},
	{"pauses", "pauses:\n- {reason: x}\n- {every: sunday at 2:00 for 4h, for: 4h}\n- {every: day at 2:00, until: 2026-01-01}\n- {from: 2026-01-02, until: 2026-01-01}\n" +
		"- {from: 2026-01-01}\n- {from: 2026-01-01, until: 2026-01-02, for: 1d}\n- {every: boot, for: 1h, tasks: [u], tags: [x]}\n- 5\n" + one("tags: [y]"), []string{
		"schedule.yaml:2:3: a pause does not say when it begins\n  hint: write from and until, or every and for, as in {every: sunday at 2:00, for: 4h}",
		"schedule.yaml:3:11: every \"sunday at 2:00 for 4h\": \"2:00 for 4h\" is not a time of day\n  hint: write {every: sunday at 2:00, for: 4h}",
		"schedule.yaml:4:31: a pause with every comes again, and has neither from nor until\n  hint: write from and until, or every and for, as in {every: sunday at 2:00, for: 4h}",
		"schedule.yaml:5:29: until contradicts from, which is not before it\n  hint: make until later than from",
		"schedule.yaml:6:3: a pause does not say how long it lasts\n  hint: write from and until, or every and for, as in {every: sunday at 2:00, for: 4h}",
		"schedule.yaml:7:46: until and for of a pause cannot both be given\n  hint: keep one of the two",
		"schedule.yaml:8:11: every \"boot\": \"boot\" stands alone\n  hint: write from and until, or every and for, as in {every: sunday at 2:00, for: 4h}",
		"schedule.yaml:9:3: an entry of pauses must be a mapping of keys and values, not the number 5\n  hint: write from and until, or every and for, as in {every: sunday at 2:00, for: 4h}"}},
	{"a pause with its length in the wrong key", "pauses: [{every: sunday at 2:00 for 4h}]\ntasks: []\n", []string{
		"schedule.yaml:1:10: a pause does not say how long it lasts\n  hint: write {every: sunday at 2:00, for: 4h}"}},
	{"a pause of nothing", "pauses: [{every: day, for: 1h, tasks: []}, {every: day, for: 1h, tags: []}]\n" +
		one("tags: y"), []string{
		"schedule.yaml:1:39: pauses.tasks is an empty list\n  hint: leave the key out for all tasks",
		"schedule.yaml:1:72: pauses.tags is an empty list\n  hint: leave the key out for all tasks"}},
	{"a pause of what is not there", "pauses: {every: day, for: 1h, tasks: [tt], tags: [z]}\n" +
		one("tags: y"), []string{
		"schedule.yaml:1:38: there is no task \"tt\"",
		"schedule.yaml:1:50: no task has the tag \"z\""}},
	{"assertions of no form", "assert: [t starts between 25:00 and 26:00, t starts within 5x after t, t runs at least every 0 days, 5, never more than 1 of t in 32d]\ntasks: []\n", []string{
		"schedule.yaml:1:10: \"t starts between 25:00 and 26:00\" has none of the forms of an assertion\n  hint: " +
			assertionForms,
		"schedule.yaml:1:44: 5x is not a duration\n  hint: " + assertionForms,
		"schedule.yaml:1:72: \"t runs at least every 0 days\" has none of the forms of an assertion\n  hint: " +
			assertionForms,
		"schedule.yaml:1:102: \"5\" has none of the forms of an assertion\n  hint: " + assertionForms,
		"schedule.yaml:1:105: starts are counted in 31 days at most, not in 32d\n  hint: " + assertionForms}},
	{"except without holidays", one("except: holidays"), []string{
		"schedule.yaml:5:11: task \"t\": there are no holidays\n  hint: add `holidays:` to the top of the main file"}},
	{"an exception that is none", "holidays: [12-25]\ndefaults: {except: [holidays, sunday]}\ntasks: []\n", []string{
		"schedule.yaml:2:31: defaults: except: the text \"sunday\" is not known\n  hint: write `except: holidays`; for days of the week there is `days:`"}},
	{"holidays that are none, told once", "holidays: [25.12., 2026-02-30, '', {2026-12-25: Christmas}, ~]\n" +
		strings.TrimPrefix(one("except: holidays"), "\n"), []string{
		"schedule.yaml:1:12: holidays: \"25.12.\" is not a date\n  hint: a date is written as 2026-12-25, or as 12-25 for every year",
		"schedule.yaml:1:20: holidays: there is no 2026-02-30",
		"schedule.yaml:1:32: holidays is empty",
		"schedule.yaml:1:36: holidays must be dates and files, not a mapping\n  hint: a date with its name is written as `- 2026-12-25 Christmas`",
		"schedule.yaml:1:61: holidays has no value\n  hint: write it as in `holidays: [2026-12-25 Christmas, 12-26]`"}},
	{"a file of holidays in text alone", "holidays: days.txt\ntasks: []\n", []string{
		"schedule.yaml:1:11: holidays cannot name a file here, where only text is read"}},
	{"holidays in a task", one("holidays: [12-25]"), []string{
		"schedule.yaml:5:3: task \"t\": unknown key \"holidays\"\n  hint: it belongs at the top of the file, not in a task"}},
	{"a condition that is empty", one("when: ''\nskip: [[a]]"), []string{
		"schedule.yaml:5:9: task \"t\": when is empty",
		"schedule.yaml:6:10: task \"t\": skip must be text, not a list\n  hint: write it as in `skip: [pgrep, -x, rsync]`"}},
	{"a condition that is a mapping", one("skip: {run: x}"), []string{
		"schedule.yaml:5:9: task \"t\": skip must be text or a list, not a mapping"}},
	{"a maintenance file of nothing", "maintenance_file: ${EMPTY}\ntasks: []\n", []string{
		"schedule.yaml:1:19: maintenance_file is empty"}},
	{"an include in text alone", "include: x.yaml\ntasks: []\n", []string{
		"schedule.yaml:1:10: include cannot be used here, where only text is read"}},
}

func laughs() string {
	yaml := "a: &a [" + strings.Repeat("ha, ", 20) + "ha]\n"
	for c := 'b'; c <= 'i'; c++ {
		yaml += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 20) +
			"*" + string(c-1) + "]\n"
	}
	return yaml
}

func TestMistakes(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			s, err := Text([]byte(m.yaml), "/srv/shop/schedule.yaml", testOptions())
			if s != nil || err == nil {
				t.Fatalf("it loads:\n%s", m.yaml)
			}
			if got, want := err.Error(), strings.Join(m.want, "\n"); got != want {
				t.Errorf("\n%s\n--- said\n%s\n--- want\n%s", m.yaml, got, want)
			}
			noProgrammersWords(t, err.Error())
		})
	}
}

// A hint is worth something only if what it says can be written.
func TestEachSynonymIsAKeyAndEachLineLoads(t *testing.T) {
	placeholders := strings.NewReplacer("ADDRESS", "a@example.com", "URL", "https://example.com", "N,", "3,", "N}", "3}",
		"<", "", ">", "")
	for word, meant := range synonyms() {
		key, _, isLine := strings.Cut(meant, ": ")
		if !taskKeys.Has(key, anywhere) && !topKeys.Has(key, 0) && !hookKeys.Has(key, 0) {
			t.Errorf("%s: there is no key %s", word, key)
		}
		if !isLine || topKeys.Has(key, 0) {
			continue
		}
		keys := map[string]string{"name": "t", "every": "hand", "command": "x"}
		keys[key] = placeholders.Replace(strings.TrimPrefix(meant, key+": "))
		text := "tasks:\n-"
		for key, value := range keys {
			text += " " + key + ": " + value + "\n "
		}
		if _, err := Text([]byte(text), "/srv/shop/schedule.yaml", testOptions()); err != nil {
			t.Errorf("%s: %v\n%s", word, err, text)
		}
	}
}

// These words had no hint, or a wrong one.
func TestWordsOfOtherProgramsLeadToOurKeys(t *testing.T) {
	for words, key := range map[string]string{
		"start_date": "from", "end_date": "until", "day_of_week": "days", "zone": "timezone", "active": "enabled",
		"misfire_grace_time expires": "start_deadline", "vars variables": "env", "logfile stderr": "output",
		"desc comment": "description", "soft_time_limit ttl": "timeout", "kill_timeout": "kill_after",
		"priority": "nice", "queue": "pool", "run_on": "servers", "failure": "on_failure", "success": "on_success",
		"on_complete": "after", "hour minute seconds minutes": "every", "coalesce run_missed": "missed",
		"flock lockfile solo exclusive": "without_overlapping", "nohup detach async": "background",
		"cron_expression crontab": "cron", "cron_tz": "timezone", "PATH HOME": "env", "START_HOURS_RANGE": "between",
		"container image": "command", "slack-webhook email-to mail-only-on-error alerts": "on_failure",
		"failsWhen": "fail_if", "maximumRetries": "retry", "MemoryMax CPUQuota": "limits", "TimeoutStopSec": "kill_after",
		"paused": "enabled", "args": "command", "heartbeat healthcheck": "after", "retry_delay": "retry",
		"expect_every max_age sla alert_if_not_run expected_within": "expect",
	} {
		for _, word := range strings.Fields(words) {
			_, err := Text([]byte(one(word+": x")), "/srv/shop/schedule.yaml", testOptions())
			if err == nil || !strings.Contains(err.Error(), "hint: did you mean \""+key+"\"?") &&
				!strings.Contains(err.Error(), "hint: write `"+key+": ") {
				t.Errorf("%s does not lead to %s: %v", word, key, err)
			}
		}
	}
}

var programmersWords = regexp.MustCompile(`!!\w+|\b(u?int\d*|float\d*|bool|string|struct|interface|yaml\.v3|strconv)\b|yaml: |map\[|cannot unmarshal|%!`)

// noProgrammersWords fails when a message speaks of how we are made.
func noProgrammersWords(t *testing.T, message string) {
	t.Helper()
	if word := programmersWords.FindString(message); word != "" {
		t.Errorf("a message says %q:\n%s", word, message)
	}
}

// The messages of times come from the parsers of times; the place, the task and the hint from here.
func TestBadTimesArePlaced(t *testing.T) {
	if _, err := cron.Parse("61 * * * *", ""); err == nil {
		t.Skip("the parser of cron expressions takes anything")
	}
	file := "tasks:\n- name: report\n  cron: [\"0 * * * *\", \"61 * * * *\"]\n  command: x\n" +
		"- group: g\n  cron: \"0 0 32 * *\"\n  tasks:\n  - {name: a, command: x}\n  - {name: b, command: x}\n" +
		"- name: words\n  every: 7 minutes\n  command: x\n"
	_, err := Text([]byte(file), "/srv/schedule.yaml", testOptions())
	if err == nil {
		t.Fatal("it loads")
	}
	problems := err.(*InvalidError).Problems
	if len(problems) != 3 {
		t.Fatalf("want 3 problems:\n%v", err)
	}
	for i, want := range []string{
		`schedule.yaml:3:23: task "report": cron "61 * * * *": minute 61 is not in 0-59`,
		`schedule.yaml:6:9: group "g": cron "0 0 32 * *": `,
		`schedule.yaml:11:10: task "words": every "7 minutes": `,
	} {
		if got := problems[i].String(); !strings.HasPrefix(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func TestManyProblemsAreCut(t *testing.T) {
	_, err := Text([]byte("tasks:\n"+strings.Repeat("- 1\n", 5000)), "/srv/schedule.yaml", testOptions())
	problems := err.(*InvalidError).Problems
	if got := problems[len(problems)-1].String(); got != "schedule.yaml: 4000 more problems are not shown" {
		t.Errorf("the last problem is %s", got)
	}
}

func TestWarnings(t *testing.T) {
	for _, row := range []struct{ name, yaml, want string }{
		{"no tasks", "name: x\n", "schedule.yaml:1:1: the schedule has no tasks\n  hint: nothing will ever run"},
		{"a zone without daylight saving time", "timezone: EST\n" + one("timezone: EST"),
			"schedule.yaml:1:11: timezone EST has no daylight saving time\n  hint: write America/New_York for a place that has it"},
		{"a zone whose sign is turned", "timezone: Etc/GMT+1\n" + one(""),
			"schedule.yaml:1:11: timezone Etc/GMT+1 is 1 hour behind UTC\n  hint: such a sign is turned: Etc/GMT-1 is 1 hour ahead of UTC"},
		{"a zone whose sign is turned, ahead", "timezone: Etc/GMT-8\n" + one(""),
			"schedule.yaml:1:11: timezone Etc/GMT-8 is 8 hours ahead of UTC\n  hint: such a sign is turned: Etc/GMT+8 is 8 hours behind UTC"},
		{"a webhook of Discord without its format", one("after:\n- {webhook: 'https://discord.com/api/webhooks/1/x'}\n" +
			"- {webhook: 'https://discord.com/api/webhooks/1/x', format: discord}\n- {webhook: 'https://example.com/?discord.com'}"),
			"schedule.yaml:6:15: task \"t\": after: this is Discord, which takes no other body than its own\n  hint: add format: discord"},
		{"a webhook of Slack behind a variable", one("on_failure: {webhook: '${SLACK}'}"),
			"schedule.yaml:5:25: task \"t\": on_failure: this is Slack, which takes no other body than its own\n  hint: add format: slack"},
		{"a secret in env", "env: {API_TOKEN: a1b2c3d4, MASKED_SECRET: a1b2c3d4}\n" + one("secrets: [MASKED_SECRET]\n"+
			"env: {PASSWORD_FILE: /run/x, GIT_TOKEN: '${SLACK}', MAX_TOKENS: 4000, TOKENIZER: gpt, APP_SECRET: /run/secret}"),
			"schedule.yaml:1:18: env.API_TOKEN looks like a secret, and env is kept with every run\n  hint: put it into a file for env_file, or name it under secrets"},
		{"a secret in the env of a task", one("env: {DB_PASSWORD: hunter2secret}"),
			"schedule.yaml:5:22: task \"t\": env.DB_PASSWORD looks like a secret, and env is kept with every run\n  hint: put it into a file for env_file, or name it under secrets"},
		{"a variable of the shell", "env: {PATH: '$HOME/bin', PASSWORD: 'a$b$c'}\n" + one(""),
			"schedule.yaml:1:13: env.PATH: $HOME is taken as it stands\n  hint: write ${HOME} for its value"},
		{"a tick that waits with its task", "defaults: {retry: {attempts: 3, delay: 40s, backoff: 2}}\n" + one("") + "- {name: b, every: hour, command: x, background: true}\n- {name: c, every: hour, command: x, retry: {attempts: 3, delay: 1m, backoff: 1}}\n",
			"schedule.yaml:3:3: task \"t\": a foreground task waits up to 1m20s for its next attempt, and its tick with it\n  hint: with `background: true` a later tick goes on with it"},
		{"a password in the file", "mail: {url: 'smtp://me:hunter2@localhost'}\n" + one(""),
			"schedule.yaml:1:13: mail.url has the password in it, and with it each run in the history\n  hint: write ${VAR}, ${file:PATH} or ${credential:NAME} in its place"},
		{"a wait that ends before its time is over",
			one("background: true\nwithout_overlapping: wait\nstart_deadline: 5m\nwait_at_most: 20m"),
			"schedule.yaml:8:17: task \"t\": no run waits for 20 m 0 s: it may not start later than start_deadline, 5 m 0 s (at schedule.yaml:7:19)\n  hint: make one of the two what you mean"},
		{"a task that is paused before its hook fires",
			one("pause_after: 2\non_failure: [{mail: a@example.com, after: 2}, {mail: a@example.com, after: 3}]"),
			"schedule.yaml:5:16: task \"t\": on_failure fires from 3 failures in a row on, and pause_after pauses the task after 2: it never fires\n  hint: make pause_after larger, or after smaller"},
		{"a program that setsid does not wait for", "tasks:\n- {name: t, every: hour, shell: [bash, -c], command: cd /srv; setsid ./job x}\n" +
			"- {name: u, every: hour, shell: [bash, -c], command: setsid --wait ./job}\n" +
			"- {name: v, every: hour, shell: [bash, -c], command: setsid ./job && ./next}\n" +
			"- {name: w, every: hour, command: setsid ./job}\n",
			"schedule.yaml:2:54: task \"t\": command: setsid does not wait here, so the run succeeds at once, whatever becomes of the program\n  hint: write `setsid --wait`"},
		{"setsid without a shell", "tasks:\n- {name: t, every: hour, command: [setsid, ./job]}\n",
			"schedule.yaml:2:35: task \"t\": command: setsid does not wait here, so the run succeeds at once, whatever becomes of the program\n  hint: write `setsid --wait`"},
		{"signs of a shell without a shell", "tasks:\n- {name: t, every: hour, command: [sh, a.sh, '>', out.txt, '2>&1']}\n" +
			"- {name: u, every: hour, command: [sort, -t, '|', in.txt]}\n" +
			"- {name: v, every: hour, command: [expr, $A, '>', '1']}\n" +
			"- {name: w, every: hour, command: [pip, install, 'x>=1']}\n",
			"schedule.yaml:2:46: task \"t\": command: the program gets \">\" as an argument, because no shell reads a list\n  hint: write one text: sh a.sh > out.txt 2>&1"},
		{"a variable without a shell", "tasks:\n- {name: t, every: hour, command: [ls, $HOME, '*.txt']}\n" +
			"- {name: u, every: hour, command: [sh, -c, $HOME/x.sh]}\n- {name: v, every: hour, command: [ssh, a, ls, $HOME]}\n" +
			"- {name: w, every: hour, command: [awk, $1, '', $x]}\n",
			"schedule.yaml:2:40: task \"t\": command: the program gets \"$HOME\" as an argument, because no shell reads a list\n  hint: write one text: ls $HOME '*.txt'"},
		{"a condition with a pipe and no shell", one("when: [ls, in, '|', grep, -v, 'a b']"),
			"schedule.yaml:5:18: task \"t\": when: the program gets \"|\" as an argument, because no shell reads a list\n  hint: write one text: ls in | grep -v 'a b'"},
		{"dotenv-cli, which hides a signal", "tasks:\n- {name: t, every: hour, command: npx dotenv -e .env.prod -- node job.js}\n" +
			"- {name: u, every: hour, command: echo dotenv is a word}\n",
			"schedule.yaml:2:35: task \"t\": command: dotenv-cli exits with 0 when a signal ends the program, so the run counts as succeeded\n  hint: name the file with `env_file`, and leave dotenv out"},
		{"a textfile that the node exporter passes over", "metrics: {textfile: shop.txt}\n" + one(""),
			"schedule.yaml:1:21: metrics.textfile: the node exporter reads only files that end in .prom\n  hint: call it shop.prom"},
	} {
		s, err := Text([]byte(row.yaml), "/srv/schedule.yaml", testOptions())
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		if len(s.Warnings) != 1 || s.Warnings[0].String() != row.want {
			t.Errorf("%s: warned of %v, want %s", row.name, s.Warnings, row.want)
		}
	}
}

const assertionForms = "write one like these: backup starts between 01:00 and 05:00 Europe/Berlin every day; tag heavy never starts between 08:00 and 18:00 on weekdays; report starts within 4h after backup; never more than 3 of tag heavy in one minute; cleanup runs at least every 7 days; other lengths are 90s, 30m, 1h30m and 14d"

func TestNamesOfZonesLeadToPlaces(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"PST": "write America/Los_Angeles", "PDT": "write America/Los_Angeles", "MESZ": "write Europe/Berlin",
		"IST":     "write Asia/Kolkata, Asia/Jerusalem or Europe/Dublin",
		"Germany": "write Europe/Berlin", "China": "write Asia/Shanghai", "Europe/Hamburg": "write Europe/Berlin",
		"Europe/Munich": "write Europe/Berlin", "W. Europe Standard Time": "write Europe/Berlin", "Z": "write UTC",
		"XYT": `time zones are called as in "Europe/Berlin", "America/New_York" or "UTC"`,
	} {
		if got := zoneHint(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name, places := range placesByName() {
		for _, place := range strings.Split(strings.ReplaceAll(places, " or ", ", "), ", ") {
			if _, err := time.LoadLocation(place); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A machine without the list of zones has no name to propose.
func TestAMisspeltZoneLeadsToTheNearestOne(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/share/zoneinfo/tzdata.zi"); err != nil {
		t.Skip(err)
	}
	for name, want := range map[string]string{
		"Europe/Berln": "Europe/Berlin", "America/NewYork": "America/New_York", "Nowhere": "",
		"PSD": "", "Europe/Munchen": "", "Europe/Bonn": "",
	} {
		if got := nearestZone(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
