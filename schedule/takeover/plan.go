package takeover

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/crontab"
	"sched/schedule/crontab/proof"
	"sched/schedule/humanize"
	"sched/schedule/machine"
)

// Options are what a plan is made of.
type Options struct {
	Places    []string // only the jobs of these files, folders and places; none: all that this user may take
	AsCrontab bool     // the lines stay lines, of one crontab
	Root      bool     // this user may change the files of the machine
	Own       string   // the text of the crontab of this user; "" as root, who reads it as a file
	Home      func(user string) (dir string, ok bool)
	Zone      *time.Location
	Now       time.Time

	// Load loads the text of the schedule, as a tick will.
	Load func(text []byte) (*schedule.Schedule, error)

	// Read reads a file of the machine, which is no link; nil reads this machine.
	Read func(path string) (string, error)
}

// A Verdict says what becomes of a job.
type Verdict struct {
	Job   machine.Job
	Tasks []string // that do what it does; empty if it is left to those who have it
	Why   string   // "proven until 2054", a difference, or why it is left
}

// IsTaken reports whether the schedule takes the job.
func (v Verdict) IsTaken() bool { return len(v.Tasks) > 0 }

// A Plan is what a takeover will do.
type Plan struct {
	Verdicts []Verdict
	Text     string // of the schedule; "" if nothing is taken
	Secret   bool   // a variable of it may be a secret
	MailsTo  bool   // cron mails what some lines print to their user, and the schedule does not
	Files    []File
	Name     string // of the schedule
	StateDir string // of the schedule
}

// A group is the jobs of one line: one, or the files of its folder.
type group struct {
	jobs    []machine.Job
	entries []crontab.Entry // what becomes of them
	left    string          // why they are left
	isSplit bool            // the files of its folder are tasks, and a last task has what comes later
}

func (g *group) first() machine.Job { return g.jobs[0] }

// The reasons for which jobs are left.
const (
	leftTimer     = "a timer is systemd's own: `sched import --from systemd` writes it as a task"
	leftAt        = "it runs once; at has it"
	leftSched     = "it is a tick of sched"
	leftRoot      = "root alone may change its file"
	leftStarter   = "it starts anacron, for the lines that anacrontab still has"
	leftSkipped   = "run-parts passes it over: "
	leftAsCrontab = "--as-crontab takes lines of crontabs alone"
)

// A planner makes a plan.
type planner struct {
	Options
	plan   *Plan
	debian bool // cron is Debian's
	groups []*group
	tables []*crontab.Table // with what is taken of each
	texts  map[string]string
}

// New makes a plan for the jobs of a machine. The error is about a place that has no job, a file
// that cannot be read, or a schedule that is not valid.
func New(list *machine.List, o Options) (*Plan, error) {
	if o.Read == nil {
		o.Read = func(path string) (text string, err error) {
			text, _, err = readPlain(path)
			return text, err
		}
	}
	p := &planner{Options: o, plan: &Plan{}, debian: list.Debian, texts: map[string]string{}}
	if err := p.choose(list.Jobs); err != nil {
		return nil, err
	}
	for _, g := range p.groups {
		g.left = p.reasonToLeave(g.first())
	}
	if err := p.readTables(); err != nil {
		return nil, err
	}
	var err error
	if o.AsCrontab {
		err = p.writeCrontab()
	} else {
		err = p.writeYAML()
	}
	return p.plan, err
}

// choose groups the jobs of the places.
func (p *planner) choose(jobs []machine.Job) error {
	used := map[string]bool{}
	of := map[string]*group{}
	for _, j := range jobs {
		key := fmt.Sprint(j.Kind == machine.Timer || j.Kind == machine.At, j.File, ":", j.Line, j.User)
		if of[key] == nil || j.Line == 0 {
			of[key] = &group{}
			p.groups = append(p.groups, of[key])
		}
		of[key].jobs = append(of[key].jobs, j)
	}
	if len(p.Places) == 0 {
		p.groups = slices.DeleteFunc(p.groups, func(g *group) bool { return !p.Root && g.first().File != ownCrontab })
		return nil
	}
	p.groups = slices.DeleteFunc(p.groups, func(g *group) bool {
		chosen := false
		for _, j := range g.jobs {
			for _, place := range p.Places {
				clean := path.Clean(place)
				if slices.Contains([]string{j.Place, j.File, path.Dir(j.File), path.Dir(j.Place)}, clean) {
					used[place], chosen = true, true
				}
			}
		}
		return !chosen
	})
	for _, place := range p.Places {
		if !used[place] {
			var names []string
			for _, j := range jobs {
				names = append(names, j.Place, j.File)
			}
			return &NoJobError{place, humanize.Nearest(place, names)}
		}
	}
	return nil
}

