package scaffold

import (
	"regexp"
	"slices"
	"strings"
)

// kinds are the known projects, in file order. What was found before is passed on: a Laravel
// project uses composer, too.
var kinds = []struct {
	name    string
	program string // that the tasks need
	tasks   func(p Project, found []string) []task
}{
	{"Laravel", "php", laravel},
	{"Rails", "ruby", rails},
	{"Django", "python3", django},
	{"composer", "composer", composer},
	{"Node", "node", node},
}

func laravel(p Project, _ []string) []task {
	if !p.has("artisan") || !p.mentions("composer.json", "laravel/framework") {
		return nil
	}
	return []task{
		{"laravel-schedule", "What routes/console.php schedules, as long as it is not in this file", "minute", "php artisan schedule:run",
			[]string{"  # Take the line of schedule:run out of the crontab before you switch this on, or it runs twice."}},
		{"queue", "Works on the queue, and ends when it is empty", "minute", "php artisan queue:work --stop-when-empty --max-time=50",
			[]string{"  background: true", "  without_overlapping: true", "  timeout: 5m"}},
		{"prune-models", "Deletes what models call prunable", "day at 03:10", "php artisan model:prune", nil},
		{"prune-failed-jobs", "Forgets jobs that failed a week ago", "day at 03:20", "php artisan queue:prune-failed --hours=168", nil},
	}
}

func rails(p Project, _ []string) []task {
	if !p.has("bin/rails") || !p.has("config/application.rb") {
		return nil
	}
	production := []string{"  env: {RAILS_ENV: production}"}
	return []task{
		{"rails-purge-uploads", "Deletes uploads that nothing refers to for two days", "day at 03:10",
			`bin/rails runner 'ActiveStorage::Blob.unattached.where("active_storage_blobs.created_at < ?", 2.days.ago).find_each(&:purge_later)'`, production},
		{"rails-clear-tmp", "Clears tmp/cache and tmp/sockets", "monday at 03:20", "bin/rails tmp:clear", production},
	}
}

func django(p Project, _ []string) []task {
	if !p.has("manage.py") || !p.mentions("manage.py", "django") {
		return nil
	}
	python := "python3"
	for _, own := range []string{".venv/bin/python", "venv/bin/python", "env/bin/python"} {
		if p.has(own) {
			python = own
			break
		}
	}
	return []task{
		{"django-clear-sessions", "Deletes sessions that have expired", "day at 03:10", python + " manage.py clearsessions", nil},
		{"django-check-deploy", "Warns of settings that are unsafe in production", "monday at 08:00",
			python + " manage.py check --deploy --fail-level WARNING", nil},
	}
}

func composer(p Project, found []string) []task {
	if !p.has("composer.json") || slices.Contains(found, "Laravel") {
		return nil
	}
	return []task{{"composer-audit", "Fails when a package has a known hole", "monday at 08:10", "composer audit --no-interaction", nil}}
}

// periodic are the names of scripts that sound like something to do again and again.
var periodic = regexp.MustCompile(`(?i)\b(cron|schedul\w*|jobs?|tasks?|clean\w*|prune|purge|backup|sync|import|export|` +
	`report\w*|digest|crawl|scrape|fetch|hourly|daily|nightly|weekly|monthly)\b`)

// speakable are names that a task may have, and a shell takes as they are.
var speakable = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,60}$`)

const mostScripts = 5

func node(p Project, found []string) (tasks []task) {
	if !p.has("package.json") {
		return nil
	}
	manager := packageManager(p)
	for _, script := range p.scripts() {
		if speakable.MatchString(script) && periodic.MatchString(script) && len(tasks) < mostScripts {
			tasks = append(tasks, task{"node-" + script, "The script " + strings.ReplaceAll(script, ":", " ") + " of package.json", "day at 03:30",
				manager + " run " + script, []string{"  without_overlapping: true"}})
		}
	}
	if len(tasks) == 0 && len(found) == 0 {
		tasks = []task{{"node-audit", "Fails when a package has a known hole", "monday at 08:20", manager + " audit", nil}}
	}
	return tasks
}

// packageManager is the one whose lock file the project has.
func packageManager(p Project) string {
	for _, known := range []struct{ file, name string }{{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"}} {
		if p.has(known.file) {
			return known.name
		}
	}
	return "npm"
}
