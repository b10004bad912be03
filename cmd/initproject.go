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

// A firstSchedule is the schedule that init writes.
type firstSchedule struct {
	text    string   // YAML
	kinds   []string // of the project: Laravel, Node; may be empty
	offered int      // how many tasks for these kinds it has; they are switched off
}

// usualPath is what most programs are in. Cron has less.
const usualPath = "/usr/local/bin:/usr/bin:/bin"

// newSchedule returns the first schedule for the project.
func (p project) newSchedule() firstSchedule {
	var first firstSchedule
	var body strings.Builder
	programs := []string{}
	for _, kind := range projectKinds {
		tasks := kind.tasks(p, first.kinds)
		if len(tasks) == 0 {
			continue
		}
		first.kinds = append(first.kinds, kind.name)
		first.offered += len(tasks)
		fmt.Fprintf(&body, "\n  # For %s. They are switched off: "+
			"remove `enabled: false` from those that you want.\n", kind.name)
		for i, t := range tasks {
			if i > 0 {
				body.WriteString("\n")
			}
			body.WriteString(t.text())
		}
		programs = append(programs, kind.program)
	}
	first.text = fmt.Sprintf(firstHead, p.zone, p.path(programs)) + body.String()
	return first
}

// path is the PATH for cron. It has the folders of the programs that are found now. It leaves out a
// folder whose name means something else in a PATH or in YAML.
func (p project) path(programs []string) string {
	folders := strings.Split(usualPath, ":")
	for _, name := range programs {
		program, err := p.lookPath(name)
		if err != nil || !filepath.IsAbs(program) {
			continue
		}
		folder := filepath.Dir(program)
		if !slices.Contains(folders, folder) && !strings.ContainsAny(folder, ":#'\"${}\n") {
			folders = append([]string{folder}, folders...)
		}
	}
	return strings.Join(folders, ":")
}

// firstHead is the beginning of a first schedule. It lacks the zone and the PATH.
//
//go:embed first.yaml.tmpl
var firstHead string

// An offeredTask is a task that init writes switched off.
type offeredTask struct {
	name        string
	description string
	every       string // day at 03:10
	command     string
	more        []string // further lines of YAML, of keys or comments
}

// text is the task in YAML, switched off.
func (t offeredTask) text() string {
	lines := []string{
		"- name: " + t.name,
		"  description: " + t.description,
		"  enabled: false",
		"  every: " + t.every,
		"  command: " + t.command,
	}
	for _, line := range t.more {
		lines = append(lines, "  "+line)
	}
	return "  " + strings.Join(lines, "\n  ") + "\n"
}

// has reports whether the folder has a file of that name.
func (p project) has(name string) bool {
	_, err := fs.Stat(p.folder, name)
	return err == nil
}

// mentions reports whether a file has the word in its text.
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

// A projectKind is a kind of project that init knows.
type projectKind struct {
	name    string
	program string // the tasks need this program
	// tasks returns no tasks for a project of another kind. It gets the kinds before it in
	// projectKinds that the project has: a Laravel project uses composer, too.
	tasks func(p project, kinds []string) []offeredTask
}

// projectKinds are the known kinds, in the order of the file that init writes.
var projectKinds = []projectKind{
	{name: "Laravel", program: "php", tasks: laravelTasks},
	{name: "Rails", program: "ruby", tasks: railsTasks},
	{name: "Django", program: "python3", tasks: djangoTasks},
	{name: "composer", program: "composer", tasks: composerTasks},
	{name: "Node", program: "node", tasks: nodeTasks},
}

func laravelTasks(p project, _ []string) []offeredTask {
	if !p.has("artisan") || !p.mentions("composer.json", "laravel/framework") {
		return nil
	}
	return []offeredTask{
		{
			name:        "laravel-schedule",
			description: "Runs what routes/console.php schedules and this file does not have yet",
			every:       "minute",
			command:     "php artisan schedule:run",
			more: []string{"# Take the line of schedule:run out of the crontab " +
				"before you switch this on, or it runs twice."},
		},
		{
			name:        "queue",
			description: "Works on the queue, and ends when it is empty",
			every:       "minute",
			command:     "php artisan queue:work --stop-when-empty --max-time=50",
			more:        []string{"background: true", "without_overlapping: true", "timeout: 5m"},
		},
		{
			name:        "prune-models",
			description: "Deletes what models call prunable",
			every:       "day at 03:10",
			command:     "php artisan model:prune",
		},
		{
			name:        "prune-failed-jobs",
			description: "Forgets jobs that failed a week ago",
			every:       "day at 03:20",
			command:     "php artisan queue:prune-failed --hours=168",
		},
	}
}

