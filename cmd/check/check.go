// Package check is the command `sched check`.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/schedule"
	"sched/schedule/assertion"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/lint"
	"sched/schedule/load"
	"sched/schedule/notify"
	"sched/schedule/placement"
	"sched/schedule/preflight"
	"sched/schedule/view"
)

type options struct{ strict, fileOnly, json bool }

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Print every problem of the schedule, and what can hardly be meant",
		Long: `check reads the schedule as sched run does and prints every problem at once, each with its place. It
exits with 2 if there is one, which suits a commit hook or a build.

Warnings are about what is allowed and can hardly be meant. Some are about this machine and this
user, and say so: a folder, a program or an interpreter that is not there, a Redis that may forget
what one_server needs, and what the history knows of durations. --file-only leaves them out, and
whether accounts exist.

Assertions (assert:) are proven for the next 28 years. An assertion that does not hold is a problem,
with the first time that breaks it.`,
		Example: `  sched check
  sched check examples/hooks.yaml
  sched check --strict --file-only   in a build, on another machine than the tasks run on`,
		Args: flags.Arguments(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			file := flags.Optional(args)
			if file != "" && a.Config != "" {
				return exit.Usage("", "the file is named twice: %s, and %s with --config", file, a.Config)
			}
			a.Config = cmp.Or(file, a.Config)
			return check(a, o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.strict, "strict", false, "let nothing pass: exit with 2 for warnings, too")
	f.BoolVar(&o.fileOnly, "file-only", false, "judge the file alone, and nothing of this machine")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	return c
}

// provenYears is for how long assertions and times are proven: after 28 years the calendar repeats.
const provenYears = 28

// A verdict is what check says about a schedule.
type verdict struct {
	file            string
	tasks           int // how many tasks the schedule has
	problems        []schedule.Problem
	warnings        []schedule.Problem
	machineWarnings []schedule.Problem // about this machine
	notes           []schedule.Problem // they do not count as warnings
	proofs          []assertion.Proof  // of assertions
	machineLater    bool               // nothing was judged about this machine, because the file is invalid
}

// check prints what it says about the schedule, and returns the exit of sched.
func check(a *app.App, o options) error {
	a.WantOrigins = true
	j, err := judge(a, o)
	if err != nil {
		return err
	}
	if !o.json {
		printJudgement(a, j)
	} else if err := a.PrintJSON(j.json()); err != nil {
		return err
	}
	warnings := len(j.warnings) + len(j.machineWarnings)
	switch {
	case len(j.problems) > 0:
		return &exit.Error{Code: exit.Invalid}
	case o.strict && warnings > 0:
		return exit.Usage("", "%s, and --strict takes them for problems", humanize.Count(warnings, "warning"))
	}
	return nil
}

// judge loads the schedule and judges it. It returns an error only if it could not look for a
// schedule.
func judge(a *app.App, o options) (verdict, error) {
	s, err := a.Load()
	if invalid, ok := errors.AsType[*load.InvalidError](err); ok {
		isThere := !errors.Is(invalid, os.ErrNotExist)
		return verdict{file: a.Config, problems: invalid.Problems, machineLater: isThere && !o.fileOnly}, nil
	}
	if err != nil {
		return verdict{}, err
	}
	now := a.Now()
	proofs := assertion.Prove(s, now, now.AddDate(provenYears, 0, 0))
	j := verdict{
		file:     filepath.Base(s.File),
		tasks:    len(s.Tasks),
		problems: slices.Concat(s.BadLines, brokenAssertions(proofs)),
		warnings: fileWarnings(s, now, a.Environ()),
		proofs:   proofs,
	}
	if len(s.Assertions) > 0 && len(s.Pauses) > 0 {
		note := "the assertions are proven as if nothing were paused"
		j.notes = []schedule.Problem{{Place: s.Pauses[0].Place, Text: note}}
	}
	j.notes = slices.Concat(j.notes, lint.LeadingSeconds(s), lint.UnevenSteps(s), lint.SkippedMonths(s))
	if !o.fileOnly {
		problems, warnings := preflight.Unfit(s, a.Environ())
		j.problems = append(j.problems, problems...)
		j.machineWarnings = slices.Concat(warnings, preflight.Refused(s), machineWarnings(a, s, now))
		j.notes = append(j.notes, tasksElsewhere(s)...)
	}
	return j, nil
}

