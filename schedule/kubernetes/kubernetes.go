// Package kubernetes writes a schedule as manifests of Kubernetes: a CronJob for each time of a
// task, and a ConfigMap with the files of the schedule.
//
// # Promises
//
//   - The container of a CronJob is one tick for one task and one slot. So sched decides, as
//     everywhere, whether the slot is due, and hooks, retries, claims and locks in the store hold.
//   - A CronJob starts at each slot of its task, but for hours in which the clocks change. If it
//     starts at other times, too, nothing is due then; a Note says so.
//   - What a task has and such a tick cannot do is a Note. No secret is written.
//   - It is pure.
package kubernetes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/crontab/cover"
	"sched/schedule/humanize"
)

// Options are what manifests need and no schedule says.
type Options struct {
	Image  string // has sched, a shell, and what the commands need
	Folder string // of the schedule in the image, absolute
	Now    time.Time
}

// Manifests are a schedule for Kubernetes.
type Manifests struct {
	Text    string
	Notes   []string           // what differs for all tasks
	Omitted []schedule.Problem // tasks, and keys of tasks, that do nothing there
	Remarks []schedule.Problem // tasks whose containers also start when nothing is due
}

// Export writes the active and inactive tasks of a schedule. settings are the keys of a task
// (load.Settings). The error says why there can be no manifests at all.
func Export(s *schedule.Schedule, o Options, settings func(*schedule.Task) []schedule.Setting) (*Manifests, error) {
	e := &exporter{Options: o, schedule: s, settings: settings, name: objectName(cmp.Or(s.Name, "sched"), maxName),
		names: cover.Names{}}
	if err := e.writeFiles(); err != nil {
		return nil, err
	}
	e.variables = variablesOf(s.Sources)
	e.noteSurroundings()
	for _, t := range s.Tasks {
		e.writeTask(t)
	}
	return &Manifests{Text: e.text.String(), Notes: e.notes, Omitted: e.omitted, Remarks: e.remarks}, nil
}

type exporter struct {
	Options
	schedule         *schedule.Schedule
	settings         func(*schedule.Task) []schedule.Setting
	name             string // of the ConfigMap and of the Secret
	names            cover.Names
	variables        []variable
	text             strings.Builder
	notes            []string
	omitted, remarks []schedule.Problem
}

func (e *exporter) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

func (e *exporter) omit(t *schedule.Task, key, format string, args ...any) {
	e.omitted = append(e.omitted, t.Problem(key, "", format, args...))
}

// line writes a line of a manifest.
func (e *exporter) line(format string, args ...any) { fmt.Fprintf(&e.text, format+"\n", args...) }

const maxConfigMap = 1 << 20 // Kubernetes takes no more

// writeFiles writes the ConfigMap.
func (e *exporter) writeFiles() error {
	e.line("# Exported from %s by `sched export --to kubernetes`.", humanize.Line(path.Base(e.schedule.File)))
	e.line("apiVersion: v1")
	e.line("kind: ConfigMap")
	e.line("metadata:\n  name: %s", quote(e.name))
	e.line("data:")
	size := 0
	for i, source := range e.schedule.Sources {
		if size += len(source.Data); size > maxConfigMap {
			return fmt.Errorf("a ConfigMap holds at most 1 MiB, and the files of the schedule are larger")
		}
		if !filepath.IsLocal(source.Name) {
			return fmt.Errorf("%s is outside of the folder of the schedule", source.Name)
		}
		e.line("  %s: %s", fileKey(i, source.Name), literal(string(source.Data)))
	}
	return nil
}

// fileKey is the key of a file in the ConfigMap: keys have no slash.
func fileKey(i int, name string) string {
	return fmt.Sprintf("file-%d-%s", i, notInKey().ReplaceAllString(path.Base(name), "-"))
}

var notInKey = humanize.Pattern(`[^A-Za-z0-9._-]+`)