func railsTasks(p project, _ []string) []offeredTask {
	if !p.has("bin/rails") || !p.has("config/application.rb") {
		return nil
	}
	production := []string{"env: {RAILS_ENV: production}"}
	unattached := `ActiveStorage::Blob.unattached.where("active_storage_blobs.created_at < ?", 2.days.ago)`
	return []offeredTask{
		{
			name:        "rails-purge-uploads",
			description: "Deletes uploads that nothing refers to for two days",
			every:       "day at 03:10",
			command:     "bin/rails runner '" + unattached + ".find_each(&:purge_later)'",
			more:        production,
		},
		{
			name:        "rails-clear-tmp",
			description: "Clears tmp/cache and tmp/sockets",
			every:       "monday at 03:20",
			command:     "bin/rails tmp:clear",
			more:        production,
		},
	}
}

func djangoTasks(p project, _ []string) []offeredTask {
	if !p.has("manage.py") || !p.mentions("manage.py", "django") {
		return nil
	}
	python := "python3"
	for _, ofProject := range []string{".venv/bin/python", "venv/bin/python", "env/bin/python"} {
		if p.has(ofProject) {
			python = ofProject
			break
		}
	}
	return []offeredTask{
		{
			name:        "django-clear-sessions",
			description: "Deletes sessions that have expired",
			every:       "day at 03:10",
			command:     python + " manage.py clearsessions",
		},
		{
			name:        "django-check-deploy",
			description: "Warns of settings that are unsafe in production",
			every:       "monday at 08:00",
			command:     python + " manage.py check --deploy --fail-level WARNING",
		},
	}
}

func composerTasks(p project, kinds []string) []offeredTask {
	if !p.has("composer.json") || slices.Contains(kinds, "Laravel") {
		return nil
	}
	return []offeredTask{{
		name:        "composer-audit",
		description: "Fails when a package has a known hole",
		every:       "monday at 08:10",
		command:     "composer audit --no-interaction",
	}}
}

// periodicScript matches a script whose name sounds like something to do again and again.
var periodicScript = humanize.Pattern(`(?i)\b(` +
	`cron|schedul\w*|jobs?|tasks?|clean\w*|prune|purge|backup|sync|import|export|` +
	`report\w*|digest|crawl|scrape|fetch|hourly|daily|nightly|weekly|monthly)\b`)

// plainName matches a name that a task may have and that needs no quotes in a shell.
var plainName = humanize.Pattern(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,60}$`)

const mostScripts = 5

func nodeTasks(p project, kinds []string) (tasks []offeredTask) {
	if !p.has("package.json") {
		return nil
	}
	manager := packageManager(p)
	for _, script := range p.scripts() {
		if !plainName().MatchString(script) || !periodicScript().MatchString(script) || len(tasks) == mostScripts {
			continue
		}
		tasks = append(tasks, offeredTask{
			name:        "node-" + script,
			description: "The script " + strings.ReplaceAll(script, ":", " ") + " of package.json",
			every:       "day at 03:30",
			command:     manager + " run " + script,
			more:        []string{"without_overlapping: true"},
		})
	}
	if len(tasks) == 0 && len(kinds) == 0 {
		return []offeredTask{{
			name:        "node-audit",
			description: "Fails when a package has a known hole",
			every:       "monday at 08:20",
			command:     manager + " audit",
		}}
	}
	return tasks
}

// packageManager is the program whose lock file the project has.
func packageManager(p project) string {
	switch {
	case p.has("pnpm-lock.yaml"):
		return "pnpm"
	case p.has("yarn.lock"):
		return "yarn"
	case p.has("bun.lock"), p.has("bun.lockb"):
		return "bun"
	}
	return "npm"
}
