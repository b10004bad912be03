// Package evidence collects what a run is judged by (package judge): its report, its output, the
// files that it had to leave, the successes before it, and what was spent of its budgets. The same
// code does so for runs in the foreground and in the background, for runs that another process has
// taken over, and for runs that a person finishes.
package evidence

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/judge"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/process"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// An End is the end of the command of a run, with an exit code.
type End struct {
	Known  Known
	Task   *schedule.Task
	Code   int
	Stderr Stderr

	// Quote returns a line that was printed as the history may have it: without secrets.
	Quote func(line string) string
}

// Stderr says whether the command has printed to stderr.
type Stderr int

const (
	Unknown Stderr = iota // the process that knew it was killed, or nobody asked
	Silent
	Printed
)

// Judge sets the outcome of a command that ended by itself with the exit code. The result has the
// values that were reported.
func (e End) Judge(result *state.Row) {
	rules, task := e.Task.Judge, e.Task
	facts := judge.Facts{Values: result.Values, Stderr: e.Stderr == Printed, Now: clock.Now()}
	switch {
	case slices.Contains(task.SuccessCodes, e.Code):
	case slices.Contains(task.WarnCodes, e.Code):
		facts.Warnings = []string{fmt.Sprintf("exit code %d", e.Code)}
	default:
		facts.Exit = process.ExitText(e.Code)
		if result.Output != "" && statedir.IsFull(filepath.Dir(result.Output)) {
			facts.Exit += "; the disk of its output is full" // a command fails that cannot print
		}
	}
	if !rules.IsEmpty() {
		result.Notes = append(result.Notes, e.collect(&facts, *result)...)
	}
	verdict := judge.Judge(rules, facts)
	result.Outcome, result.Kind, result.Reason = verdict.Outcome, verdict.Kind, verdict.Reason
	result.Notes = append(result.Notes, verdict.Notes...)
}

// collect adds the facts that are not in the result, and returns notes about what cannot be known.
func (e End) collect(facts *judge.Facts, result state.Row) (notes []string) {
	rules, ctx := e.Task.Judge, context.Background()
	note := func(format string, a ...any) { notes = append(notes, fmt.Sprintf(format, a...)) }
	if rules.WatchesStderr() && e.Stderr == Unknown {
		note("whether it printed to stderr is not known: the process that watched it was killed")
	}
	if rules.ReadsOutput() {
		var err error
		facts.FailsBy, facts.WarnsBy, err = matches(rules, result, e.Task.Output.Limit)
		facts.FailsBy, facts.WarnsBy = e.quoted(facts.FailsBy), e.quoted(facts.WarnsBy)
		if err != nil {
			note("its output cannot be judged: %v", err)
		}
	}
	facts.Printed = printed(rules, result)
	for _, file := range rules.Require {
		is := stateOf(file, result.Started, os.Geteuid() == 0 && e.Task.As.User != "")
		if is.Name = file.Path; strings.HasPrefix(file.Path, e.Task.Folder+"/") {
			is.Name = strings.TrimPrefix(file.Path, e.Task.Folder+"/")
		}
		facts.Required = append(facts.Required, is)
	}
	facts.Usual, facts.Spent = map[string][]float64{}, map[string][]judge.Spending{}
	for _, v := range rules.Values {
		if v.Usual > 0 {
			before, err := e.Known.DB.Runs().UsualValues(ctx, result.Task, v.Name, result.ID)
			if err != nil {
				note("what is usual for %s is not known: %v", v.Name, err)
			}
			facts.Usual[v.Name] = before
		}
	}
	spent, err := e.Known.Spent(ctx, e.Task)
	if err != nil {
		note("what other servers have spent is not known: %v", err)
	}
	for name, all := range spent {
		facts.Spent[name] = slices.DeleteFunc(all, func(s judge.Spending) bool { // this attempt, judged again
			return s.Run == result.ID && s.Attempt == result.Attempt.Number
		})
	}
	return notes
}

// maxPrinted is how much of the end of an output is searched for values that were not reported.
const maxPrinted = 64 << 10

// printed returns the names of values that were not reported, and that the end of the output has as
// NAME=….
func printed(rules judge.Rules, result state.Row) map[string]bool {
	names := map[string]bool{}
	for _, v := range rules.Values {
		if _, reported := result.Values[v.Name]; !reported {
			names[v.Name] = false
		}
	}
	if len(names) == 0 || result.Output == "" {
		return nil
	}
	tail, _ := output.Tail(result.Output, maxPrinted)
	for line := range strings.Lines(string(tail)) {
		name, _, found := strings.Cut(line, "=")
		if _, lacks := names[name]; found && lacks {
			names[name] = true
		}
	}
	return names
}

// maxJudged is how much of an output is judged at most, its first and its last part: what a person
// would be shown.
const maxJudged = 64 << 20

// maxLine is how much of one line is judged.
const maxLine = 64 << 10