func fileWarnings(s *schedule.Schedule, now time.Time, environ []string) []schedule.Problem {
	warnings := slices.Concat(
		s.Warnings,
		lint.HolidaysOver(s, now),
		lint.CalendarsEnd(s, now),
		lint.NeverRuns(s, now),
		lint.OverdueAnyway(s, now),
		lint.PausesOver(s, now),
		lint.AlwaysPaused(s, now),
		notify.SharedMonitors(s),
		notify.ToldTwice(s),
		lint.TimesMeet(s, now),
		lint.KeptFromWaiting(s, now),
		lint.LosesItsMutex(s, now),
		lint.BecomesUser(s),
		lint.LeavesItself(s),
		lint.UnknownVariables(s, environ),
		lint.HooksNamedAsTasks(s),
	)
	if ignored := otherSpelling(s.File); ignored != "" {
		warnings = append(warnings, schedule.Problem{
			Place: schedule.Place{File: ignored},
			Text:  "it is not read, because " + filepath.Base(s.File) + " is beside it",
			Hint:  "remove one of the two",
		})
	}
	return warnings
}

func machineWarnings(a *app.App, s *schedule.Schedule, now time.Time) []schedule.Problem {
	usual := view.Usual(s.StateDir, view.TaskNames(s))
	before := lastValid(a, s)
	return slices.Concat(
		lint.SlowForeground(s, usual, now),
		lint.NeverCatchesUp(s, usual, now),
		storeRisks(a, s),
		unknownLabels(s),
		renamedTasks(s, before),
		otherStore(s, before),
		zoneWarnings(s),
	)
}

func lastValid(a *app.App, s *schedule.Schedule) *schedule.Schedule {
	before, err := a.LastValid(s.StateDir, s.File)
	if err != nil {
		return &schedule.Schedule{}
	}
	return before
}

func zoneWarnings(s *schedule.Schedule) []schedule.Problem {
	text, hint := app.ZoneProblem(s)
	if text == "" {
		return nil
	}
	at := schedule.Place{File: filepath.Base(s.File)}
	return []schedule.Problem{{Place: at, Text: text, Hint: hint}}
}

// storeRisks warns of a store that is silent (tasks are skipped) and of a store that forgets (slots
// run twice).
func storeRisks(a *app.App, s *schedule.Schedule) (risks []schedule.Problem) {
	needsStore := func(t *schedule.Task) bool { return s.Active(t) && t.OneServer }
	i := slices.IndexFunc(s.Tasks, needsStore)
	if i < 0 || len(s.Store.Servers) == 0 {
		return nil
	}
	add := func(text, hint string) {
		risks = append(risks, s.Tasks[i].Problem("one_server", hint, "one_server: %s", text))
	}
	ofStore, err := a.Store(s).Risks(context.Background())
	for _, risk := range ofStore {
		add(risk.Text, risk.Hint)
	}
	for _, finding := range cluster.NotesIn(s.StateDir).Findings {
		if finding.Kind == cluster.KindZone {
			add(finding.Text, finding.Hint)
		}
	}
	if err != nil {
		add(err.Error(), exit.HintOf(err))
		return risks
	}
	return append(risks, absentServers(a, s)...)
}

// absentServers warns of names in prefer, and of all servers of a task, that no server has which
// ticked this schedule lately. It warns of nothing if none ticked.
func absentServers(a *app.App, s *schedule.Schedule) (warnings []schedule.Problem) {
	servers, err := cluster.List(context.Background(), a.Store(s))
	if err != nil || len(servers) == 0 {
		return nil
	}
	machines := []placement.Machine{s.Machine}
	var names []string
	for _, server := range servers {
		machines = append(machines, placement.Machine{Name: server.Name, Labels: server.Labels})
		if !slices.Contains(names, server.Name) {
			names = append(names, server.Name)
		}
	}
	isAbsent := func(patterns ...string) bool {
		isMeant := func(m placement.Machine) bool { return m.IsAny(patterns) }
		return len(patterns) > 0 && !slices.ContainsFunc(machines, isMeant)
	}
	for _, t := range s.Tasks {
		if !s.InUse(t) {
			continue
		}
		if isAbsent(t.Servers...) {
			warnings = append(warnings, t.Problem("servers", nearServer(t.Servers[0], names),
				"servers: no server among %s ticked this schedule in the last ten minutes", strings.Join(t.Servers, ", ")))
		}
		for _, name := range t.Prefer {
			if isAbsent(name) {
				warnings = append(warnings, t.Problem("prefer", nearServer(name, names),
					"prefer: no server called %s ticked this schedule in the last ten minutes", name))
			}
		}
	}
	return warnings
}

