package foreign_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"sched/schedule/crontab"
	"sched/schedule/foreign"
	"sched/schedule/load"
	"sched/schedule/yamldoc"
)

var now = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

// imported returns the verdicts, a line each with its notes below, and the YAML.
func imported(t *testing.T, kindName, text string) (verdicts, yaml string) {
	t.Helper()
	kind, ok := foreign.Find(kindName)
	if !ok {
		t.Fatalf("there is no kind %s", kindName)
	}
	jobs, err := kind.Read(text, time.UTC)
	if err != nil {
		return err.Error(), ""
	}
	var blocks []crontab.Block
	for _, j := range jobs {
		if j.Refused == "" {
			blocks = append(blocks, crontab.Block{Keys: j.Keys})
		}
	}
	yaml = string(crontab.BlocksYAML(nil, []crontab.Key{{Name: "background", Value: yamldoc.NewBool(true)}}, blocks))
	if blocks == nil {
		yaml = "tasks: []\n"
	}
	loaded, err := load.Text([]byte(yaml), "/srv/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, yaml)
	}
	var lines []string
	for _, v := range foreign.Prove(jobs, loaded, now) {
		if v.Proven != strings.HasPrefix(v.Text, "proven until 2054") {
			t.Errorf("%s is proven: %t", v.Text, v.Proven)
		}
		lines = append(append(lines, v.Job.Name+": "+v.Text), v.Job.Notes...)
	}
	return strings.Join(lines, "\n"), yaml
}

func wantParts(t *testing.T, says, text string, parts []string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: there is no %q in\n%s", says, part, text)
		}
	}
}

const cronJob = `apiVersion: batch/v1
kind: CronJob
metadata: {name: backup}
spec:
  schedule: "SCHEDULE"
  timeZone: Europe/Berlin
  concurrencyPolicy: Forbid
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          containers:
            - {name: b, image: "shop:1", args: [backup, "a b"], env: [{name: A, value: x}], POD}
`

func manifest(schedule, more string) string {
	return strings.NewReplacer("SCHEDULE", schedule, "POD", more).Replace(cronJob)
}

