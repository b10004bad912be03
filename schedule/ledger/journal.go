package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/boot"
	"sched/schedule/outcome"
	"sched/schedule/statedir"
)

// A Journal is the file of a tick that has something to account for: ticks/N.json in the state
// folder, one JSON event a line, each appended with one write(2). Its first line promises an
// outcome for each slot that is due; it is locked (flock(2)) while the tick lives, and has an end
// when all of these are in the history or in the files of runs. So a journal that is neither locked
// nor ended is of a tick that was killed, or that could not write the history: a later tick keeps
// its promise.
type Journal struct {
	Promise    Promise
	Started    map[Due]bool           // the slots whose run began
	Conditions map[Due]string         // the slots whose condition commands were started, and the ids of the runs that they were to allow
	Claims     map[Due]string         // the slots that were claimed for all servers in this boot, or were about to be, and the ids of the runs
	Outcomes   map[Due]outcome.Record // of slots that have no run: skipped, or they could not begin
	Fired      map[Due]bool           // the skipped slots whose on_skip hooks have ended

	left []Due    // see Leave
	file *os.File // locked by its tick, or by the one that keeps the promise in its place
}

// A Promise says which slots a tick will account for.
type Promise struct {
	Minute time.Time `json:"minute"`
	Due    []Due     `json:"due,omitempty"`
	Gap    *Gap      `json:"gap,omitempty"`
}

// A Due is a slot, by the name of its task.
type Due struct {
	Task string    `json:"task"`
	Slot time.Time `json:"slot"` // UTC
}

// A Gap is a time in which no tick came, from Since to before To; what lies before From is not looked
// at. Tasks are those that were in the schedule all the time, with their expressions and zone.
type Gap struct {
	Since time.Time         `json:"since"`
	From  time.Time         `json:"from"`
	To    time.Time         `json:"to"`
	Tasks map[string]string `json:"tasks"`
}

// A journalEvent is one line; exactly one field is set.
type journalEvent struct {
	Tick    *Promise        `json:"tick,omitempty"`
	Started *Due            `json:"started,omitempty"`
	Fired   *Due            `json:"fired,omitempty"`
	Asked   *dueRun         `json:"guard,omitempty"`
	Claim   *dueRun         `json:"claim,omitempty"`
	Outcome *outcome.Record `json:"outcome,omitempty"`
	Taken   *takenOver      `json:"taken,omitempty"`
}

// A dueRun is a slot, and the id of the run that is to begin for it.
type dueRun struct {
	Due
	Run  string `json:"run"`
	Boot string `json:"boot,omitempty"` // of a claim: see boot.ID
}

// A takenOver says that a later tick keeps the promise of this journal, but for the slots that it leaves to others.
type takenOver struct {
	Left []Due `json:"left"`
}

func ticksDir(state string) string { return filepath.Join(state, "ticks") }

// BeginJournal writes a promise into a new journal, and keeps it locked.
func BeginJournal(state string, p Promise) (*Journal, error) {
	if err := os.Mkdir(ticksDir(state), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	for n := 0; ; n++ {
		file, err := statedir.OpenLocked(filepath.Join(ticksDir(state), strconv.Itoa(n)+".json"), os.O_RDWR|os.O_APPEND|os.O_CREATE)
		var wrong *statedir.NotPlainError
		if errors.Is(err, statedir.ErrLocked) || errors.As(err, &wrong) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !isEmpty(file) {
			file.Close()
			continue
		}
		j := &Journal{Promise: p, file: file}
		if err := j.append(journalEvent{Tick: &p}); err != nil {
			j.End()
			return nil, err
		}
		return j, nil
	}
}

// ReadJournals returns the journals of dead ticks, those that are neither locked nor ended, and keeps them locked; and what
// live ticks promise: in their own journals, and in those of dead ticks that they keep. The error is about journals that cannot be read; the others are returned all the same.
func ReadJournals(state string) (dead []*Journal, live []Promise, err error) {
	entries, err := os.ReadDir(ticksDir(state))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	var problems []error
	for _, entry := range entries {
		path := filepath.Join(ticksDir(state), entry.Name())
		if !strings.HasSuffix(path, ".json") {
			continue
		}
		file, err := statedir.OpenLocked(path, os.O_RDWR|os.O_APPEND)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case errors.Is(err, statedir.ErrLocked):
			if j, err := peekJournal(path); err == nil {
				live = append(live, j.kept())
			}
		case err != nil:
			problems = append(problems, err)
		case isEmpty(file):
			file.Close()
		default:
			j, err := readJournal(file)
			if err != nil {
				file.Close()
				problems = append(problems, err)
				continue
			}
			dead = append(dead, j)
		}
	}
	return dead, live, errors.Join(problems...)
}

// isEmpty reports whether nothing was promised in the file.
func isEmpty(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Size() == 0
}