// nearServer is the hint for a name that no server has: the server with a similar name, or all
// names.
func nearServer(name string, names []string) string {
	host, _, _ := strings.Cut(name, ".")
	near := humanize.Nearest(name, names)
	isNear := func(other string) bool {
		return other == host || strings.HasPrefix(other, host+".") || other == near
	}
	if i := slices.IndexFunc(names, isNear); i >= 0 {
		return "did you mean " + names[i] + "?"
	}
	return "these did: " + strings.Join(names, ", ")
}

func otherSpelling(file string) string {
	other := strings.TrimSuffix(file, ".yaml") + ".yml"
	if _, err := os.Stat(other); err != nil || other == file+".yml" {
		return ""
	}
	return filepath.Base(other)
}

// printJudgement prints everything but proofs to stderr.
func printJudgement(a *app.App, j verdict) {
	for _, warning := range j.warnings {
		fmt.Fprintf(a.Err, "warning: %s\n", humanize.Plain(warning.String()))
	}
	for _, warning := range j.machineWarnings {
		warning.Text = "on this machine: " + warning.Text
		fmt.Fprintf(a.Err, "warning: %s\n", humanize.Plain(warning.String()))
	}
	for _, note := range j.notes {
		fmt.Fprintf(a.Err, "note: %s\n", note)
	}
	if len(j.problems) > 0 {
		a.PrintProblems(j.problems)
		if j.machineLater {
			fmt.Fprintln(a.Err, "note: when the file is valid, check looks for its programs, folders and users, too")
		}
		return
	}
	fmt.Fprintf(a.Out, "%s is valid: %s\n", j.file, humanize.Count(j.tasks, "task"))
	for _, p := range j.proofs {
		until := fmt.Sprint(p.To.Year())
		if p.Calendar != nil {
			until = p.Calendar.Through.String() + ", where calendar " + p.Calendar.Name + " ends"
		}
		fmt.Fprintf(a.Out, "holds until %s: %s\n", until, p.Text)
	}
}

func brokenAssertions(proofs []assertion.Proof) (problems []schedule.Problem) {
	for _, p := range proofs {
		if p.Break != nil {
			problems = append(problems, schedule.Problem{
				Place: p.Place,
				Text:  "assert: " + p.Break.Why,
				Hint:  "this does not hold: " + p.Text,
			})
		}
	}
	return problems
}

// unknownLabels warns of labels of this machine that cannot be used, if a task asks for labels.
func unknownLabels(s *schedule.Schedule) []schedule.Problem {
	asksForLabel := func(t *schedule.Task) bool { return slices.ContainsFunc(t.Servers, placement.IsLabel) }
	i := slices.IndexFunc(s.Tasks, asksForLabel)
	if s.Machine.Wrong == "" || i < 0 {
		return nil
	}
	return []schedule.Problem{s.Tasks[i].Problem("servers", "", "servers: %s", s.Machine.Wrong)}
}

// renamedTasks warns of tasks that had another name at the last tick. Their mutex has the new name,
// so a run that still goes on under the old name does not keep them from starting.
func renamedTasks(s, before *schedule.Schedule) (warnings []schedule.Problem) {
	command := func(t *schedule.Task) string { return strings.Join(t.Command.Argv(), "\x00") }
	names, namesBefore := map[string]bool{}, map[string]bool{}
	for _, t := range s.Tasks {
		names[t.Name] = true
	}
	for _, t := range before.Tasks {
		namesBefore[t.Name] = true
	}
	gone := map[string]string{} // the first old name that no task has any more, by the command
	for _, old := range before.Tasks {
		if _, isKnown := gone[command(old)]; !isKnown && hasOwnMutex(old) && !names[old.Name] {
			gone[command(old)] = old.Name
		}
	}
	for _, t := range s.Tasks {
		old := gone[command(t)]
		if old == "" || !hasOwnMutex(t) || namesBefore[t.Name] {
			continue
		}
		warnings = append(warnings, t.Problem("without_overlapping", "keep `mutex: "+old+"` until none is left",
			"without_overlapping: it was called %s, and does not wait for a run of that name", old))
	}
	return warnings
}

