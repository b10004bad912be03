package takeover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sched/schedule/install"
	"sched/schedule/statedir"
	"sched/schedule/usercrontab"
)

// A Mover moves lines between cron and a schedule.
type Mover struct {
	*Journal
	CronFolder string // where the line of the schedule is a file of its own; "" for the crontab of this user
	Backups    string // the folder for copies of that crontab

	CronRuns bool // as far as anybody knows

	Now      func() time.Time
	LastTick func() (time.Time, error) // the minute of the last tick of the schedule; zero if none came
	Say      func(format string, args ...any)
}

const (
	// lastSecond is when it is too late in a minute to change what cron reads in the next one.
	lastSecond = 45 * time.Second
	// tickPatience is how long a tick may take to come.
	tickPatience = 130 * time.Second
	poll         = 100 * time.Millisecond
)

// ErrNoTick says that no tick came.
var ErrNoTick = errors.New("no tick came")

// Take hands the lines of the journal over to the schedule: as many as are not handed over yet. It
// returns the first minute in which the schedule has them all.
func (m *Mover) Take(ctx context.Context) (from time.Time, err error) {
	if err := m.writeSchedule(); err != nil {
		return from, err
	}
	if err := m.putLine("takeover --tick"); err != nil {
		return from, err
	}
	for {
		minute, err := m.awaitOwnTick(ctx, m.Began)
		if err != nil {
			return from, err
		}
		from = minute.Add(time.Minute)
		done, err := m.markFiles(from)
		if err != nil {
			return from, err
		}
		if done {
			break
		}
	}
	if err := m.putLine(""); err != nil {
		return from, err
	}
	m.Done = true
	return from, m.save()
}

// inTime reports whether cron reads what is changed now before it starts anything of a minute.
func (m *Mover) inTime(next time.Time) bool {
	return m.Now().Before(next.Add(lastSecond - time.Minute))
}

// awaitOwnTick waits until the minute of now has its tick, so that cron has read its crontabs in
// this minute, and the minute has time left. It returns the minute.
func (m *Mover) awaitOwnTick(ctx context.Context, since time.Time) (minute time.Time, err error) {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	said := false
	for end := m.Now().Add(tickPatience); m.Now().Before(end); {
		minute = m.Now().Truncate(time.Minute)
		last, err := m.LastTick()
		isNow := err == nil && last.Equal(minute) && !last.Before(since.Truncate(time.Minute))
		if isNow && m.inTime(minute.Add(time.Minute)) {
			return minute, nil
		}
		if !said {
			said = true
			m.Say("waiting for the tick of the next minute")
		}
		select {
		case <-ctx.Done():
			return minute, ctx.Err()
		case <-ticker.C:
		}
	}
	return minute, ErrNoTick
}

// markFiles marks the lines of the files from a minute on. done is false if there was not enough
// time for all of them.
func (m *Mover) markFiles(from time.Time) (done bool, err error) {
	for _, f := range m.Files {
		old, err := f.read()
		if err != nil {
			return false, fmt.Errorf("%s: %w", f.name(), err)
		}
		text, missing := m.putMarks(old, f.Lines, from)
		if len(missing) > 0 {
			return false, fmt.Errorf("%s: %w: there is no line %q any more", f.name(), ErrChanged, missing[0].Raw)
		}
		if text == old {
			continue
		}
		if !m.inTime(from) {
			return false, nil
		}
		if err := f.replace(old, text, m.Backups, m.Now()); err != nil {
			return false, fmt.Errorf("%s: %w", f.name(), err)
		}
		if m.Now().After(from) {
			m.Say("%s took so long to change that its lines may have started twice at %s, or not at all",
				f.name(), from.Format(time.RFC3339))
		}
	}
	return true, nil
}

// GiveBack hands all lines back to cron, takes the line of the schedule out, and forgets the
// takeover. It returns what somebody has changed since, a sentence each. ranOn returns the slot of
// the last run of a task; the zero time if the task never ran.
func (m *Mover) GiveBack(ctx context.Context, ranOn func(task string) time.Time) (changed []string, err error) {
	awaitTurn := func() error { return nil }
	if m.CronRuns && m.ticks() {
		awaitTurn = func() error {
			_, err := m.awaitOwnTick(ctx, time.Time{})
			return err
		}
	}
	if err := awaitTurn(); err != nil {
		return nil, err
	}
	// Until the line is out each tick leaves alone what cron has again.
	if m.hasLine() {
		if err := m.putLine("takeover --tick"); err != nil {
			return nil, err
		}
	}
	m.Done, m.Back = false, true
	if err := m.save(); err != nil {
		return nil, err
	}
	for _, f := range m.Files {
		if err := awaitTurn(); err != nil {
			return changed, err
		}
		notes, err := m.unmark(f, ranOn)
		if err != nil {
			return changed, fmt.Errorf("%s: %w", f.name(), err)
		}
		changed = append(changed, notes...)
	}
	if err := m.removeLine(); err != nil {
		return changed, err
	}
	note, err := m.removeSchedule()
	if err != nil {
		return changed, err
	}
	if note != "" {
		changed = append(changed, note)
	}
	return changed, m.remove()
}