// matches returns the first lines of the last attempt that fail_if and warn_if ask for.
func matches(rules judge.Rules, result state.Row, limit int64) (fails, warns string, err error) {
	if result.Output == "" {
		return "", "", nil
	}
	kept, err := output.OpenKept(result.Output, min(limit, maxJudged))
	if os.IsNotExist(err) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	defer kept.Close()
	failIf, warnIf := rules.FailIf.Pattern(), rules.WarnIf.Pattern()
	begins, isOurs := output.AttemptLine(result.Attempt.Number), result.Attempt.Number < 2
	judgeLine := func(line string) {
		if !isOurs && line+"\n" == begins { // what came before is of earlier attempts
			fails, warns, isOurs = "", "", true
		}
		look(failIf, line, &fails)
		look(warnIf, line, &warns)
	}
	err = eachLine(kept.Head, judgeLine)
	if kept.Tail == nil || err != nil {
		return fails, warns, err
	}
	if !isOurs { // the line is in the part that is not kept, or comes in the last part
		fails, warns = "", ""
	}
	isFirst := true // of the last part: the end of the line that was cut
	return fails, warns, eachLine(kept.Tail, func(line string) {
		if !isFirst {
			judgeLine(line)
		}
		isFirst = false
	})
}

// quoted returns a line as people read it, and not more of it than they need.
func (e End) quoted(line string) string {
	if line == "" {
		return ""
	}
	const most = 200
	text := []rune(humanize.Line(humanize.Plain(e.Quote(line))))
	if len(text) > most {
		text = append(text[:most], '…')
	}
	return string(text)
}

// look notes the line if it is the first that matches.
func look(pattern *regexp.Regexp, line string, first *string) {
	if pattern != nil && *first == "" && pattern.MatchString(line) {
		*first = line
	}
}

// eachLine calls what for each line without its end. Of a line that is too long it gives the
// beginning.
func eachLine(from io.Reader, what func(line string)) error {
	lines := bufio.NewReaderSize(from, maxLine)
	for {
		line, isPrefix, err := lines.ReadLine()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		what(string(line))
		for isPrefix && err == nil {
			_, isPrefix, err = lines.ReadLine()
		}
	}
}

// clockSlack is by how much the time of a new file may lie before the start of its run: file
// systems count in steps.
const clockSlack = 2 * time.Second

// statPatience is how long a file system may take to say what is there.
const statPatience = 10 * time.Second

// stateOf looks at a required file of a run that began then. If wary, it follows no links of other
// users than root.
func stateOf(file judge.File, began time.Time, wary bool) judge.FileState {
	answer := make(chan judge.FileState, 1)
	go func() { answer <- stat(file, began, wary) }()
	select {
	case is := <-answer:
		return is
	case <-time.After(statPatience):
		return judge.FileState{Error: fmt.Sprintf("its file system has not answered for %s", statPatience)}
	}
}

// stat looks at a required file. Of several files that match a pattern a new one counts more, and
// then the largest.
func stat(file judge.File, began time.Time, wary bool) (best judge.FileState) {
	paths := []string{file.Path}
	if matching, err := filepath.Glob(file.Path); err == nil && len(matching) > 0 {
		paths = matching
	}
	for _, path := range paths {
		if wary && behindForeignLink(path) {
			best.Error = "it stands behind a link of another user, which root does not follow"
			continue
		}
		info, err := os.Stat(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			best.Error = humanize.WithoutPath(err).Error()
			continue
		}
		is := judge.FileState{Found: true, IsNew: !info.ModTime().Before(began.Add(-clockSlack)), Size: info.Size()}
		if !best.Found || is.IsNew && !best.IsNew || is.IsNew == best.IsNew && is.Size > best.Size {
			best = is
		}
	}
	return best
}

// behindForeignLink reports whether a path leads through a link of another user than root, who
// could learn by it what files of root there are.
func behindForeignLink(path string) bool {
	for ; path != "/"; path = filepath.Dir(path) {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		if status, ok := info.Sys().(*syscall.Stat_t); !ok || status.Uid != 0 {
			return true
		}
	}
	return false
}

// SetBudgetSpent sets that a run does not begin, because a budget of its task is spent, and reports
// whether that is so.
func SetBudgetSpent(known Known, task *schedule.Task, zone *time.Location, result *state.Row) bool {
	if len(task.Judge.Budgets()) == 0 {
		return false
	}
	if known.DB.InMemory() {
		result.Notes = append(result.Notes,
			"what is left of its budget is not known: the state folder cannot be written")
		return false
	}
	spent, err := known.Spent(context.Background(), task)
	result.Reason = judge.Refusal(task.Judge, spent, clock.Now(), zone)
	result.Kind = outcome.Budget
	if result.Reason == "" && err != nil && !task.RunWhenStoreDown {
		result.Kind, result.Reason = outcome.StoreDown, fmt.Sprintf("nobody knows what is left of its budget: %v", err)
	}
	if result.Reason == "" {
		result.Kind = ""
		return false
	}
	result.Outcome = outcome.Skipped
	return true
}