// A NoJobError says that a place has no job.
type NoJobError struct {
	Place string
	Near  string // a place that has one, and is spelled much like it; may be empty
}

func (e *NoJobError) Error() string { return "nothing is scheduled in " + e.Place }

// reasonToLeave says why a group is left, as far as its job says it; "" if it may be taken.
func (p *planner) reasonToLeave(j machine.Job) string {
	off := j.Off
	if j.Kind == machine.RunParts {
		off = j.LineOff
	}
	switch {
	case j.Kind == machine.Timer:
		return leftTimer
	case j.Kind == machine.At:
		return leftAt
	case j.IsSched():
		return leftSched
	case off != "":
		return off
	case !p.Root && j.File != ownCrontab:
		return leftRoot
	case j.Anacron != nil && p.AsCrontab:
		return leftAsCrontab
	case j.Anacron != nil:
		return reasonToLeaveAnacron(*j.Anacron, p.Now.In(p.Zone).Format(time.DateOnly))
	case machine.StartsAnacron(j.Command):
		return leftStarter
	}
	return ""
}

// ownCrontab is the file of the jobs in the crontab of this user.
const ownCrontab = "crontab"

// readTables parses the files that have lines to take, and keeps of each what is taken.
func (p *planner) readTables() error {
	tables := map[string]*crontab.Table{}
	for _, g := range p.groups {
		j := g.first()
		if g.left != "" {
			continue
		}
		if tables[j.File] == nil {
			text := p.Own
			if j.File != ownCrontab {
				var err error
				if text, err = p.Read(realPath(j.File)); err != nil {
					return fmt.Errorf("cannot read %s: %w", j.File, humanize.WithoutPath(err))
				}
			}
			p.texts[j.File] = text
			tables[j.File] = p.parse(j.File, withoutHeader(text), j)
			p.tables = append(p.tables, &crontab.Table{Source: tables[j.File].Source,
				Keys: tables[j.File].Keys, Secret: tables[j.File].Secret, Findings: tables[j.File].Findings})
		}
		own := p.tables[slices.IndexFunc(p.tables, func(t *crontab.Table) bool { return t.Source.Name == j.File })]
		if g.entries, g.left = p.entriesOf(g, tables[j.File]); g.left == "" {
			own.Entries = append(own.Entries, g.entries...)
		}
	}
	for _, t := range p.tables {
		// Findings about lines that are left do not matter.
		t.Findings = slices.DeleteFunc(t.Findings, func(f crontab.Finding) bool {
			return !slices.ContainsFunc(t.Entries, func(e crontab.Entry) bool { return e.Line == f.Line })
		})
	}
	return nil
}

// realPath returns the file to replace: the end of a link, so that the link stays one; "" for the
// crontab of this user.
func realPath(file string) string {
	if file == ownCrontab {
		return ""
	}
	if end, err := filepath.EvalSymlinks(file); err == nil {
		return end
	}
	return file
}

// parse reads a crontab, or the lines of anacrontab. Each entry has the user that runs it. Comments
// in the crontab of a user set no keys: such a key could say that root runs the task.
func (p *planner) parse(file, text string, j machine.Job) *crontab.Table {
	if j.Anacron != nil {
		return &crontab.Table{Source: crontab.Source{Name: file, Text: text, System: true}}
	}
	system := file == "/etc/crontab" || path.Dir(file) == "/etc/cron.d"
	t := crontab.Parse(crontab.Source{Name: file, Text: text, System: system})
	isUsers := p.Root && !system && j.User != "root"
	if isUsers {
		t.Keys = nil
	}
	for i := range t.Entries {
		if p.Root {
			t.Entries[i].User = cmp.Or(t.Entries[i].User, j.User)
		}
		if isUsers {
			t.Entries[i].Keys = nil
		}
	}
	if p.debian {
		t.IgnoreCronTZ(p.Zone.String())
	}
	return t
}

// withoutHeader empties the three lines that Debian's crontab(1) puts at the top of a crontab: they
// are no comment about the first line.
func withoutHeader(text string) string {
	lines := strings.SplitAfterN(text, "\n", 4)
	if !strings.HasPrefix(text, "# DO NOT EDIT THIS FILE") || len(lines) < 4 {
		return text
	}
	return "\n\n\n" + lines[3]
}