// noteSurroundings says what differs for all tasks.
func (e *exporter) noteSurroundings() {
	e.note("each run has a container of its own: `sched history`, `why`, `logs`, `status`, the pages and " +
		"`sched pause` see none of the others, and nothing is known of the run before")
	e.note("kubectl and the controller have what is lost there: a slot that starts too late is not made up for " +
		"by `missed`, and is no line of a history")
	switch servers := e.schedule.Store.Servers; {
	case len(servers) == 0:
		e.note("without a `store` containers share no locks: `mutex`, `pool` and `one_server` hold in one " +
			"container alone")
	case !slices.ContainsFunc(e.variables, func(v variable) bool { return v.ofStore }):
		e.note("the URL of the store stands in the ConfigMap: write store: ${STORE_URL} to take it from a Secret")
	}
	if len(e.variables) > 0 {
		var names []string
		for _, v := range e.variables {
			names = append(names, v.name)
		}
		e.note("the Secret %s is yours to make; its keys are variables of the schedule: %s", e.name,
			strings.Join(names, ", "))
	}
	e.note("%s must have sched, a shell, date, and what the commands need; it starts in %s", e.Image, e.Folder)
	e.note("where clocks change, Kubernetes has rules of its own: a time that they skip may have no run")
}

const (
	maxName    = 52 // of a CronJob: a Job adds 11 characters
	minStarted = 60 // seconds: a slot that no deadline is set for is of its minute
)

// writeTask writes the CronJobs of a task.
func (e *exporter) writeTask(t *schedule.Task) {
	zone := t.When.Location.String()
	switch {
	case zone == "Local":
		e.omit(t, "timezone", "not exported: the zone of this machine has no name: set `timezone`")
		return
	case len(t.TimeValues) > 0:
		e.omit(t, "schedule", "not exported: a CronJob gives params no values")
		return
	case t.When.IsByHand():
		e.omit(t, "cron", "not exported: only people start it, and a CronJob needs times")
		return
	case t.When.Boot:
		e.omit(t, "cron", "not exported: a cluster has no boot")
		return
	}
	times, err := cover.Of(t.When, e.Now, false)
	switch {
	case times.Seconds:
		e.omit(t, "cron", "not exported: a CronJob knows no seconds")
		return
	case err != nil:
		e.omit(t, "cron", "not exported: %v", err)
		return
	case times.Idle > 0:
		e.remarks = append(e.remarks, t.Problem("cron", "", "no CronJob can say its times: containers start %d times "+
			"in four years, and in %d of them nothing is due", times.Starts, times.Idle))
	}
	e.noteKeys(t)
	for _, one := range times.All {
		e.writeCronJob(t, one.String(), zone)
	}
}

// lostKeys says what a key does not do in a container that has one run.
var lostKeys = [...][2]string{
	{"expect", "nobody waits for a run that does not come"},
	{"on_overdue", "nobody waits for a run that does not come"},
	{"on_recovery", "no container knows of the run before"},
	{"pause_after", "no container knows of the run before"},
	{"report", "bounds hold, and nothing is known of usual values or a budget"},
	{"missed", "a CronJob starts one late run at most, until startingDeadlineSeconds"},
	{"servers", "pods have names of their own: let a nodeSelector say it"},
	{"prefer", "pods have names of their own: let affinity say it"},
	{"user", "the user is the one of the container, unless that is root"},
	{"output", "the file is in the container, and ends with it"},
	{"env_file", "the file must be in the image or on a volume"},
	{"limits", "a container has limits of its own: let resources say it"},
	{"retry.lost", "a run whose container is lost is not tried again"},
	{"even_in_maintenance", "the maintenance file is one of the container"},
}

// noteKeys notes the keys of a task that do not do there what they do here.
func (e *exporter) noteKeys(t *schedule.Task) {
	e.omitted = append(e.omitted, cover.Lost(t, e.settings(t), lostKeys[:])...)
	for key, hook := range t.Hooks.All() {
		if hook.Trigger != "" {
			e.omit(t, key, "%s: {trigger: %s}: the container ends with its own run", key, hook.Trigger)
		}
	}
}

// script is what a container runs. A Job of a CronJob is called by the minute of its slot; any
// other Job is made by hand.
const script = `case ${JOB##*-} in
  *[!0-9]* | "" | ?????? | ????? | ???? | ??? | ?? | ?) exec sched test "$0" ;;
esac
exec sched run --only "$0" --wait --logs --at "$(date -u -d "@$((${JOB##*-} * 60))" +%Y-%m-%dT%H:%M:00Z)"
`