// ticks reports whether ticks of the schedule come.
func (m *Mover) ticks() bool {
	last, err := m.LastTick()
	return err == nil && m.Now().Sub(last) < 3*time.Minute
}

// unmark takes the marks out of a file.
func (m *Mover) unmark(f File, ranOn func(task string) time.Time) (notes []string, err error) {
	old, err := f.read()
	if errors.Is(err, os.ErrNotExist) {
		return []string{f.name() + " is gone; it stays so"}, nil
	}
	if err != nil {
		return nil, err
	}
	text, missing := m.takeMarks(old, f.Lines)
	if text != old {
		for _, line := range f.Lines {
			if err := keepStamp(line, ranOn); err != nil {
				return nil, err
			}
		}
		if err := f.replace(old, text, m.Backups, m.Now()); err != nil {
			return nil, err
		}
	}
	for _, line := range missing {
		notes = append(notes, fmt.Sprintf("%s: the line was taken out, and stays out: %s", f.name(), line.Raw))
	}
	if f.Path == "" {
		text = m.Line.RemoveFrom(text).New
	}
	if text != f.Text && len(missing) == 0 {
		notes = append(notes, "somebody has changed "+f.name()+" since; these changes stay")
	}
	return notes, nil
}

// keepStamp tells anacron when its job ran last, so that it does not run the job again today.
func keepStamp(line Line, ranOn func(task string) time.Time) error {
	if line.Stamp == "" || len(line.Tasks) == 0 {
		return nil
	}
	day := ranOn(line.Tasks[0])
	if day.IsZero() {
		return nil
	}
	old, _, err := readPlain(line.Stamp)
	stamp := day.Format("20060102") + "\n"
	if err != nil || old >= stamp {
		return nil // it knows a later run
	}
	return replaceFile(line.Stamp, old, stamp)
}

// place is the place of the line of the schedule.
func (m *Mover) place(call string) install.Place {
	line := m.Line
	line.Call = call
	return install.Place{Line: line, Name: m.Name, Folder: m.CronFolder, User: "root"}
}

// putLine writes the line of the schedule, in the place of another one.
func (m *Mover) putLine(call string) error {
	place := m.place(call)
	if m.CronFolder != "" {
		return install.FileEdit{Files: []install.File{place.CronD()}}.Apply()
	}
	crontab := usercrontab.Crontab{}
	text, exists, err := crontab.Read()
	if err != nil {
		return err
	}
	edit := place.AddTo(text, nil)
	if edit.IsNone() {
		return nil
	}
	_, err = install.Apply(crontab, edit, exists, m.Backups, m.Now())
	return err
}

func (m *Mover) hasLine() bool {
	if m.CronFolder != "" {
		return len(m.place("").Find()) > 0
	}
	text, _, err := usercrontab.Crontab{}.Read()
	return err == nil && m.Line.IsIn(text)
}

func (m *Mover) removeLine() error {
	if m.CronFolder != "" {
		for _, path := range m.place("").Find() {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
		return nil
	}
	crontab := usercrontab.Crontab{}
	text, exists, err := crontab.Read()
	if err != nil {
		return err
	}
	edit := m.Line.RemoveFrom(text)
	if edit.IsNone() {
		return nil
	}
	_, err = install.Apply(crontab, edit, exists, m.Backups, m.Now())
	return err
}

// writeSchedule writes the schedule, unless it is there.
func (m *Mover) writeSchedule() error {
	if _, err := os.Stat(m.Line.File); err == nil {
		return nil
	}
	folder := filepath.Dir(m.Line.File)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	draft := m.Line.File + ".new"
	if err := statedir.WriteSynced(draft, []byte(m.Text)); err != nil {
		return err
	}
	if !m.Secret {
		if err := os.Chmod(draft, 0o644); err != nil {
			return err
		}
	}
	if err := os.Rename(draft, m.Line.File); err != nil {
		return err
	}
	statedir.SyncDir(folder)
	return nil
}

// removeSchedule removes the schedule if nobody has edited it. Otherwise it returns what became of
// it.
func (m *Mover) removeSchedule() (note string, err error) {
	text, err := os.ReadFile(m.Line.File)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case string(text) == m.Text:
		return "", os.Remove(m.Line.File)
	}
	return m.Line.File + " was edited, and stays; no tick reads it any more:\n" + diff(m.Text, string(text)), nil
}

// diff lists the lines that only one of two texts has, in the order of the texts.
func diff(old, text string) string {
	counts := map[string]int{}
	for _, line := range strings.Split(text, "\n") {
		counts[line]++
	}
	var b strings.Builder
	for _, line := range strings.Split(old, "\n") {
		if counts[line]--; counts[line] < 0 {
			fmt.Fprintf(&b, "- %s\n", line)
		}
	}
	clear(counts)
	for _, line := range strings.Split(old, "\n") {
		counts[line]++
	}
	for _, line := range strings.Split(text, "\n") {
		if counts[line]--; counts[line] < 0 {
			fmt.Fprintf(&b, "+ %s\n", line)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
