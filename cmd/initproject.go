package cmd

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule/humanize"
)

// A project is the folder for which init writes a first schedule.yaml, and what its tasks find on
// this machine. The schedule has a task that runs every minute, and tasks that seem to fit the
// project, switched off. To find them, init only reads, and only in the folder.
type project struct {
	folder   fs.FS
	zone     string                       // IANA name
	lookPath func(string) (string, error) // finds a program, as exec.LookPath does
}

type firstSchedule struct {
	text    string   // YAML
	found   []string // what the project is: Laravel, Node; may be empty
	offered int      // how many tasks of it are switched off
}

// usualPath is what most programs are in. Cron has less.
const usualPath = "/usr/local/bin:/usr/bin:/bin"

// firstSchedule returns the first schedule for the project.
func (p project) firstSchedule() firstSchedule {
	var file firstSchedule
	var body strings.Builder
	programs := []string{}
	for _, k := range projectKinds {
		tasks := k.tasks(p, file.found)
		if len(tasks) == 0 {
			continue
		}
		file.found = append(file.found, k.name)
		file.offered += len(tasks)
		fmt.Fprintf(&body, "\n  # For %s. They are switched off: remove `enabled: false` from those that you want.\n", k.name)
		for i, t := range tasks {
			if i > 0 {
				body.WriteString("\n")
			}
			body.WriteString(t.text())
		}
		programs = append(programs, k.program)
	}
	file.text = fmt.Sprintf(firstHead, p.zone, p.path(programs)) + body.String()
	return file
}

// path is the PATH for cron. It has the folders of the programs that are found now.
func (p project) path(programs []string) string {
	folders := strings.Split(usualPath, ":")
	for _, name := range programs {
		found, err := p.lookPath(name)
		if folder := filepath.Dir(found); err == nil && filepath.IsAbs(found) && !slices.Contains(folders, folder) && !strings.ContainsAny(folder, ":#'\"${}\n") {
			folders = append([]string{folder}, folders...)
		}
	}
	return strings.Join(folders, ":")
}

// firstHead is the beginning of a first schedule. It lacks the zone and the PATH.
//
//go:embed first.yaml.tmpl
var firstHead string

type offeredTask struct {
	name, description, every, command string
	more                              []string // further lines
}

// text is the task in YAML, switched off.
func (t offeredTask) text() string {
	lines := append([]string{
		"- name: " + t.name, "  description: " + t.description, "  enabled: false", "  every: " + t.every, "  command: " + t.command,
	}, t.more...)
	return "  " + strings.Join(lines, "\n  ") + "\n"
}

func (p project) has(name string) bool {
	_, err := fs.Stat(p.folder, name)
	return err == nil
}

func (p project) mentions(name, word string) bool {
	text, err := fs.ReadFile(p.folder, name)
	return err == nil && strings.Contains(string(text), word)
}

// scripts returns the names of the scripts of package.json.
func (p project) scripts() (names []string) {
	var file struct {
		Scripts map[string]json.RawMessage `json:"scripts"`
	}
	text, err := fs.ReadFile(p.folder, "package.json")
	if err != nil || json.Unmarshal(text, &file) != nil {
		return nil
	}
	for name := range file.Scripts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// projectKinds are the known projects, in file order. Each is told which kinds were found before
// it: a Laravel project uses composer, too.
var projectKinds = []struct {
	name    string
	program string                                        // that the tasks need
	tasks   func(p project, found []string) []offeredTask // none for a project of another kind
}{
	{"Laravel", "php", laravelTasks},
	{"Rails", "ruby", railsTasks},
	{"Django", "python3", djangoTasks},
	{"composer", "composer", composerTasks},
	{"Node", "node", nodeTasks},
}

func laravelTasks(p project, _ []string) []offeredTask {
	if !p.has("artisan") || !p.mentions("composer.json", "laravel/framework") {
		return nil
	}
	return []offeredTask{
		{"laravel-schedule", "Runs what routes/console.php schedules and this file does not have yet", "minute", "php artisan schedule:run",
			[]string{"  # Take the line of schedule:run out of the crontab before you switch this on, or it runs twice."}},
		{"queue", "Works on the queue, and ends when it is empty", "minute", "php artisan queue:work --stop-when-empty --max-time=50",
			[]string{"  background: true", "  without_overlapping: true", "  timeout: 5m"}},
		{"prune-models", "Deletes what models call prunable", "day at 03:10", "php artisan model:prune", nil},
		{"prune-failed-jobs", "Forgets jobs that failed a week ago", "day at 03:20", "php artisan queue:prune-failed --hours=168", nil},
	}
}

func railsTasks(p project, _ []string) []offeredTask {
	if !p.has("bin/rails") || !p.has("config/application.rb") {
		return nil
	}
	production := []string{"  env: {RAILS_ENV: production}"}
	return []offeredTask{
		{"rails-purge-uploads", "Deletes uploads that nothing refers to for two days", "day at 03:10",
			`bin/rails runner 'ActiveStorage::Blob.unattached.where("active_storage_blobs.created_at < ?", 2.days.ago).find_each(&:purge_later)'`, production},
		{"rails-clear-tmp", "Clears tmp/cache and tmp/sockets", "monday at 03:20", "bin/rails tmp:clear", production},
	}
}

func djangoTasks(p project, _ []string) []offeredTask {
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
	return []offeredTask{
		{"django-clear-sessions", "Deletes sessions that have expired", "day at 03:10", python + " manage.py clearsessions", nil},
		{"django-check-deploy", "Warns of settings that are unsafe in production", "monday at 08:00",
			python + " manage.py check --deploy --fail-level WARNING", nil},
	}
}

func composerTasks(p project, found []string) []offeredTask {
	if !p.has("composer.json") || slices.Contains(found, "Laravel") {
		return nil
	}
	return []offeredTask{{"composer-audit", "Fails when a package has a known hole", "monday at 08:10", "composer audit --no-interaction", nil}}
}

// periodicScript are the names of scripts that sound like something to do again and again.
var periodicScript = humanize.Pattern(`(?i)\b(cron|schedul\w*|jobs?|tasks?|clean\w*|prune|purge|backup|sync|import|export|` +
	`report\w*|digest|crawl|scrape|fetch|hourly|daily|nightly|weekly|monthly)\b`)

// plainName are names that a task may have, and a shell takes as they are.
var plainName = humanize.Pattern(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,60}$`)

const mostScripts = 5

func nodeTasks(p project, found []string) (tasks []offeredTask) {
	if !p.has("package.json") {
		return nil
	}
	manager := packageManager(p)
	for _, script := range p.scripts() {
		if plainName().MatchString(script) && periodicScript().MatchString(script) && len(tasks) < mostScripts {
			tasks = append(tasks, offeredTask{"node-" + script, "The script " + strings.ReplaceAll(script, ":", " ") + " of package.json", "day at 03:30",
				manager + " run " + script, []string{"  without_overlapping: true"}})
		}
	}
	if len(tasks) == 0 && len(found) == 0 {
		tasks = []offeredTask{{"node-audit", "Fails when a package has a known hole", "monday at 08:20", manager + " audit", nil}}
	}
	return tasks
}

// packageManager is the one whose lock file the project has.
func packageManager(p project) string {
	for _, known := range []struct{ file, name string }{{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"}} {
		if p.has(known.file) {
			return known.name
		}
	}
	return "npm"
}
