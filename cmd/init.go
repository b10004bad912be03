package cmd

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sched/schedule/humanize"
)

type initCommand struct{ *app }

func newInitCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write a first schedule.yaml that runs, and say what to do next",
		Long: `init asks nothing. It writes ./schedule.yaml (or the file of --config), with a task that runs every
minute, and with tasks for Laravel, Rails, Django, composer and Node, switched off, where the folder
looks like one of them. In a git repository it adds .sched/ to .gitignore. It never overwrites.`,
		Example: `  sched init
  sched init -c ops/schedule.yaml`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return initCommand{a}.init() },
	}
}

func (a initCommand) init() error {
	path := a.config
	if path == "" {
		path = "schedule.yaml"
	}
	if err := refuseExisting(path); err != nil {
		return err
	}
	folder := filepath.Dir(path)
	file := project{Folder: os.DirFS(folder), Zone: zoneName(), LookPath: exec.LookPath}.First()
	if err := writeNew(path, schemaLines+file.Text); err != nil {
		hint := ""
		if errors.Is(err, fs.ErrNotExist) {
			hint = "mkdir -p " + folder
		}
		return failed(hint, "%s cannot be written: %w", path, humanize.WithoutPath(err))
	}
	fmt.Fprintf(a.out, "%s is written: a task that runs every minute, and one for the night that is switched off\n", path)
	if file.Offered > 0 {
		fmt.Fprintf(a.out, "this looks like %s: %s for it, switched off, too\n", strings.Join(file.Found, " and "), humanize.Count(file.Offered, "task"))
	}
	ignored, err := ignoreState(folder)
	if err != nil {
		a.problem("add .sched/ to .gitignore, it cannot be written: %v", humanize.WithoutPath(err))
	} else if ignored {
		fmt.Fprintf(a.out, "%s has a line for .sched/, where sched keeps its state\n", filepath.Join(folder, ".gitignore"))
	}
	a.printNext(path)
	return nil
}

func (a initCommand) printNext(path string) {
	flag := ""
	if a.config != "" {
		flag = " -c " + path
	}
	fmt.Fprintf(a.out, "\nnext:\n")
	t := a.stdout().Table()
	defer t.Flush()
	t.Row("  sched run"+flag, "one tick: what cron will start every minute")
	t.Row("  sched list"+flag, "what runs, and when next")
	t.Row("  sched install"+flag, "the line for cron, shown before it is written")
}

// refuseExisting refuses a path where something is already, and a schedule.yaml beside a
// schedule.yml.
func refuseExisting(path string) error {
	for _, spelling := range []string{path, strings.TrimSuffix(path, ".yaml") + ".yml"} {
		if _, err := os.Lstat(spelling); err == nil {
			return failed("`sched check` reads it; init never overwrites", "%s is there already", spelling)
		}
	}
	return nil
}

// writeNew writes a file that must not be there yet, whole or not at all.
func writeNew(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		os.Remove(path)
		return err
	}
	return nil
}

// zoneName is the zone of this machine for a schedule; UTC if it has no name.
func zoneName() string {
	if name := localZone().String(); name != "Local" {
		return name
	}
	return "UTC"
}

// ignoreState adds .sched/ to the .gitignore of a folder in a git repository. It reports whether
// that has the line now.
func ignoreState(folder string) (bool, error) {
	if !inGit(folder) {
		return false, nil
	}
	path := filepath.Join(folder, ".gitignore")
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	for line := range strings.Lines(string(before)) {
		if strings.Trim(strings.TrimSpace(line), "/") == ".sched" {
			return true, nil
		}
	}
	line := ".sched/\n"
	if len(before) > 0 && before[len(before)-1] != '\n' {
		line = "\n" + line
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return false, err
	}
	_, err = file.WriteString(line)
	return true, errors.Join(err, file.Close())
}

func inGit(folder string) bool {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return false
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, ".git")); err == nil {
			return true
		}
		above := filepath.Dir(folder)
		if above == folder {
			return false
		}
		folder = above
	}
}

// The rest of this file writes the first schedule.yaml of a project. It has a task that runs every
// minute, and tasks that seem to fit the project, switched off. It only reads, and only in the
// given folder.

// A project is a folder, and what its tasks find on this machine.
type project struct {
	Folder   fs.FS
	Zone     string                       // IANA name
	LookPath func(string) (string, error) // finds a program, as exec.LookPath does
}

type firstFile struct {
	Text    string
	Found   []string // what the project is: Laravel, Node; may be empty
	Offered int      // tasks that are there, switched off
}

// usualPath is what most programs are in. Cron has less.
const usualPath = "/usr/local/bin:/usr/bin:/bin"

// First returns the first schedule for the project.
func (p project) First() firstFile {
	var file firstFile
	var body strings.Builder
	programs := []string{}
	for _, k := range projectKinds {
		tasks := k.tasks(p, file.Found)
		if len(tasks) == 0 {
			continue
		}
		file.Found = append(file.Found, k.name)
		file.Offered += len(tasks)
		fmt.Fprintf(&body, "\n  # For %s. They are switched off: remove `enabled: false` from those that you want.\n", k.name)
		for i, t := range tasks {
			if i > 0 {
				body.WriteString("\n")
			}
			body.WriteString(t.text())
		}
		programs = append(programs, k.program)
	}
	file.Text = fmt.Sprintf(firstHead, p.Zone, p.path(programs)) + body.String()
	return file
}

// path is a PATH in which the programs are found that are found now.
func (p project) path(programs []string) string {
	folders := strings.Split(usualPath, ":")
	for _, name := range programs {
		found, err := p.LookPath(name)
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
	_, err := fs.Stat(p.Folder, name)
	return err == nil
}

func (p project) mentions(name, word string) bool {
	text, err := fs.ReadFile(p.Folder, name)
	return err == nil && strings.Contains(string(text), word)
}

func (p project) scripts() (names []string) {
	var file struct {
		Scripts map[string]json.RawMessage `json:"scripts"`
	}
	text, err := fs.ReadFile(p.Folder, "package.json")
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
	program string // that the tasks need
	tasks   func(p project, found []string) []offeredTask
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

// speakableName are names that a task may have, and a shell takes as they are.
var speakableName = humanize.Pattern(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,60}$`)

const mostScripts = 5

func nodeTasks(p project, found []string) (tasks []offeredTask) {
	if !p.has("package.json") {
		return nil
	}
	manager := packageManager(p)
	for _, script := range p.scripts() {
		if speakableName().MatchString(script) && periodicScript().MatchString(script) && len(tasks) < mostScripts {
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
