package load

import (
	"strings"
	"sync"

	"sched/schedule/yamldoc"
)

// This file holds hints for keys of other programs that no key of ours stands for. The keys that
// have one are the synonyms in loader.go.

// A hintRow is a hint with the keys that get it: plainKeys with blanks between them.
type hintRow struct{ keys, hint string }

var taskHints = sync.OnceValue(func() map[string]string {
	return hintsOf([]hintRow{
		{"smtphost", "write `mail: {url: smtp://HOST:PORT, from: ADDRESS}` at the top of the file"},
		{"savefolder capturestdout capturestderr json splitlogs passthroughlogs storeoutput",
			"outputs are kept, and `sched logs` shows them: leave it out"},
		{"job call", "a task runs a command: write `command: php artisan report:send`"},
		{"usecache", "write `store: redis://HOST:6379/2` at the top of the file"},
		{"pingbeforeif", "write `before: {ping: \"${PING_URL:-}\"}`: an empty URL pings nobody"},
		{"thenpingif", "write `after: {ping: \"${PING_URL:-}\"}`: an empty URL pings nobody"},
		{"pingonsuccessif", "write `on_success: {ping: \"${PING_URL:-}\"}`: an empty URL pings nobody"},
		{"pingonfailureif", "write `on_failure: {ping: \"${PING_URL:-}\"}`: an empty URL pings nobody"},
		{"preventoverlapsusing",
			"write `without_overlapping: true`; `store` at the top of the file says where locks are"},
		{"releaseonterminationsignals withoutinterruptionpolling", "leave it out: nothing needs it here"},
		{"slack mattermost", "write `on_failure: {webhook: URL, format: slack}`"},
		{"then", "write `after: COMMAND`"}, // in a hook it stands for trigger
		{"deadline", "start_deadline bounds how late it starts, timeout how long an attempt takes, " +
			"and expect says when it is overdue"},
		{"hooks", "hooks are keys of the task itself, such as on_failure"},
		{"depends dependson dependencies needs requires upstream",
			"one task starts another: write `on_success: {trigger: NAME}` in the task that comes first"},
		{"maxretries autoretryfor retrycount", "write `retry: {attempts: N}`: N counts the first attempt, too"},
		{"continueonerror ignoreerrors",
			"a task that fails stops no other; `success_codes` says which exit codes are no failure"},
		{"successfuljobshistorylimit failedjobshistorylimit",
			"write `history: {runs_per_task: 200}` at the top of the file"},
		{"verify check checks validate",
			"`report` judges the numbers of a run, `require` its files, and `fail_if` what it prints"},
	})
})

var topHints = sync.OnceValue(func() map[string]string {
	return hintsOf([]hintRow{
		{"mailto", "write `defaults: {after: {mail: ADDRESS, when: output}}`"},
		{"mailfrom", "write `mail: {from: ADDRESS}`"},
		{"notifications notification notify notifiers alerts alert hooks reporting",
			"write `defaults: {on_failure: {mail: ADDRESS}}`; docs/notifications.md has more"},
		{"webhook webhooks webhookurl", "write `defaults: {on_failure: {webhook: URL}}`"},
		{"slack slackwebhook", "write `defaults: {on_failure: {webhook: URL, format: slack}}`"},
		{"lock locks locking redisurl databaseurl", "servers share a store: write `store: redis://HOST:6379`"},
		{"port listen web api auth password", "the pages are of `sched serve`, which has flags: docs/serve.md"},
		{"datadir state", yamldoc.DidYouMean("state_dir")},
		{"schedules crons", yamldoc.DidYouMean("tasks")},
		{"redis database db cache postgres mysql", "servers share a store: write `store: redis://HOST:6379`"},
		{"smtp smtphost mailer email", "write `mail: {url: smtp://HOST:PORT, from: ADDRESS}`"},
		{"beatschedule", "this is the schedule of Celery: write a task for each entry, under `tasks:`"},
	})
})

// concurrencyHints are for keys by which other schedulers bound how many runs go on at once.
var concurrencyHints = sync.OnceValue(func() map[string]string {
	return hintsOf([]hintRow{
		{"concurrency concurrencypolicy concurrencylimit parallel parallelism maxparallel maxparallelism " +
			"maxconcurrent maxconcurrency maxconcurrentruns maxinstances maxactiveruns maxrunning",
			"never two runs of a task at once: `without_overlapping: true`; " +
				"at most three runs of some tasks: `pool: NAME` in each, and `pools: {NAME: 3}` at the top of the file"},
		{"wait", "a run that waits for the run before it: `without_overlapping: wait`, in a task"},
	})
})

var retryHints = sync.OnceValue(func() map[string]string {
	return hintsOf([]hintRow{{"max count times tries", yamldoc.DidYouMean("attempts")}})
})

// valueHints are for the keys of a value of report.
var valueHints = sync.OnceValue(func() map[string]string {
	return hintsOf([]hintRow{
		{"min minimum gte ge", yamldoc.DidYouMean("at_least")},
		{"max maximum lte le", yamldoc.DidYouMean("at_most")},
		{"gt", "write `at_least`, which allows the bound itself"},
		{"lt", "write `at_most`, which allows the bound itself"},
	})
})

// hintsOf returns the hint of each plainKey.
func hintsOf(rows []hintRow) map[string]string {
	hints := map[string]string{}
	for _, row := range rows {
		for _, key := range strings.Fields(row.keys) {
			hints[key] = row.hint
		}
	}
	return hints
}

// plainKey writes max_retries, max-retries and maxRetries alike: maxretries.
func plainKey(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
}