// entriesOf returns what becomes of a group, or why it is left.
func (p *planner) entriesOf(g *group, t *crontab.Table) (entries []crontab.Entry, left string) {
	j := g.first()
	if j.Anacron != nil {
		g.isSplit = canSplit(j, j.Anacron.Command)
		return anacronEntries(g.jobs, p.texts[j.File], g.isSplit), ""
	}
	i := slices.IndexFunc(t.Entries, func(e crontab.Entry) bool { return e.Line == j.Line && !e.Off })
	if i < 0 {
		return nil, "no schedule can say this line"
	}
	command := t.Entries[i].Command
	if g.isSplit = !p.AsCrontab && canSplit(j, command); g.isSplit {
		return folderEntries(g.jobs, t.Entries[i], niceKey(command)), ""
	}
	return t.Entries[i : i+1], ""
}

// writeYAML makes the schedule, and proves it.
func (p *planner) writeYAML() error {
	s := crontab.Convert(p.tables, crontab.Options{Home: p.Home, Zone: p.Zone.String()})
	// If one file of a folder cannot be a task, the whole line is left.
	omitted := func(file string, line int) (text string) {
		for _, f := range s.Findings {
			if f.File == file && f.Line == line && f.IsOmitted {
				return f.Text
			}
		}
		return ""
	}
	s.Tasks = slices.DeleteFunc(s.Tasks, func(t *crontab.Task) bool { return omitted(t.Source, t.Entry.Line) != "" })
	if len(s.Tasks) == 0 {
		p.setVerdicts(nil, s, nil, omitted)
		return nil
	}
	text := s.YAML(header)
	loaded, err := p.Load(text)
	if err != nil {
		return err
	}
	proven := proof.Prove(s.Tasks, loaded, p.Now, p.Zone)
	p.plan.Text, p.plan.Secret, p.plan.MailsTo = string(text), s.Secret, s.MailsTo
	p.plan.Name, p.plan.StateDir = loaded.Name, loaded.StateDir
	p.setVerdicts(s.Tasks, s, proven, omitted)
	return nil
}

// writeCrontab makes the crontab, and proves it.
func (p *planner) writeCrontab() error {
	text, left := crontabOf(p.tables, p.Root, header[0])
	for _, g := range p.groups {
		if why := left[lineOfFile{g.first().File, g.first().Line}]; why != "" {
			g.left = why
		}
	}
	source := crontab.Convert(p.tables, crontab.Options{Home: p.Home})
	nothing := func(string, int) string { return "" }
	if len(source.Tasks) == 0 {
		p.setVerdicts(nil, source, nil, nothing)
		return nil
	}
	made := crontab.Convert([]*crontab.Table{crontab.Parse(crontab.Source{
		Name: "crontab", Text: text, System: p.Root})}, crontab.Options{Home: p.Home})
	if len(made.Tasks) != len(source.Tasks) {
		return fmt.Errorf("%d lines would become %s: call it without --as-crontab",
			len(source.Tasks), humanize.Count(len(made.Tasks), "task"))
	}
	loaded, err := p.Load(made.YAML(nil)) // as the tasks of a crontab are
	if err != nil {
		return err
	}
	// The proof is about the tasks of the new crontab, the verdicts are about the old lines.
	for i, t := range made.Tasks {
		if was := source.Tasks[i]; t.User != was.User || t.Command != was.Command ||
			!maps.Equal(t.Env, was.Env) || !slices.Equal(t.Mail, was.Mail) {
			return fmt.Errorf("%s:%d would become another line of a crontab: call it without --as-crontab",
				was.Source, was.Entry.Line)
		}
		t.Source, t.Entry.Line = source.Tasks[i].Source, source.Tasks[i].Entry.Line
	}
	p.plan.Text, p.plan.Secret, p.plan.MailsTo = text, made.Secret, source.MailsTo
	p.plan.Name, p.plan.StateDir = loaded.Name, loaded.StateDir
	p.setVerdicts(made.Tasks, source, proof.Prove(made.Tasks, loaded, p.Now, p.Zone), nothing)
	return nil
}

// header is the comment at the top of the schedule.
var header = []string{
	"Taken over from cron by `sched takeover`; `sched takeover --undo` gives everything back.",
	"",
	"As under cron each task runs beside the others (background), in its home folder and with cron's PATH.",
	"sched keeps what it prints: `sched logs TASK` shows it.",
}

