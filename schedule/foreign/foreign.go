// Package foreign makes tasks of what other schedulers read, and compares when both are due.
//
// # Promises
//
//   - Each job of a file has a verdict: proven, taken with the first time that differs, or not
//     taken, and why. No job, and no setting of a job, is
//     dropped in silence.
//   - What an expression means is what package dialect says of that program.
//   - It is pure. Beside the text it reads only the folder that In was given.
package foreign

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"sched/schedule/cron"
	"sched/schedule/crontab"
	"sched/schedule/dialect"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// A Kind is a kind of file.
type Kind struct {
	Name     string
	What     string   // "a CronJob of Kubernetes": a file of it
	dialects []string // names of the dialect of its expressions, the first that there is
	zone     string   // of jobs that name none; "" for the zone of the machine
	read     func(text string) ([]*Job, error)
}

// InOrder reports whether the program starts its jobs one after another.
func (k Kind) InOrder() bool { return k.Name == "laravel" }

// bootVerdict returns what is said of a job at a boot: "" if the program knows no such jobs.
func (k Kind) bootVerdict() string {
	switch k.Name {
	case "yacron":
		return "here it differs: it starts at boot, and there with the program"
	case "systemd-cron":
		return "not compared: it starts at boot"
	}
	return ""
}

// isSteady reports whether the program keeps to the dialect only where clocks never change.
func (k Kind) isSteady() bool { return k.Name == "runwisp" }

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{
		{"kubernetes", "manifests of CronJobs", []string{"kubernetes"}, "UTC", readManifests},
		{"github-actions", "a workflow", []string{"github-actions", "github", "actions"}, "UTC", readWorkflow},
		{"laravel", "schedule:list --json, or routes/console.php", []string{"laravel", "php"}, "UTC",
			func(text string) ([]*Job, error) { return readLaravel(text, laravelApp{}) }},
		{"ofelia", "an INI file, or a Compose file with labels", []string{"robfig"}, "", readOfelia},
		{"yacron", "a YAML file of yacron or cronstable", []string{"yacron"}, "UTC", readYacron},
		{"runwisp", "the TOML file of RunWisp", []string{"robfig"}, "", readRunwisp},
		{"supercronic", "a crontab for supercronic", []string{"supercronic"}, "", readSupercronic},
		{"systemd-cron", "a crontab of a user for systemd-cron", []string{"systemd-cron"}, "", readSystemdCron},
		{"mcron", "a crontab for mcron", []string{"mcron"}, "", readMcron},
		{"quartz", "an XML file of jobs and triggers", []string{"quartz"}, "", readQuartz},
		{"eventbridge", "JSON of the aws command", []string{"eventbridge", "aws"}, "UTC", readEventBridge},
	}
}

// In returns a kind that knows the folder of the project to which a file belongs. Laravel has the
// zone of its tasks and the names of commands there.
func (k Kind) In(project fs.FS) Kind {
	if k.Name == "laravel" {
		app := laravelApp{project}
		zone, _ := app.zone()
		k.zone = cmp.Or(zone, k.zone)
		k.read = func(text string) ([]*Job, error) { return readLaravel(text, app) }
	}
	return k
}

// TakeZone returns the time zone that more than half of the tasks have, and takes it out of their
// keys, so that the whole file can have it. It returns "" if there is no such zone, or if a task
// has no zone.
func TakeZone(jobs []*Job) (most string) {
	counts, tasks := map[string]int{}, 0
	isZone := func(k crontab.Key) bool { return k.Name == "timezone" }
	for _, j := range jobs {
		i := slices.IndexFunc(j.Keys, isZone)
		switch {
		case j.Refused != "":
			continue
		case i < 0:
			return ""
		}
		tasks++
		counts[j.Keys[i].Value.Value]++
	}
	for zone, n := range counts {
		if 2*n > tasks {
			most = zone
		}
	}
	for _, j := range jobs {
		j.Keys = slices.DeleteFunc(j.Keys, func(k crontab.Key) bool { return isZone(k) && k.Value.Value == most })
	}
	return most
}

// Find returns the kind with a name.
func Find(name string) (Kind, bool) {
	other := map[string]string{"k8s": "kubernetes", "github": "github-actions", "cronstable": "yacron",
		"aws": "eventbridge"}
	all := Kinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == cmp.Or(other[name], name) })
	if i < 0 {
		return Kind{}, false
	}
	return all[i], true
}

// Read returns the jobs of a text. Those that are tasks have names of their own, and their Keys are
// all keys of the task.
func (k Kind) Read(text string, machine *time.Location) ([]*Job, error) {
	jobs, err := k.read(text)
	if err != nil {
		return nil, err
	}
	switch {
	case len(jobs) == 0:
		return nil, ErrOther
	case len(jobs) > maxJobs:
		return nil, fmt.Errorf("it has more than %d jobs", maxJobs)
	}
	known := map[string]*reading{}
	names, next := map[string]bool{}, map[string]int{}
	for _, j := range jobs {
		base := strings.Trim(notInName().ReplaceAllString(j.Name, "-"), "-._:/")
		base = cmp.Or(base[:min(len(base), maxName)], "job")
		j.Name = base
		for n := max(2, next[base]); names[j.Name]; n++ {
			j.Name, next[base] = fmt.Sprintf("%s-%d", base, n), n+1
		}
		names[j.Name] = true
		if verdict := k.bootVerdict(); verdict != "" && slices.Equal(j.Expressions, []string{atBoot}) {
			j.timeless = verdict
			j.Keys = append([]crontab.Key{{Name: "cron", Value: yamldoc.NewText(atBoot)}}, j.Keys...)
		}
		if j.notSame = cmp.Or(j.timeless, j.notSame); j.Refused == "" && j.timeless == "" {
			k.setTimes(j, machine, known)
		}
		if j.Refused == "" {
			j.Keys = append([]crontab.Key{{Name: "name", Value: yamldoc.NewText(j.Name)}}, j.Keys...)
			j.Keys = append(j.Keys, crontab.CommandKey(j.Command))
			j.noteSecrets()
		}
	}
	return jobs, nil
}