// The zone of the application and the names of its commands stand in other files.
func TestTheApplicationOfLaravelIsRead(t *testing.T) {
	const calls = "<?php\nuse App\\Console\\{X};\nuse App\\Console\\Commands\\Prune as P;\n" +
		"Schedule::command(P::class, ['--days' => 3])->daily();\n" +
		"Schedule::command('App\\Console\\Commands\\Sweep')->daily()->timezone('Asia/Dhaka');\nSchedule::command(Gone::class)->daily();\n"
	for _, test := range []struct{ config, env, zone, says string }{
		{"'timezone' => 'Europe/Berlin',", "", "Europe/Berlin", "the zone is Europe/Berlin: timezone of config/app.php"},
		{"'timezone' => 'UTC', 'schedule_timezone' => 'Asia/Tokyo',", "", "Asia/Tokyo", "schedule_timezone of config/app.php"},
		{"'timezone' => env('APP_TIMEZONE', 'Europe/Paris'),", "", "Europe/Paris", "unless APP_TIMEZONE is set there"},
		{"'timezone' => env('APP_TIMEZONE', 'UTC'),", "A=b\nAPP_TIMEZONE=\"Europe/Rome\"\n", "Europe/Rome", "APP_TIMEZONE of .env"},
		{"// 'timezone' => 'Europe/Berlin',\n'timezone' => zone(),", "", "UTC", "the zone is taken for UTC: timezone of config/app.php is not plain"},
	} {
		kind, _ := foreign.Find("laravel")
		jobs, err := kind.In(fstest.MapFS{
			"config/app.php":                 {Data: []byte("<?php return [" + test.config + "];")},
			".env":                           {Data: []byte(test.env)},
			"app/Console/Commands/Prune.php": {Data: []byte("<?php class Prune { protected $signature = 'prune:old\n {--days=}'; }")},
			"app/Console/Commands/Sweep.php": {Data: []byte("<?php #[AsCommand(name: 'sweep')] class Sweep {}")},
		}).Read(calls, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(jobs[0].Notes, "\n")
		wantParts(t, test.config, notes, []string{"P is the command prune:old, as", test.says})
		if jobs[0].Command != "php artisan prune:old --days=3" || jobs[1].Command != "php artisan sweep" || jobs[2].Refused == "" {
			t.Errorf("the commands are %q, %q and %q", jobs[0].Command, jobs[1].Command, jobs[2].Command)
		}
		if zone := jobs[0].Keys[2].Value.Value; zone != test.zone || foreign.TakeZone(jobs) != "" {
			t.Errorf("with %s the zone is %s", test.config, zone)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, test := range []struct {
		says, kind, text string
		verdicts, yaml   []string // parts
	}{
		{"a CronJob", "kubernetes", manifest("0 4 * * 1-5", "imagePullPolicy: Always"),
			[]string{"backup: proven until 2054", "docker run on this machine"},
			[]string{"cron: 0 4 * * 1-5\n    timezone: Europe/Berlin\n    without_overlapping: true",
				"command: docker run --rm -e A=x shop:1 backup 'a b'"}},
		{"a gap of the clocks", "kubernetes", manifest("30 2 * * *", ""),
			[]string{"backup: taken, and here it differs: first on 2027-03-28 03:00 CEST, when the task alone is due"}, nil},
		{"a step among the days: one is enough to robfig", "k8s", manifest("0 0 */2 * 1", ""),
			[]string{"backup: proven until 2054"}, []string{"cron: 0 0 1-31/2 * MON"}},
		{"a pod with more, which is suspended", "kubernetes",
			strings.Replace(manifest("0 4 * * *", "volumeMounts: []"), "  jobT", "  suspend: true\n  jobT", 1),
			[]string{"kubectl makes a Job"}, []string{"enabled: false", `command: kubectl create job --from=cronjob/backup "backup-$SCHED_RUN"`}},
		{"a schedule that robfig refuses", "kubernetes", manifest("61 * * * *", ""),
			[]string{"backup: not taken, because \"61 * * * *\": robfig/cron 3.0.1 refuses it"}, nil},
		{"each object has a verdict", "kubernetes", manifest("@hourly", "") + "---\nkind: Secret\nmetadata: {name: s}\n",
			[]string{"s: not taken, because it is a Secret, which has no times"}, nil},
		{"a span of time", "kubernetes", manifest("@every 7m", ""),
			[]string{"taken, and here it differs: the program counts from its own start"}, nil},
		{"a template", "kubernetes", "kind: CronJob\nspec: {{ .Values.x }}: {{\n", []string{"it is a template"}, nil},
		{"aliases that stand for too much", "kubernetes", "a: &a [" + strings.Repeat("x, ", 1000) + "]\n" + bomb(),
			[]string{"its aliases stand for too much"}, nil},
		{"a workflow", "github-actions", "name: n\non:\n  schedule: [{cron: '0 5 * * 1'}, {cron: '0 6 * * *', timezone: Europe/Berlin}]\n" +
			"jobs: {a: {}}\n",
			[]string{"n: proven until 2054", "n-2: proven until 2054", "it needs workflow_dispatch"},
			[]string{"timezone: UTC\n    command: gh workflow run n", "timezone: Europe/Berlin"}},
		{"the list of Laravel", "laravel", `[{"expression":"*\/90 * * * *","command":"php artisan x:y --z","timezone":"UTC",` +
			`"repeat_seconds":null},{"expression":"* * * * *","command":"Closure at: routes\/console.php:9"},` +
			`{"expression":"* * * * *","command":"php artisan s","repeat_seconds":1},{"expression":"* * * * *","command":"r","repeat_seconds":7}]`,
			[]string{"x:y: proven until 2054", "Closure: not taken, because it is PHP", "s: taken, and here it differs: Laravel counts",
				"r: not taken, because it repeats every 7 seconds, which does not divide a minute"},
			[]string{"cron: 30 * * * *", "every: second\n"}},
		{"calls of Laravel", "laravel", "<?php\n/* Schedule::command('no')->daily(); */\n// Schedule::command('no')->daily();\n" +
			"Schedule::command('a:b', ['--c'])->weekdays()->dailyAt('13:05')->timezone('Europe/Berlin')\n" +
			"  ->withoutOverlapping(10)->thenPing($url);\nSchedule::call(fn () => x(1, ')'))->daily();\n" +
			"Schedule::command(Foo::class)->hourly();\nSchedule::exec('e')->daily()->when(fn () => true);\n" +
			"$schedule->command('l')->lastDayOfMonth('15:00');\n$schedule->command('s')->everySixHours(25);\n" +
			"$schedule->command('t')->twiceDaily();\n$schedule->command('u')->twiceDailyAt(1, 13, 32);\n" +
			"$schedule->command('v')->everyTenSeconds();\n$schedule->command('w')->everySecond()->at('3:00')->everyTwoSeconds();\n" +
			"$schedule->command('x')->everySecond()->hourly();\n",
			[]string{"a:b: proven until 2054\nnot taken: ->thenPing($url): write `after: {ping: URL}`\ntask: not taken, because it is PHP",
				"task-2: not taken, because Foo is a class, and no file here says which command it is", "e: proven until 2054\nit is switched off",
				"l: proven until 2054", "s: proven until 2054", "t: proven until 2054", "u: proven until 2054",
				"v: taken, and here it differs: Laravel counts the seconds from its last start, and the task by the clock"},
			[]string{"cron: 5 13 * * 1-5\n    timezone: Europe/Berlin\n    without_overlapping: true\n    command: php artisan a:b --c",
				"cron: 0 15 L * *", "cron: 25 */6 * * *", "cron: 0 1,13 * * *", "cron: 32 1,13 * * *", "every: 10 seconds\n", "cron: \"*/2 * 3 * * *\"\n", "cron: \"* 0 * * * *\"\n"}},
		{"what Artisan schedules, and what it does not", "laravel", "<?php\nArtisan::command('inspire', function () { x(); })" +
			"->purpose('p')->hourly();\nArtisan::command('other', fn () => 1);\n",
			[]string{"inspire: proven until 2054\nthe zone is taken for UTC: there is no config/app.php"},
			[]string{"description: p\n    command: php artisan inspire"}},
		{"hooks and outputs of Laravel", "laravel", "<?php\nSchedule::command('a')->daily()->pingBefore('https://x.example/1')" +
			"->pingOnFailureIf($x, 'https://x.example/2')->emailOutputTo(['a@x.example', 'b@x.example'], true)" +
			"->emailOutputOnFailure('a@x.example')->sendOutputTo(storage_path('x'))->storeOutput()->onOneServer();\n" +
			"Schedule::command('b')->daily()->onOneServer();\n",
			[]string{"not taken: ->pingOnFailureIf($x, 'https://x.example/2'): write `on_failure: {ping: \"https://x.example/2\"}`",
				"->storeOutput(): it needs no key, `sched logs TASK` has the output", "mails go to sendmail of this machine",
				"one_server needs a `store:` that all servers reach, and a `name:`, at the top of the file"},
			[]string{"before: {ping: https://x.example/1}\n    after: {mail: [a@x.example, b@x.example], when: output}\n" +
				"    on_failure: {mail: a@x.example}\n    output: storage/x\n    one_server: true\n"}},
		{"hooks of Laravel that are not plain", "laravel", "<?php\nSchedule::command('a')->daily()->pingBefore($url)->thenPing('ftp://x/')" +
			"->emailOutputTo(config('x'))->emailOutputOnFailure('nobody')->appendOutputTo($file)->sendOutputTo('/dev/null')" +
			"->pingOnSuccessIf(false, 'https://x.example/')->when(true)->emailOutputTo('a@x.example', false);\n" +
			"Schedule::command('b')->daily()->skip(true)->createMutexNameUsing('m')->evenWhenPaused()->pingBeforeIf(true, 'https://x.example/${A}');\n",
			[]string{"not taken: ->pingBefore($url): write `before: {ping: URL}`\nnot taken: ->thenPing('ftp://x/')",
				"not taken: ->emailOutputTo(config('x')): write `after: {mail: ADDRESS, when: output}`",
				"not taken: ->emailOutputOnFailure('nobody')", "not taken: ->appendOutputTo($file): write `output: {file: FILE, append: true}`"},
			[]string{"timezone: UTC\n    after: {mail: a@x.example}\n    command: php artisan a\n",
				"enabled: false\n    mutex: m\n    even_when_paused: true\n    before: {ping: \"https://x.example/$${A}\"}\n"}},
		{"a group of Laravel", "laravel", "<?php\nSchedule::daily()->onOneServer()->group(function () {\n  Schedule::command('a');\n" +
			"  Schedule::command('b')->at('13:00');\n  Schedule::timezone('Asia/Dhaka')->group(fn () => [Schedule::command('c'), Schedule::exec('d')]);\n" +
			"  if ($x) { Schedule::command('e'); }\n});\nSchedule::command('f');\nSchedule::hourly()->command('g');\n" +
			"Schedule::daily()->group(function (Schedule $s) { $s->command('h'); });\n",
			[]string{"a: proven until 2054\none_server needs", "c: proven", "d: proven", "e: proven until 2054\nit is switched off",
				"f: proven until 2054\nnothing says when it is due: Laravel starts it every minute", "g: proven", "h: proven"},
			[]string{"cron: 0 0 * * *\n    timezone: UTC\n    one_server: true\n    command: php artisan a\n",
				"cron: 0 13 * * *\n    timezone: UTC\n    one_server: true\n    command: php artisan b\n",
				"cron: 0 0 * * *\n    timezone: Asia/Dhaka\n    one_server: true\n    command: d\n", "name: f\n    cron: \"* * * * *\"\n",
				"enabled: false\n    command: php artisan e\n", "cron: 0 * * * *\n    timezone: UTC\n    command: php artisan g\n"}},
		{"groups of Laravel that are not plain", "laravel", "<?php\nSchedule::command('a')->daily();\n" +
			"Schedule::dailyAt($t)->group(function () { Schedule::command('b'); });\n$x->group(fn () => Schedule::command('c')->daily());\n" +
			"Schedule::daily()->group($closure);\n$e = Schedule::command('d');\nSchedule::daily()->group(fn () => $x && Schedule::exec('e'));\n" +
			"Schedule::useCache('redis');\n",
			[]string{"a: proven until 2054\nnot taken: Schedule::useCache('redis')", "b: not taken, because ->dailyAt($t) is not plain: import what",
				"c: not taken, because the group around it is not plain", "group: not taken, because group() has no plain function",
				"d: not taken, because PHP around it may say when", "e: proven until 2054\nit is switched off"}, nil},
		{"parameters of commands of Laravel", "laravel", "<?php\nSchedule::command('a', ['--force', '--days' => 3, 'user' => 'x y', '--id' => [1, 'b'], " +
			"'-q' => ['z'], '--on' => true])->daily();\nSchedule::command('b', ['--at' => now()])->daily();\nSchedule::exec('it\\'s')->daily();\n",
			[]string{"b: not taken, because the arguments of its command are not plain"},
			[]string{"command: php artisan a --force --days=3 'user=x y' --id=1 --id=b -q z --on=1\n", "command: it's\n"}},
		{"a short deadline", "kubernetes", strings.Replace(manifest("0 4 * * *", ""), "  jobT", "  startingDeadlineSeconds: 15\n  jobT", 1),
			[]string{"backup: proven"}, []string{"start_deadline: 15s"}},
		{"an INI file of ofelia", "ofelia", "[global]\nsave-folder = /x\n[job-exec \"a\"]\nschedule = 0 30 2 * * *\ncontainer = db\n" +
			"command = echo \"hi\"\nuser = postgres\n[job-local \"b\"]\nschedule = 15 0 2 * * *\ncommand = date\nhistory = 3\n" +
			"[job-service-run \"c\"]\nschedule = @daily\n",
			[]string{"a: proven until 2054\nnot taken: save-folder", "b: taken, and not compared: it has seconds\nnot taken: history = 3",
				"c: not taken, because job-service-run"},
			[]string{"command: docker exec --user postgres db echo hi\n"}},
		{"labels of ofelia", "ofelia", "services:\n  web:\n    labels:\n      - ofelia.job-exec.s.schedule=@daily\n" +
			"      - ofelia.job-exec.s.command=x $$HOME\n  db:\n    container_name: pg\n    labels: {ofelia.job-exec.v.schedule: \"@daily\", " +
			"ofelia.job-exec.v.command: vacuum}\n",
			[]string{"s: proven", "v: proven"}, []string{"command: docker exec --user root web x '$HOME'", "command: docker exec --user root pg vacuum"}},
		{"yacron", "cronstable", "defaults: {shell: /bin/bash}\njobs:\n  - {name: a, command: [echo, a b], schedule: {minute: 5}, statsd: {}, environment: [{key: A, value: '$X and ${Y}'}]}\n" +
			"  - {name: b, command: x, schedule: {year: 2017}}\n",
			[]string{"a: taken, and not compared", "not taken: statsd", "b: not taken, because its years"},
			[]string{"cron: 5 * * * *\n    timezone: UTC\n    shell: [/bin/bash, \"-c\"]\n    env:\n      A: $X and $${Y}\n    fail_if: {stderr: any}\n    command: echo 'a b'"}},
		{"yacron: mails of reports", "yacron", "defaults:\n  onFailure: {retry: {maximumRetries: 2}, report: {mail: {from: c@example.com, smtpHost: mx}}}\njobs:\n" +
			"  - name: a\n    command: x\n    schedule: '0 1 * * *'\n    onFailure: {report: {mail: {to: ops@example.com}, sentry: {dsn: {value: x}}}}\n" +
			"    onPermanentFailure: {report: {mail: {from: c@example.com, to: 'a@example.com, ops@example.com, Bo <b@example.com>', subject: x}}}\n" +
			"    onSuccess: {report: {mail: {from: c@example.com, to: b@example.com}}}\n" +
			"  - name: b\n    command: x\n    schedule: '0 1 * * *'\n    onSuccess: {report: {mail: {from: c@example.com, to: b@example.com, body: x}}}\n" +
			"  - name: c\n    command: x\n    schedule: '0 1 * * *'\n    onSuccess: {report: {mail: {to: nobody@example.com}}}\n",
			[]string{"not taken: onFailure.report.mail.from: `mail: {from: …}` of the file", "not taken: onFailure.report.sentry: a hook of the task can say it",
				"not taken: onFailure.report.mail.smtpHost", "not taken: onPermanentFailure.report.mail.to: Bo <b@example.com>",
				"not taken: onPermanentFailure.report.mail.subject", "onFailure.report mails after each attempt", "not taken: onSuccess.report.mail.body"},
			[]string{"on_failure: {mail: [ops@example.com, a@example.com]}\n    on_success: {mail: b@example.com, when: output}",
				"on_success: {mail: b@example.com}\n", "c\n    cron: 0 1 * * *\n    timezone: UTC\n    retry: {attempts: 3, delay: 1s, backoff: 2, max_delay: 300s}\n    fail_if: {stderr: any}"}},
		{"what may be a secret", "yacron", "jobs:\n  - {name: a, command: 'x --token=abc', schedule: '0 1 * * *', environment: [{key: DB_PASSWORD, value: y}]}\n",
			[]string{"DB_PASSWORD may be a secret: the env of a schedule", "--token may be a secret: the command of a task"}, nil},
		{"at a boot", "yacron", "jobs:\n  - {name: a, command: x, schedule: '@reboot', utc: false}\n",
			[]string{"a: taken, and here it differs: it starts at boot, and there with the program"}, []string{"cron: \"@reboot\"\n"}},
		{"at a boot for systemd-cron", "systemd-cron", "PERSISTENT=yes\nSTART_HOURS_RANGE=3-5\n@Reboot x\n",
			[]string{"x: taken, and not compared: it starts at boot", "not taken: START_HOURS_RANGE=3-5"}, []string{"cron: \"@reboot\"\n    command: x"}},
		{"at no boot that Kubernetes knows", "kubernetes", manifest("@reboot", ""), []string{"backup: not taken, because"}, nil},
		{"RunWisp", "runwisp", "[scheduler]\ntimezone = 'UTC'\n[daemon]\ninclude = ['more/*.toml']\n[defaults]\ntimeout = '1h'\nkeep_runs = 5\n" +
			"env = {A = 'a', B = 'b'}\n[tasks.b]\ncron = '30 2 * * 7'\nrun = \"\"\"\nx\ny\n\"\"\"\n[tasks.b.env]\nB = '${HOME}$${C}'\n" +
			"F = '${file:f}'\n[tasks.a]\ncron = '0 0 4 * * *'\ntimezone = 'Europe/Berlin'\nrun = 'a'\non_overlap = 'skip'\ncatch_up = 'skip'\n" +
			"retry_attempts = 2\nretry_backoff = 'exponential'\ntimeout = '0s'\nnotify_on_failure = ['ops']\nuser = 'www:data'\numask = '027'\n",
			[]string{"b: proven until 2054\nenv.B is without a variable that is not set: there that is an error\nnot taken: env.F\nnot taken: keep_runs = 5\nnot taken: the files of daemon.include",
				"a: taken, and not compared: runwisp has rules of its own for changes of the clocks\nthere no wait between attempts",
				"not taken: notify_on_failure"},
			[]string{"cron: 30 2 * * 0\n    timezone: UTC\n    missed: once\n    missed_within: 31d\n    shell: [/bin/sh, \"-e\", \"-c\"]\n" +
				"    without_overlapping: wait\n    timeout: 1h\n    env:\n      A: a\n      B: ${HOME:-}$${C}\n    command: |-\n      x\n      y",
				"cron: 0 4 * * *\n    timezone: Europe/Berlin\n    without_overlapping: true\n" +
					"    retry: {attempts: 3, delay: 5s, backoff: 2}\n    user: www\n    group: data\n    umask: 027\n    env:"}},
		{"RunWisp: what has no cron, and what is no job", "runwisp", "[tasks.m]\nrun = 'm'\n[tasks.o]\nrun = 'o'\nrun_on_start = true\n" +
			"[tasks.e]\nrun = 'e'\ncron = '@every 90m'\n[tasks.d]\nrun = 'd'\ncron = '0 0 */2 * 1'\n[tasks.s]\nrun = 's'\ncron = '*/30 * * * * *'\n" +
			"[tasks.c]\ncron = '@daily'\ncompose_file = 'c.yml'\nrun = 'x y'\n[tasks.w]\ncron = '61 * * * *'\nrun = 'w'\n" +
			"[tasks.n]\ncron = '@daily'\n[services.web]\nrun = 'web'\n[compose.app]\n",
			[]string{"m: taken, and only people start it", "o: taken, and here it differs: it starts at boot",
				"e: taken, and here it differs: the program counts", "d: taken, and not compared: RunWisp has its own reading",
				"s: taken, and not compared: it has seconds", "c: proven until 2054", "w: not taken, because \"61 * * * *\"",
				"n: not taken, because it has no command", "web: not taken, because it is a service",
				"app: not taken, because it makes services of a Compose file"},
			[]string{"every: hand\n", "every: boot\n", "cron: 0 0 */2 * 1\n",
				"command: docker compose -f c.yml exec -T c /bin/sh -e -c 'x y'"}},
		{"no TOML", "runwisp", "[tasks.a]\nrun = 'a'\nrun = 'b'\n", []string{"line 3 is no TOML"}, nil},
		{"deep TOML", "runwisp", strings.Repeat("a.", 9000) + "b = 1\n", []string{"its tables are too deep"}, nil},
		{"long TOML", "runwisp", strings.Repeat("a.", 1<<16) + "b = 1\n", []string{"a line has too many dots"}, nil},
		{"large TOML", "runwisp", strings.Repeat("#", 1<<19), []string{"it is larger than 256 KiB"}, nil},
		{"a bell in TOML", "runwisp", "[tasks.a]\nrun = \"\\u0007\"\n", []string{"has a character that no schedule can have"}, nil},
		{"supercronic", "supercronic", "CRON_TZ=Europe/Berlin\nA=\"b c\"\n0 0 */2 * 1 /bin/date +%F\n0 0 * * 5-7 echo\n",
			[]string{"date: proven until 2054", "line: not taken, because supercronic reads no times and command"},
			[]string{"timezone: Europe/Berlin\n    without_overlapping: true\n    env:\n      A: b c\n      CRON_TZ: Europe/Berlin\n    command: /bin/date +%F"}},
		{"systemd-cron", "systemd-cron", "A=b\nPERSISTENT=auto\n0 0 13 * 5 /bin/x\n0 0 * * 5-7 y\n@weekly z\n0 0 1 OCT * w\n",
			[]string{"x: proven until 2054\nit becomes OnCalendar=Fri *-*-13 0:0:00", "y: proven until 2054", "z: proven until 2054",
				"w: not taken, because \"0 0 1 OCT *\": systemd-cron 1.15.19 refuses it"},
			[]string{"days: fri", "env:\n      A: b\n    command: /bin/x", "cron: 0 0 * * *\n", "cron: 0 0 * * MON\n    missed: once"}},
		{"mcron counts months from 0", "mcron", "A=b\n0 0 15 6 * x\n0 0 15 jun * \\\ny\n@daily z\n",
			[]string{"x: proven until 2054", "y: proven until 2054", "z: not taken, because \"@daily\": mcron 1.0.8 refuses it"},
			[]string{"cron: 0 0 15 JUL *\n", "cron: 0 0 15 jun *\n"}},
		{"XML of Quartz", "quartz", "<x><job><name>J</name><job-class>com.x.J</job-class></job><trigger><cron><name>T</name>" +
			"<job-name>J</job-name><time-zone>UTC</time-zone><cron-expression>0 0 0 ? * 6L</cron-expression></cron></trigger>" +
			"<trigger><simple><name>S</name></simple></trigger></x>",
			[]string{"T: proven until 2054\nit is switched off: its command, which starts the class com.x.J", "S: not taken, because"},
			[]string{"cron: 0 0 * * FRIL\n    timezone: UTC\n    enabled: false"}},
		{"properties of Quartz", "quartz", "a.cron=0 0 0 ? * 1\nb=hello\nc.cron=0 0 0 * * 1\n", []string{"a.cron: proven",
			"c.cron: not taken, because \"0 0 0 * * 1\": Quartz 2.3.2 refuses it: one of day and weekday must be ?"}, []string{"cron: 0 0 * * SUN"}},
		{"a time of each minute in some years", "eventbridge", `{"Rules":[{"Name":"m","ScheduleExpression":"cron(* * * * ? 2027-2030)"}]}`,
			[]string{"m: taken, and compared for its next 20000 starts alone"}, nil},
		{"rules of AWS", "eventbridge", `{"Rules":[{"Name":"e","State":"ENABLED"},` +
			`{"Name":"c","ScheduleExpression":"cron(0 12 ? * 1 *)","State":"DISABLED","Targets":[{"Arn":"arn:aws:lambda:eu:1:function:f"}]}]}`,
			[]string{"e: not taken, because it has no ScheduleExpression", "c: proven until 2054\nnot taken: the event that"},
			[]string{"cron: 0 12 * * SUN\n    timezone: UTC\n    enabled: false\n    command: aws lambda invoke --region eu --function-name f /dev/stdout"}},
		{"a file with nothing of the kind", "ofelia", "a: 1\n", []string{"it has nothing of that kind"}, nil},
	} {
		verdicts, yaml := imported(t, test.kind, test.text)
		wantParts(t, test.says, verdicts, test.verdicts)
		wantParts(t, test.says, yaml, test.yaml)
	}
}

// Each row was read wrongly, or made a schedule that is not valid.
func TestOddInput(t *testing.T) {
	for _, test := range []struct {
		says, kind, text string
		verdicts, yaml   []string // parts
		never            string   // a part of neither
	}{
		{"commas in the words of a command", "laravel", "<?php\nSchedule::command('s --to=a,b')->daily();\n" +
			"Schedule::command('t', ['--name=a, b; c', 3])->daily();\n",
			nil, []string{"command: php artisan s --to=a,b\n", "command: php artisan t '--name=a, b; c' 3\n"}, ""},
		{"comments in a chain", "laravel", "<?php\nSchedule::command('c')->daily() // ->hourly()\n  # x\n  ->at('13:00')/* y */->onOneServer();\n",
			nil, []string{"cron: 0 13 * * *\n    timezone: UTC\n    one_server: true"}, ""},
		{"a comment's signs in a text", "laravel", "<?php\nSchedule::exec('curl http://x/#y')->daily();\n",
			nil, []string{"command: curl http://x/#y\n"}, ""},
		{"a call in a condition", "laravel", "<?php\nif (x()) { Schedule::command('a')->daily(); }\nSchedule::command('b')->daily();\n",
			[]string{"\nit is switched off: PHP around it"}, []string{"name: b\n    cron: 0 0 * * *\n    timezone: UTC\n    command"}, ""},
		{"a call behind one that may leave", "laravel", "<?php\nif (x()) { return; }\nSchedule::command('a')->daily();\n",
			[]string{"\nit is switched off: PHP around it"}, []string{"enabled: false"}, ""},
		{"a command without arguments", "laravel", "<?php\nArtisan::command()->daily();\n",
			[]string{"task: not taken, because what it runs is no plain text"}, nil, ""},
		{"two reasons to be off, and two names", "laravel", "<?php\nSchedule::exec('x')->daily()->when(fn()=>1)->skip(fn()=>2)" +
			"->description('Costs ${a}')->description('Costs ${b}');\n",
			nil, []string{"enabled: false\n    description: Costs ${b}\n"}, "${a}"},
		{"a user with a variable", "laravel", "<?php\nSchedule::exec('x')->daily()->user('${DB}')->environments(['a: b', 'c,d']);\n",
			[]string{"not taken: user = ${DB}"}, []string{"environments: [\"a: b\", \"c,d\"]"}, ""},
		{"words without a shell", "ofelia", "[job-exec \"a\"]\nschedule = @daily\ncontainer = db\ncommand = sh -c \"x $A > /b/* ; y\"\n" +
			"[job-local \"b\"]\nschedule = @daily\ncommand = echo $HOME > x\n[job-run \"c\"]\nschedule = @daily\nimage = i\nuser = u\ncommand = c\n",
			[]string{"a: proven", "b: not taken, because ofelia has no shell", "c: proven"},
			[]string{"command: docker exec --user root db sh -c 'x $A > /b/* ; y'\n", "command: docker run --rm --user u i c\n"}, ""},
		{"a long line", "ofelia", "[job-local \"a\"]\nschedule = @daily\ncommand = a\n; " + strings.Repeat("x", 70_000) +
			"\n[job-local \"b\"]\nschedule = @daily\ncommand = b\nenvironment = A=${B}\n",
			[]string{"a: proven", "b: proven"}, []string{"A: $${B}\n"}, ""},
		{"a name for a shell", "kubernetes", strings.Replace(manifest("0 4 * * *", "volumeMounts: []"), "{name: backup}", "{name: 'a$(x)'}", 1),
			[]string{"not taken, because Kubernetes takes no CronJob of the name"}, nil, ""},
		{"a name that is as long as can be", "kubernetes", strings.Replace(manifest("0 4 * * *", "volumeMounts: []"), "{name: backup}",
			"{name: "+strings.Repeat("a", 52)+"}", 1),
			nil, []string{"cronjob/" + strings.Repeat("a", 52) + ` "` + strings.Repeat("a", 26) + `-$SCHED_RUN"`}, ""},
		{"a variable that Kubernetes expands", "kubernetes", strings.Replace(manifest("0 4 * * *", ""), "a b", "$(A)", 1),
			nil, []string{"command: kubectl create job"}, "docker run"},
		{"what docker run does not have", "kubernetes", strings.Replace(manifest("0 4 * * *", "resources: {}, securityContext: {runAsUser: 1}"),
			"        spec:\n          res", "        metadata: {labels: {a: b}}\n        spec:\n          res", 1),
			[]string{"not taken: its container has resources", "not taken: its container has securityContext",
				"not taken: its pod or Job has metadata: labels"}, []string{"command: docker run"}, ""},
		{"numbers that are too large", "kubernetes", strings.NewReplacer("backoffLimit: 0", "backoffLimit: 2147483647\n      activeDeadlineSeconds: 99999999999",
			"  jobT", "  startingDeadlineSeconds: 9999999\n  jobT").Replace(manifest("0 4 * * *", "")),
			[]string{"not taken: startingDeadlineSeconds = 9999999\nnot taken: backoffLimit = 2147483647\nnot taken: activeDeadlineSeconds = 9"}, nil, "retry"},
		{"SHELL and MAILTO", "supercronic", "SHELL=/bin/bash\nMAILTO=me@x\n0 1 * * * a\n", []string{"a: proven until 2054\nnot taken: MAILTO=me@x"},
			[]string{"shell: [/bin/bash, \"-c\"]\n    env:\n      MAILTO: me@x\n      SHELL: /bin/bash\n"}, "after: {mail: me"},
		{"SHELL of a user's crontab", "mcron", "SHELL=/bin/bash\nMAILTO=me@x\n0 1 * * * a\n", []string{"not taken: MAILTO=me@x"},
			[]string{"shell: [/bin/bash, \"-c\"]\n    env:\n      MAILTO: me@x\n"}, "after: {mail: me"},
		{"jobs of two groups", "quartz", "<x><job><name>J</name><group>a</group><job-class>A</job-class><job-data-map><entry><key>k</key></entry>" +
			"</job-data-map></job><job><name>J</name><group>b</group><job-class>B</job-class></job><trigger><cron><name>T</name><job-name>J</job-name>" +
			"<job-group>a</job-group><time-zone>UTC</time-zone><cron-expression>0 0 0 ? * 6</cron-expression></cron></trigger></x>",
			[]string{"T: proven until 2054\nnot taken: job-data-map\nit is switched off: its command, which starts the class A,"}, nil, "class B"},
		{"yacron: the zone of the machine, seconds, a shell", "yacron", "logging: {}\njobs:\n  - {name: a, command: x, schedule: '0 1 * * *', utc: false}\n" +
			"  - {name: b, command: x, schedule: {second: 30, minute: 1}, shell: '/bin/bash, y'}\n---\njobs: []\n",
			[]string{"a: not taken, because utc: false", "not taken: logging of the whole file", "not taken: the 1 document of the file below the first"},
			[]string{"cron: 30 1 * * * *\n    timezone: UTC\n    shell: [\"/bin/bash, y\", \"-c\"]"}, ""},
		{"yacron: retries of the defaults, too", "yacron", "defaults: {onFailure: {retry: {maximumRetries: 3, initialDelay: 7}}}\njobs:\n" +
			"  - {name: a, command: x, schedule: '0 1 * * *', onFailure: {retry: {maximumRetries: 5}}, executionTimeout: 1e9, user: '${A:-b}'}\n" +
			"  - {name: b, command: x, schedule: '0 1 * * *', onFailure: {retry: {maximumRetries: -1}}}\n",
			[]string{"not taken: executionTimeout = 1e9", "not taken: user = ${A:-b}", "not taken: maximumRetries = -1"},
			[]string{"retry: {attempts: 6, delay: 7s, backoff: 2, max_delay: 300s}\n    fail_if: {stderr: any}\n    command"}, "timeout: "},
		{"yacron: stderr that does not matter", "yacron", "defaults: {failsWhen: {producesStdout: true, producesStderr: false}}\njobs:\n" +
			"  - {name: a, command: x, schedule: '0 1 * * *', failsWhen: {nonzeroReturn: false}}\n" +
			"  - {name: b, command: x, schedule: '0 1 * * *', captureStderr: false, failsWhen: {producesStderr: true, producesStdout: false}}\n",
			[]string{"not taken: failsWhen.nonzeroReturn = false\nnot taken: failsWhen.producesStdout = true", "b: "},
			[]string{"timezone: UTC\n    command: x"}, "fail_if"},
		{"a bell in a command", "eventbridge", `{"Rules":[{"Name":"a","ScheduleExpression":"rate(1 hour)",` +
			`"Targets":[{"Arn":"arn:aws:lambda:eu:1:function:f","Input":"\u0007"}]}]}`, []string{"a: "}, nil, ""},
		{"too many jobs", "supercronic", strings.Repeat("0 1 * * * a\n", 10_001), []string{"it has more than 10000 jobs"}, nil, ""},
		{"a large file of PHP", "laravel", "<?php\n" + strings.Repeat("Schedule::command(\n", 40_000), []string{"it is larger than 256 KiB"}, nil, ""},
	} {
		verdicts, yaml := imported(t, test.kind, test.text)
		wantParts(t, test.says, verdicts, test.verdicts)
		wantParts(t, test.says, yaml, test.yaml)
		if test.never != "" && strings.Contains(verdicts+yaml, test.never) {
			t.Errorf("%s: %q is in\n%s\n%s", test.says, test.never, verdicts, yaml)
		}
	}
}

// bomb returns YAML whose aliases double twenty times.
func bomb() string {
	var b strings.Builder
	for n, name := range "bcdefghijklmnopqrstuv" {
		before := string("abcdefghijklmnopqrstu"[n])
		b.WriteString(string(name) + ": &" + string(name) + " [*" + before + ", *" + before + "]\n")
	}
	return b.String()
}

func FuzzRead(f *testing.F) {
	f.Add(0, manifest("0 4 * * *", ""))
	f.Add(2, "<?php Schedule::command('a')->daily();")
	f.Add(2, "<?php Schedule::daily()->group(fn () => [Schedule::command('a', ['-q' => [1]])->thenPing('http://x')]);")
	f.Add(3, "[job-exec \"a\"]\nschedule = 0 30 2 * * *\n")
	f.Add(5, "[tasks.a]\nrun = 'a'\ncron = '0 0 * * 7'\n")
	f.Add(6, "0 0 * * * echo")
	f.Add(9, "<x><cron><cron-expression>0 0 0 ? * 6L</cron-expression></cron></x>")
	f.Fuzz(func(t *testing.T, kind int, text string) {
		kinds := foreign.Kinds()
		jobs, err := kinds[uint(kind)%uint(len(kinds))].Read(text, time.UTC)
		if err == nil && len(jobs) == 0 {
			t.Error("nothing was read, and nothing says so")
		}
		for _, j := range jobs {
			if j.Refused == "" && (j.Command == "" || j.Name == "") {
				t.Errorf("a task without a command or a name: %+v", j)
			}
		}
	})
}