// setVerdicts fills the plan with a verdict for each job, and with the lines to take of each file.
func (p *planner) setVerdicts(tasks []*crontab.Task, s *crontab.Schedule, proven *proof.Proof,
	omitted func(file string, line int) string) {
	files := map[string]*File{}
	for _, g := range p.groups {
		j := g.first()
		left := cmp.Or(g.left, omitted(j.File, j.Line))
		var names []string
		for _, t := range tasks {
			if left == "" && t.Source == j.File && t.Entry.Line == j.Line {
				names = append(names, t.Name)
			}
		}
		if left == "" && len(names) == 0 {
			left = "no schedule can say this line"
		}
		of := g.tasksOfFiles(names)
		for _, job := range g.jobs {
			v := Verdict{Job: job, Why: left}
			switch {
			case left != "":
			case of == nil:
				v.Tasks, v.Why = names, p.whyTakenWithMail(job, tasks, s, proven)
			case of[job.Place] == nil:
				v.Why = leftSkipped + job.Off
			default:
				v.Tasks, v.Why = of[job.Place], p.whyTakenWithMail(job, tasks, s, proven)
			}
			p.plan.Verdicts = append(p.plan.Verdicts, v)
		}
		if left != "" {
			continue
		}
		if files[j.File] == nil {
			files[j.File] = &File{Path: realPath(j.File), Text: p.texts[j.File]}
		}
		line := Line{Raw: strings.Split(p.texts[j.File], "\n")[j.Line-1], Tasks: names}
		if j.Anacron != nil {
			line.Stamp = j.Anacron.Stamp
		}
		files[j.File].Lines = append(files[j.File].Lines, line)
	}
	for _, t := range p.tables {
		if files[t.Source.Name] != nil {
			p.plan.Files = append(p.plan.Files, *files[t.Source.Name])
		}
	}
}

// tasksOfFiles returns the task of each file of a folder, by its path: a file that run-parts passes
// over has none. It returns nil if the files are no tasks.
func (g *group) tasksOfFiles(names []string) (of map[string][]string) {
	if !g.isSplit {
		return nil
	}
	of = map[string][]string{}
	for _, j := range g.jobs {
		if !j.Skipped && len(names) > 0 {
			of[j.Place], names = names[:1], names[1:]
		}
	}
	return of
}

// whyTakenWithMail says what whyTaken says, and that cron mails what the line prints, if the
// schedule does not.
func (p *planner) whyTakenWithMail(j machine.Job, tasks []*crontab.Task, s *crontab.Schedule,
	proven *proof.Proof) string {
	why := p.whyTaken(j, tasks, s, proven)
	losesMail := func(t *crontab.Task) bool {
		return t.LosesMail && t.Source == j.File && t.Entry.Line == j.Line
	}
	switch {
	case j.Off != "" || !slices.ContainsFunc(s.Tasks, losesMail):
		return why
	case strings.HasPrefix(why, "with this difference"):
		return why + "; its mail goes to nobody"
	}
	return why + " but for its mail"
}

// whyTaken says how sure it is that the schedule does what the line did.
func (p *planner) whyTaken(j machine.Job, tasks []*crontab.Task, s *crontab.Schedule, proven *proof.Proof) string {
	if j.Anacron != nil && j.Anacron.Days == machine.Monthly {
		return "with this difference: it runs on the first of each month, and anacron counts days"
	}
	if j.Anacron != nil {
		return "with this difference: after a time off it starts with the first tick, not some minutes later"
	}
	for _, d := range proven.Differences {
		if d.Task.Source == j.File && d.Task.Entry.Line == j.Line {
			return "with this difference: " + d.Text(p.Zone)
		}
	}
	if j.Off != "" {
		return "passed over as before: " + j.Off
	}
	for _, f := range s.Findings {
		if f.File == j.File && f.Line == j.Line && !f.IsSecret {
			return "with this difference: " + f.Text
		}
	}
	isThis := func(t *crontab.Task) bool { return t.Source == j.File && t.Entry.Line == j.Line }
	switch {
	case slices.ContainsFunc(proven.Boots, isThis):
		return "at a boot, as cron does"
	case slices.ContainsFunc(proven.Uncompared, isThis):
		return "with this difference: its times are not cron's, and not compared"
	}
	return "proven until " + proven.To.Format("2006")
}
