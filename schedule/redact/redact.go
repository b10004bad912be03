// Package redact masks the secrets of a task in what its runs print: in the file when a run has
// ended (Keep), and for readers while it goes on (Live). The values are read when they are needed,
// and kept nowhere.
package redact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/mask"
	"sched/schedule/process"
	"sched/schedule/state"
)

// A Source is where the secrets of a run come from.
type Source struct {
	Task    *schedule.Task // the snapshot
	Environ []string       // of this process
	Row     *state.Row

	// Found says that another process has started the run, maybe with variables that are not set
	// here. Then a named secret without a value is one that is not known.
	Found bool
}

// Quote returns a line that the run has printed without its secrets.
func (s Source) Quote(line string) string {
	secrets, err := s.Values()
	if err != nil {
		return "a line that cannot be masked"
	}
	return secrets.Text(line)
}

// Printed returns what a condition command has printed without the secrets of its task: nothing if
// they cannot be read.
func Printed(spec process.Spec, printed []byte) []byte {
	pairs, err := spec.Secrets()
	if err != nil {
		return nil
	}
	return []byte(mask.New(valuesOf(pairs)).Text(string(printed)))
}

// valuesOf returns the values of variables.
func valuesOf(pairs []string) (values []string) {
	for _, pair := range pairs {
		_, value, _ := strings.Cut(pair, "=")
		values = append(values, value)
	}
	return values
}

// Keep rewrites an output as it is kept. Its secrets are masked. If it is larger than output.limit,
// its first and its last part are left, with a line between them that says what was cut. The notes
// are for the run. It may be done again: if the process is killed before the new file has the name,
// the old file stays. A process that the command left behind may still print into the old file:
// that output is lost.
//
// An output that cannot be masked is moved to output.UnmaskedPath, where only people look, and a
// line that says so takes its place. An output that is just the text own is from sched: it stays.
// For the output of hooks own is empty.
func (s Source) Keep(path, own string) (notes []string) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil
	}
	values, err := s.Values()
	if err != nil {
		if text, _ := os.ReadFile(path); own != "" && string(text) == own {
			return nil
		}
		return []string{withhold(path, err)}
	}
	note, err := Cut(path, s.Task.Output.Limit, values)
	switch {
	case err != nil && values != nil:
		return []string{withhold(path, err)}
	case err != nil:
		notes = append(notes, err.Error())
	case note != "":
		notes = append(notes, note)
	}
	if own != "" { // for the output of hooks it is not said again
		notes = append(notes, s.changedFiles()...)
	}
	return notes
}

// Values returns the secrets of the run. A secret of a notification that cannot be read is left
// out: no command gets it.
func (s Source) Values() (*mask.Set, error) {
	pairs, err := s.pairs()
	if err != nil || s.Task.Unmasked {
		return nil, err
	}
	if s.Found {
		if err := s.missing(pairs); err != nil {
			return nil, err
		}
	}
	all := valuesOf(pairs)
	x := schedule.Expansion{Getenv: process.Lookup(s.Environ), Folder: s.Task.Folder,
		Taken: func(value string) { all = append(all, value) }}
	x.Expand(s.Task.OTLP)
	for _, hook := range s.Task.Hooks.All() {
		if hook.Notify != nil {
			hook.Notify.Expanded(x)
		}
	}
	return mask.New(all), nil
}

// missing returns an error if one of the named secrets is not among the variables.
func (s Source) missing(pairs []string) error {
	for _, name := range s.Task.Secrets {
		isIt := func(pair string) bool { return strings.HasPrefix(pair, name+"=") }
		if !slices.ContainsFunc(pairs, isIt) {
			return fmt.Errorf("secrets: the value of %s is not known here", name)
		}
	}
	return nil
}

// changedFiles returns a note for each env_file that has changed since the run began.
func (s Source) changedFiles() (notes []string) {
	for _, path := range s.Task.EnvFiles {
		var stat unix.Stat_t
		began := s.Row.Started
		if unix.Stat(path, &stat) == nil && !began.IsZero() && time.Unix(stat.Ctim.Unix()).Add(fileClock).After(began) {
			notes = append(notes, fmt.Sprintf("env_file %s has changed since: its values before are not masked", path))
		}
	}
	return notes
}

// fileClock is more than the clock of file systems lags behind: it counts in ticks of the kernel.
const fileClock = 20 * time.Millisecond

// pairs returns the variables of the run that are secret.
func (s Source) pairs() ([]string, error) {
	return process.Spec{Task: s.Task, CallerEnv: s.Environ, Variables: schedule.Pairs(s.Row.Params)}.Secrets()
}

// Of returns the set that masks the output of a run while it goes on; nil masks nothing. The output
// of a run that has ended is masked already. The error says why this process cannot know the
// values: then it must show nothing. isOurs says that this process has started the run: then a
// variable that is not set here has no value.
func Of(row state.Row, environ []string, isOurs bool) (*mask.Set, error) {
	if row.Outcome != "" || len(row.Snapshot) == 0 {
		return nil, nil
	}
	var task schedule.Task
	if err := json.Unmarshal(row.Snapshot, &task); err != nil {
		return nil, err
	}
	if !isOurs { // the secrets of this environment may be others
		isSecret := func(pair string) bool {
			name, _, _ := strings.Cut(pair, "=")
			return slices.Contains(task.Secrets, name)
		}
		environ = append(slices.DeleteFunc(slices.Clone(environ), isSecret), environOf(row)...)
	}
	s := Source{Task: &task, Environ: environ, Row: &row}
	pairs, err := s.pairs()
	if err == nil && !isOurs {
		if err = s.missing(pairs); err != nil && row.Attempt.PID == 0 {
			err = ErrEarly
		}
	}
	if err != nil {
		return nil, fmt.Errorf("what run %s prints is not shown before it has ended, because it cannot be masked: %w",
			row.ID, err)
	}
	return s.Values()
}

// ErrEarly says that the values may be known when the command of the run has started.
var ErrEarly = errors.New("its command has not started")

// environOf returns the environment of the command of a run that goes on, if the system shows it.
func environOf(row state.Row) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", row.Attempt.PID))
	env := strings.Split(string(text), "\x00")
	if !slices.Contains(env, "SCHED_RUN="+row.ID) { // the number is another process's by now
		return nil
	}
	return env
}

// Live returns a function that is Of for a run of a state folder: it looks up the row. Its error is
// ErrEarly before the row was written.
func Live(dir, run string, environ []string) func() (*mask.Set, error) {
	return func() (*mask.Set, error) {
		db, err := state.OpenRead(dir, state.Patience)
		if err != nil {
			return nil, err
		}
		defer db.Close()
		row, err := db.Runs().Row(context.Background(), run)
		if errors.Is(err, state.ErrNotFound) {
			return nil, ErrEarly
		}
		if err != nil {
			return nil, err
		}
		if row.Phase != state.Ended {
			row = row.WithoutOutcome()
		}
		return Of(row, environ, false)
	}
}