// Bounds of a file and of a name.
const (
	maxJobs = 10_000
	maxName = 100
)

// A reading is an expression in the words of sched. Many jobs have the same one.
type reading struct {
	*dialect.Reading
	line dialect.Line
	err  error
}

var notInName = humanize.Pattern(`[^A-Za-z0-9._:/-]+`)

// setTimes sets the keys that say when the task is due.
func (k Kind) setTimes(j *Job, machine *time.Location, known map[string]*reading) {
	name := cmp.Or(j.Zone, k.zone)
	zone, err := machine, error(nil)
	if name != "" {
		zone, err = time.LoadLocation(name)
	}
	switch {
	case err != nil:
		j.refuse("%q is no time zone", name)
		return
	case len(j.Expressions) == 0:
		j.refuse("it has no schedule")
		return
	}
	var lines []dialect.Line
	for _, expression := range j.Expressions {
		line, err := k.lineOf(j, expression, zone, known)
		if err != nil {
			j.refuse("%q: %v", expression, err)
			return
		}
		lines = append(lines, line)
	}
	first := lines[0]
	for _, line := range lines[1:] {
		line.Cron, line.Notes = first.Cron, first.Notes
		if line.String() != first.String() || line.Cron == "" {
			j.refuse("its times need several tasks: write one for each of %s", strings.Join(j.Expressions, ", "))
			return
		}
	}
	var crons []*yamldoc.Node
	for _, line := range lines {
		crons = append(crons, yamldoc.NewText(line.Cron))
		j.Notes = append(j.Notes, line.Notes...)
	}
	var keys []crontab.Key
	switch {
	case len(crons) > 1:
		keys = append(keys, crontab.Key{Name: "cron", Value: yamldoc.NewList(crons...)})
	case first.Cron != "":
		keys = append(keys, crontab.Key{Name: "cron", Value: crons[0]})
	}
	add := func(key, value string) {
		if value != "" {
			keys = append(keys, crontab.Key{Name: key, Value: yamldoc.NewText(value)})
		}
	}
	add("every", first.Every)
	add("timezone", cmp.Or(first.Timezone, name))
	if first.Days != nil {
		add("days", strings.Join(first.Days, ", "))
	}
	add("from", first.From)
	add("until", first.Until)
	j.Keys = append(keys, j.Keys...)
}

// lineOf returns the line of an expression, and adds its reading to the job.
func (k Kind) lineOf(j *Job, expression string, zone *time.Location, known map[string]*reading) (dialect.Line, error) {
	for _, name := range k.dialects {
		d, ok := dialect.Find(name)
		if !ok || j.notSame != "" {
			continue
		}
		key := zone.String() + " " + expression
		r := known[key]
		if r == nil {
			r = newReading(d, expression, zone)
			known[key] = r
		}
		if r.Reading == nil {
			return dialect.Line{}, r.err
		}
		j.readings = append(j.readings, r.Reading)
		j.Notes = append(j.Notes, r.Notes...)
		line, err := r.line, r.err
		if line.Every != "" && err == nil {
			j.notSame = "here it differs: the program counts from its own start, and the task by the clock"
			line.Notes = nil
		}
		if j.seconds > 0 && err == nil {
			j.notSame = "here it differs: Laravel counts the seconds from its last start, and the task by the clock"
			line = repeated(line, j.seconds)
		}
		if k.isSteady() && clocksChange(zone) {
			j.notSame = cmp.Or(j.notSame, "not compared: "+k.Name+" has rules of its own for changes of the clocks")
		}
		return line, err
	}
	j.notSame = cmp.Or(j.notSame, "not compared: sched does not know how "+k.Name+" reads it")
	if _, err := cron.Parse(expression, ""); err != nil {
		return dialect.Line{}, err
	}
	return dialect.Line{Cron: expression}, nil
}

// repeated returns the line of what repeats after some seconds in each minute of a line.
func repeated(line dialect.Line, seconds int) dialect.Line {
	if line.Cron == "* * * * *" {
		words, _ := humanize.Every(time.Duration(seconds) * time.Second)
		line.Cron, line.Every = "", strings.TrimPrefix(words, "1 ")
		return line
	}
	if line.Cron != "" {
		line.Cron = strings.TrimSuffix(fmt.Sprint("*/", seconds), "/1") + " " + line.Cron
	}
	return line
}

func newReading(d *dialect.Dialect, expression string, zone *time.Location) *reading {
	parsed, err := d.Parse(expression, zone)
	if err != nil {
		return &reading{err: fmt.Errorf("%s refuses it: %w", d.Program, err)}
	}
	line, err := parsed.Line()
	return &reading{parsed, line, err}
}

// clocksChange reports whether a zone changes its clocks now or later.
func clocksChange(zone *time.Location) bool {
	_, end := time.Date(2026, 1, 1, 0, 0, 0, 0, zone).ZoneBounds()
	return !end.IsZero()
}
