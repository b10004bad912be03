package foreign

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"sched/schedule/crontab"
	"sched/schedule/dialect"
	"sched/schedule/humanize"
	"sched/schedule/mask"
	"sched/schedule/yamldoc"
)

// ErrOther says that a file has another kind.
var ErrOther = errors.New("it has nothing of that kind")

// A Job is a job of a file.
type Job struct {
	Line        int // of the file; 0 if it is not known
	Name        string
	Expressions []string
	Zone        string // "" for the zone of the kind
	Command     string
	Keys        []crontab.Key
	Notes       []string // what the task has otherwise, or not at all
	Refused     string   // why it is no task; "" if it is one

	readings []*dialect.Reading // of its expressions, if the dialect is known
	seconds  int                // it repeats after so many, in each minute of its expressions; 0: it does not
	notSame  string             // why its times cannot be compared; "" if they can
	timeless string             // what is said of a job whose keys say all of its times; "" if expressions do
}

// atBoot is the expression of a job that starts at a boot.
const atBoot = "@reboot"

func (j *Job) note(format string, args ...any) {
	j.Notes = append(j.Notes, fmt.Sprintf(format, args...))
}

func (j *Job) refuse(format string, args ...any) *Job {
	j.Refused = cmp.Or(j.Refused, fmt.Sprintf(format, args...))
	return j
}

// put sets a key. It replaces one that is set already.
func (j *Job) put(key crontab.Key) {
	i := slices.IndexFunc(j.Keys, func(k crontab.Key) bool { return k.Name == key.Name })
	if i < 0 {
		j.Keys = append(j.Keys, key)
		return
	}
	j.Keys[i] = key
}

// set sets a key to a text in which nothing is expanded.
func (j *Job) set(key, value string) {
	if key != "description" { // which sched expands nowhere
		value = crontab.Escape(value)
	}
	j.put(crontab.Key{Name: key, Value: yamldoc.NewText(value)})
}

// setList sets a key to texts in which nothing is expanded.
func (j *Job) setList(key string, texts ...string) {
	var items []*yamldoc.Node
	for _, text := range texts {
		items = append(items, yamldoc.NewText(crontab.Escape(text)))
	}
	j.put(crontab.Key{Name: key, Value: yamldoc.NewList(items...)})
}

// setPlain sets a key whose value is written as it is.
func (j *Job) setPlain(key, value string) {
	j.put(crontab.Key{Name: key, Value: yamldoc.NewText(value), Text: value})
}

// setEnv sets the variables, if there are any.
func (j *Job) setEnv(set map[string]string) {
	if len(set) > 0 {
		j.put(crontab.EnvKey(set))
	}
}

// setVariables sets the variables of a crontab. SHELL also runs the command. Of MAILTO, which mails
// nobody here, a note says what does.
func (j *Job) setVariables(set map[string]string) {
	own := maps.Clone(set)
	if own["SHELL"] != "" {
		j.setList("shell", own["SHELL"], "-c")
	}
	if to := own["MAILTO"]; to != "" {
		j.note("not taken: MAILTO=%s: `after: {mail: …, when: output}` can say it", to)
	}
	j.setEnv(own)
}

// setMail sets a hook that mails to addresses, if there are any, with more keys and their values.
func (j *Job) setMail(event string, to []string, more ...*yamldoc.Node) {
	var addresses []*yamldoc.Node
	for _, address := range to {
		addresses = append(addresses, yamldoc.NewText(address))
	}
	var value *yamldoc.Node
	switch len(addresses) {
	case 0:
		return
	case 1:
		value = addresses[0]
	default:
		value = yamldoc.NewList(addresses...)
	}
	pairs := append([]*yamldoc.Node{yamldoc.NewText("mail"), value}, more...)
	j.put(crontab.Key{Name: event, Value: yamldoc.NewMapping(pairs...)})
}

// noteSecrets names what the schedule keeps that may be a secret.
func (j *Job) noteSecrets() {
	note := func(name, where string) {
		text, hint := mask.Kept(name, where)
		j.note("%s: %s", text, hint)
	}
	for _, key := range j.Keys {
		for _, variable := range key.Below {
			if key.Name == "env" && mask.SecretName().MatchString(variable.Name) {
				note(variable.Name, mask.InEnv)
			}
		}
	}
	for _, name := range mask.SecretsIn(j.Command) {
		note(name, mask.InCommand)
	}
}

// setAccount sets the user or the group. It notes a text that cannot be the name of one.
func (j *Job) setAccount(key, name string) {
	if accountPattern().MatchString(name) {
		j.set(key, name)
	} else if name != "" {
		j.note("not taken: %s = %s", key, name)
	}
}

var accountPattern = humanize.Pattern(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// Bounds of numbers, which keep a schedule valid.
const (
	maxAttempts = 100
	maxSeconds  = 31 * 24 * 60 * 60 // 31 days
)

// number reads a whole number. It notes a text that is out of bounds or no number, unless it is
// empty.
func (j *Job) number(name, text string, least, most int) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	if ok = err == nil && n >= least && n <= most; !ok && text != "" {
		j.note("not taken: %s = %s", name, text)
	}
	return n, ok
}

// noteRest says which keys are not in the task.
func (j *Job) noteRest(path string, n node, silent ...string) {
	for _, key := range n.rest(silent...) {
		j.note("not taken: %s%s", path, key)
	}
}

// noteWholeFile notes what counts for all jobs in the first one that is a task.
func noteWholeFile(jobs []*Job, format string, args ...any) {
	if i := slices.IndexFunc(jobs, func(j *Job) bool { return j.Refused == "" }); i >= 0 {
		jobs[i].note(format, args...)
	}
}

// noteDocuments says that only the first of several documents was read.
func noteDocuments(jobs []*Job, all []node) {
	if len(all) > 1 {
		noteWholeFile(jobs, "not taken: the %s of the file below the first", humanize.Count(len(all)-1, "document"))
	}
}

// key is the same for jobs that have the same times.
func (j *Job) key() string {
	zone := ""
	if len(j.readings) > 0 {
		zone = j.readings[0].Location.String()
	}
	return fmt.Sprint(j.Expressions, zone)
}

// setLater gives a job that is no command a command that fails, and switches the task off.
func setLater(j *Job, what string) {
	j.setPlain("enabled", "false")
	j.Command = "echo " + quoteWords("write here what starts "+what) + " >&2; exit 1"
	j.note("it is switched off: its command, which starts %s, is yours to write", what)
}