func peekJournal(path string) (*Journal, error) {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readJournal(file)
}

// readJournal reads what a tick wrote. A torn line is what a kill or a full disk left:
// it says nothing, and a torn first line promises nothing.
func readJournal(file *os.File) (*Journal, error) {
	text, err := statedir.ReadAll(file)
	if err != nil {
		return nil, err
	}
	j := &Journal{Started: map[Due]bool{}, Conditions: map[Due]string{}, Claims: map[Due]string{}, Outcomes: map[Due]outcome.Record{}, Fired: map[Due]bool{}, file: file}
	for line := range bytes.Lines(text) {
		var e journalEvent
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		switch {
		case e.Tick != nil:
			j.Promise = *e.Tick
		case e.Started != nil:
			j.Started[*e.Started] = true
		case e.Asked != nil:
			j.Conditions[e.Asked.Due] = e.Asked.Run
		case e.Claim != nil && e.Claim.Boot == boot.ID():
			j.Claims[e.Claim.Due] = e.Claim.Run
		case e.Outcome != nil:
			j.Outcomes[Due{e.Outcome.Task, e.Outcome.Slot}] = *e.Outcome
		case e.Fired != nil:
			j.Fired[*e.Fired] = true
		case e.Taken != nil:
			j.left = e.Taken.Left
		}
	}
	return j, nil
}

// Start writes down that the run of a slot began: from here on it has a file of its own. On a nil journal, of a tick that
// needs none, this and the methods below do nothing.
func (j *Journal) Start(task string, slot time.Time) {
	if j != nil {
		j.append(journalEvent{Started: &Due{task, slot.UTC()}}) // best effort: the row of the run accounts for it, too
	}
}

// Condition writes down that the condition commands of a slot are about to run, for a run with this id, which their processes have
// in their environment.
func (j *Journal) Condition(task string, slot time.Time, run string) {
	if j != nil {
		j.append(journalEvent{Asked: &dueRun{Due: Due{task, slot.UTC()}, Run: run}})
	}
}

// Claim writes down that a slot is about to be claimed for all servers, by a run with this id.
func (j *Journal) Claim(task string, slot time.Time, run string) {
	if j != nil {
		j.append(journalEvent{Claim: &dueRun{Due{task, slot.UTC()}, run, boot.ID()}})
	}
}

// HooksFired writes down that the on_skip hooks of a slot have ended, and what is to be noted of them.
func (j *Journal) HooksFired(r outcome.Record) {
	if j != nil && r.Origin == "" {
		if len(r.Notes) > 0 {
			j.Settle(r)
		}
		j.append(journalEvent{Fired: &Due{r.Task, r.Slot.UTC()}})
	}
}

// Settle writes down the outcome of a slot that has no run. A request has no slot, so it is left out.
func (j *Journal) Settle(r outcome.Record) {
	if j != nil && r.Origin == "" {
		j.append(journalEvent{Outcome: &r})
	}
}

// Leave writes down which slots of a dead tick's promise this tick does not account for, since a live one does or since they are
// yet to come. Without that others would take them for promised as long as this process lives.
func (j *Journal) Leave(slots []Due) {
	if len(slots)+len(j.left) > 0 {
		j.append(journalEvent{Taken: &takenOver{slots}})
	}
}

// kept returns the part of the promise that the tick keeps which has the journal locked. A minute of which it leaves a slot to others
// is covered by nobody: the promise has none then, so that a tick which comes after that minute looks for the slot.
func (j *Journal) kept() Promise {
	p := j.Promise
	if len(j.left) > 0 {
		p.Minute = time.Time{}
	}
	p.Due = slices.DeleteFunc(slices.Clone(p.Due), func(due Due) bool { return slices.Contains(j.left, due) })
	return p
}

// eachOpenCondition calls end with the run for each slot whose condition commands were started and that has no
// outcome: their exit codes change nothing any more
// (docs/internals/decisions.md#conditions-of-a-killed-tick-are-ended-by-the-next).
func (j *Journal) eachOpenCondition(end func(run string)) {
	for due, run := range j.Conditions {
		if _, settled := j.Outcomes[due]; !settled && !j.Started[due] {
			end(run)
		}
	}
}

// Interrupted reports whether the tick was killed before all it promised was begun or had an outcome.
func (j *Journal) Interrupted() bool {
	return slices.ContainsFunc(j.Promise.Due, func(due Due) bool {
		_, settled := j.Outcomes[due]
		return !settled && !j.Started[due]
	})
}

// End removes the journal: its promise is kept.
func (j *Journal) End() {
	if j == nil {
		return
	}
	os.Remove(j.file.Name())
	j.file.Close()
}

// Close unlocks the journal, and leaves it to a later tick.
func (j *Journal) Close() {
	if j != nil {
		j.file.Close()
	}
}

func (j *Journal) append(e journalEvent) error { return statedir.AppendLine(j.file, e) }