func (e *exporter) writeCronJob(t *schedule.Task, times, zone string) {
	name := e.names.Take(objectName(t.Name, maxName), maxName)
	e.line("---\napiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: %s\nspec:", quote(name))
	e.line("  schedule: %s\n  timeZone: %s", quote(times), quote(zone))
	e.line("  concurrencyPolicy: %s\n  startingDeadlineSeconds: %d", concurrency(t), int(deadline(t).Seconds()))
	if !e.schedule.InUse(t) {
		e.line("  suspend: true")
	}
	e.line("  jobTemplate:\n    spec:\n      backoffLimit: 0\n      template:\n        spec:")
	e.line("          restartPolicy: Never")
	e.line("          terminationGracePeriodSeconds: %d", int((t.KillAfter + 30*time.Second).Seconds()))
	e.line("          containers:\n            - name: sched\n              image: %s", quote(e.Image))
	e.line("              workingDir: %s", quote(e.Folder))
	words := strings.Split(strings.TrimSuffix(script, "\n"), "\n")
	e.line("              command:\n                - sh\n                - -c\n                - |")
	for _, word := range words {
		e.line("                  %s", word)
	}
	e.line("                - %s", quote(t.Name))
	e.line("              env:")
	e.line("                - {name: JOB, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['job-name']\"}}}")
	e.line("                - {name: SCHED_CONFIG, value: %s}", quote(path.Join(e.Folder, path.Base(e.schedule.File))))
	for _, v := range e.variables {
		e.line("                - {name: %s, valueFrom: {secretKeyRef: {name: %s, key: %s, optional: %t}}}",
			quote(v.name), quote(e.name), quote(v.name), v.hasDefault)
	}
	e.line("              volumeMounts:")
	for i, source := range e.schedule.Sources {
		e.line("                - {name: schedule, mountPath: %s, subPath: %s, readOnly: true}",
			quote(path.Join(e.Folder, source.Name)), fileKey(i, source.Name))
	}
	e.line("          volumes:\n            - {name: schedule, configMap: {name: %s}}", quote(e.name))
}

// concurrency returns what means the same as without_overlapping.
func concurrency(t *schedule.Task) string {
	switch {
	case t.Replace:
		return "Replace"
	case t.WithoutOverlapping && t.MaxWait == 0 && t.Mutex == t.Name:
		return "Forbid"
	}
	return "Allow" // a run that waits does so in its container, for a lock in the store
}

// deadline returns how late a run may start.
func deadline(t *schedule.Task) time.Duration {
	span := t.StartDeadline
	if t.RunMissed || t.RunAllMissed {
		span = t.MissedWithin
	}
	return max(span, minStarted*time.Second)
}

// objectName makes a name that Kubernetes takes: letters in lower case, digits and -.
func objectName(text string, most int) string {
	name := strings.Trim(notInName().ReplaceAllString(strings.ToLower(text), "-"), "-")
	return cmp.Or(strings.Trim(name[:min(len(name), most)], "-"), "task")
}

var notInName = humanize.Pattern(`[^a-z0-9]+`)

// quote writes a text as JSON does, which is YAML, too.
func quote(text string) string {
	if plainWord().MatchString(text) && !slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false",
		"null"}, strings.ToLower(text)) {
		return text
	}
	quoted, _ := json.Marshal(text)
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(quoted))
}

// plainWord matches a word that YAML takes for a text, unless it is one of a few.
var plainWord = humanize.Pattern(`^[A-Za-z][A-Za-z0-9_-]*$`)

// literal writes the text of a file as a block, or in quotes if a block cannot have it.
func literal(text string) string {
	isOdd := func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r == '\uFEFF' || r >= 0x80 && r < 0xa0 }
	if strings.ContainsFunc(text, isOdd) || !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") ||
		strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n") {
		quoted, _ := json.Marshal(text)
		return string(quoted)
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "    " + line
		}
	}
	return "|\n" + strings.Join(lines, "\n")
}