// otherStore warns of another store, or another name in it, than the last tick had: the runs that
// go on have their locks in the old one.
func otherStore(s, before *schedule.Schedule) []schedule.Problem {
	holds := func(t *schedule.Task) bool { return s.Active(t) && t.HoldsWhileRunning() }
	i := slices.IndexFunc(s.Tasks, holds)
	isSame := s.Name == before.Name && slices.Equal(s.Store.Servers, before.Store.Servers)
	if i < 0 || isSame || len(before.Store.Servers) == 0 {
		return nil
	}
	return []schedule.Problem{s.Tasks[i].Problem("without_overlapping",
		"`sched pause`, and change it when no run goes on any more on any server",
		"without_overlapping: the store or the name is another one than at the last tick: runs that go on have their locks in the old one,"+
			" and other servers start the same tasks beside them")}
}

// hasOwnMutex reports whether a task waits for its own runs alone, by its name.
func hasOwnMutex(t *schedule.Task) bool { return t.WithoutOverlapping && t.Mutex == t.Name }

// tasksElsewhere returns notes on the tasks that are for other servers or other environments only.
func tasksElsewhere(s *schedule.Schedule) []schedule.Problem {
	isElsewhere := func(t *schedule.Task) bool { return s.InUse(t) && !s.Here(t) }
	isOfOther := func(t *schedule.Task) bool { return t.Enabled && !s.InUse(t) }
	return append(inactive(s, "servers", isElsewhere), inactive(s, "environments", isOfOther)...)
}

// inactive returns a note on the tasks that do not run here because of a key.
func inactive(s *schedule.Schedule, key string, chosen func(*schedule.Task) bool) []schedule.Problem {
	var tasks []*schedule.Task
	for _, t := range s.Tasks {
		if chosen(t) {
			tasks = append(tasks, t)
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	note := tasks[0].Problem(key, "", "it is %s", s.Inactive(tasks[0]))
	if more := len(tasks) - 1; more > 0 {
		note.Text += "; the same goes for " + humanize.Count(more, "other task")
	}
	return []schedule.Problem{note}
}

// A Judgement is what --json prints.
type Judgement struct {
	File     string    `json:"file"`
	Valid    bool      `json:"valid"`
	Tasks    int       `json:"tasks"`
	Problems []Finding `json:"problems"`
	Warnings []Finding `json:"warnings"`
	Notes    []Finding `json:"notes"`
	Proofs   []proof   `json:"assertions"`
}

type proof struct {
	schedule.Place
	Text   string     `json:"text"`
	Holds  bool       `json:"holds"`
	Until  time.Time  `json:"until"`
	Ends   string     `json:"calendar,omitempty"` // the calendar that ends then
	Broken *time.Time `json:"broken"`
	Why    string     `json:"why"`
}

// A Finding is a problem, a warning or a note for --json.
type Finding struct {
	schedule.Place
	Task string `json:"task"`
	Text string `json:"text"`
	Hint string `json:"hint"`
	Here bool   `json:"here"` // it is about this machine, not about the file
}

func (j verdict) json() Judgement {
	return Judgement{
		File:     j.file,
		Valid:    len(j.problems) == 0,
		Tasks:    j.tasks,
		Problems: findingsJSON(j.problems, false),
		Warnings: append(findingsJSON(j.warnings, false), findingsJSON(j.machineWarnings, true)...),
		Notes:    findingsJSON(j.notes, false),
		Proofs:   proofsJSON(j.proofs),
	}
}

func findingsJSON(problems []schedule.Problem, here bool) []Finding {
	findings := []Finding{}
	for _, p := range problems {
		findings = append(findings, Finding{Place: p.Place, Task: p.Task, Text: p.Text, Hint: p.Hint, Here: here})
	}
	return findings
}

func proofsJSON(proofs []assertion.Proof) []proof {
	list := []proof{}
	for _, p := range proofs {
		proof := proof{Place: p.Place, Text: p.Text, Holds: p.Break == nil, Until: p.To}
		if p.Calendar != nil {
			proof.Ends = p.Calendar.Name
		}
		if p.Break != nil {
			proof.Why = p.Break.Why
			if !p.Break.At.IsZero() {
				proof.Broken = &p.Break.At
			}
		}
		list = append(list, proof)
	}
	return list
}
