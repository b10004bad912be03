package initcmd

import (
	"embed"
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
	at       string                       // the path of the folder
	zone     string                       // IANA name
	lookPath func(string) (string, error) // finds a program, as exec.LookPath does
}

// A firstSchedule is the schedule that init writes.
type firstSchedule struct {
	text    string   // YAML
	kinds   []string // of the project: Laravel, Node; may be empty
	offered int      // how many tasks for these kinds it has; they are switched off
	others  []otherSchedule
}

// An otherSchedule is a file of the project with tasks of another program.
type otherSchedule struct {
	program string
	command string // prints these tasks as a schedule of ours
}

// otherSchedules finds the files that import reads.
func (p project) otherSchedules() (found []otherSchedule) {
	add := func(isThere bool, program, from, file string) {
		if isThere {
			command := "sched import" + from + " " + humanize.ShellWord(filepath.Join(p.at, file))
			found = append(found, otherSchedule{program, command})
		}
	}
	const console, kernel = "routes/console.php", "app/Console/Kernel.php"
	isPHP := p.has("artisan")
	add(isPHP && p.mentions(console, "Schedule::"), "Laravel", " --from laravel", console)
	add(isPHP && p.mentions(kernel, "$schedule->"), "Laravel", " --from laravel", kernel)
	add(p.has("crontab"), "the crontab", "", "crontab")
	for _, file := range []string{"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"} {
		add(p.mentions(file, "ofelia.job-"), "ofelia", " --from ofelia", file)
	}
	return found
}

// defaultPath is what most programs are in. Cron has less.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

func (p project) newSchedule() firstSchedule {
	var first firstSchedule
	body := ""
	programs := []string{}
	for _, kind := range projectKinds {
		tasks := kind.tasks(p, first.kinds)
		if tasks == "" {
			continue
		}
		body += "\n  # For " + kind.name + ". They are switched off: " +
			"remove `enabled: false` from those that you want.\n" + tasks
		first.kinds = append(first.kinds, kind.name)
		first.offered += strings.Count(tasks, "- name: ")
		programs = append(programs, kind.program)
	}
	first.text = firstText("head", p.zone, p.path(programs)) + body
	first.others = p.otherSchedules()
	return first
}

// path is the PATH for cron. It has the folders of the programs that are found now. It leaves out a
// folder whose name means something else in a PATH or in YAML.
func (p project) path(programs []string) string {
	folders := strings.Split(defaultPath, ":")
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

//go:embed first/*.yaml
var firstTexts embed.FS

// firstText returns a part of a first schedule: its head, or tasks in YAML. The values replace the
// verbs of fmt in it.
func firstText(name string, values ...any) string {
	text, _ := firstTexts.ReadFile("first/" + name + ".yaml") // the files are part of the program
	return fmt.Sprintf(string(text), values...)
}

func (p project) has(name string) bool {
	_, err := fs.Stat(p.folder, name)
	return err == nil
}

func (p project) mentions(name, word string) bool {
	text, err := fs.ReadFile(p.folder, name)
	return err == nil && strings.Contains(string(text), word)
}

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
	// tasks returns the tasks in YAML; "" for a project of another kind. It gets the kinds before
	// it in projectKinds that the project has: a Laravel project uses composer, too.
	tasks func(p project, kinds []string) string
}

// projectKinds are the known kinds, in the order of the file that init writes.
var projectKinds = []projectKind{
	{name: "Laravel", program: "php", tasks: laravelTasks},
	{name: "Rails", program: "ruby", tasks: railsTasks},
	{name: "Django", program: "python3", tasks: djangoTasks},
	{name: "composer", program: "composer", tasks: composerTasks},
	{name: "Node", program: "node", tasks: nodeTasks},
	{name: "an agent", program: "claude", tasks: agentTasks},
}

func laravelTasks(p project, _ []string) string {
	if !p.has("artisan") || !p.mentions("composer.json", "laravel/framework") {
		return ""
	}
	return firstText("laravel")
}

func railsTasks(p project, _ []string) string {
	if !p.has("bin/rails") || !p.has("config/application.rb") {
		return ""
	}
	return firstText("rails")
}

func djangoTasks(p project, _ []string) string {
	if !p.mentions("manage.py", "django") {
		return ""
	}
	for _, python := range []string{".venv/bin/python", "venv/bin/python", "env/bin/python"} {
		if p.has(python) {
			return firstText("django", python)
		}
	}
	return firstText("django", "python3")
}

func composerTasks(p project, kinds []string) string {
	if !p.has("composer.json") || slices.Contains(kinds, "Laravel") {
		return ""
	}
	return firstText("composer")
}

// periodicScript matches a script whose name sounds like something to do again and again.
var periodicScript = humanize.Pattern(`(?i)\b(` +
	`cron|schedul\w*|jobs?|tasks?|clean\w*|prune|purge|backup|sync|import|export|` +
	`report\w*|digest|crawl|scrape|fetch|hourly|daily|nightly|weekly|monthly)\b`)

// plainName matches a name that a task may have and that needs no quotes in a shell.
var plainName = humanize.Pattern(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,60}$`)

// maxScripts is how many scripts of package.json become tasks.
const maxScripts = 5

func nodeTasks(p project, kinds []string) string {
	if !p.has("package.json") {
		return ""
	}
	manager := packageManager(p)
	var tasks []string
	for _, script := range p.scripts() {
		if plainName().MatchString(script) && periodicScript().MatchString(script) && len(tasks) < maxScripts {
			words := strings.ReplaceAll(script, ":", " ")
			tasks = append(tasks, firstText("node-script", script, words, manager))
		}
	}
	if len(tasks) == 0 && len(kinds) == 0 {
		return firstText("node-audit", manager)
	}
	return strings.Join(tasks, "\n")
}

func agentTasks(p project, _ []string) string {
	command := `codex exec "see what is to be done"`
	switch {
	case p.has("CLAUDE.md"):
		command = `claude -p "see what is to be done"`
	case !p.has("AGENTS.md"):
		return ""
	}
	return firstText("agent", command)
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
