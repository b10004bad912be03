package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule/cron"
	"sched/schedule/dialect"
	"sched/schedule/every"
	"sched/schedule/humanize"
)

// Explained is what an expression means: the object of explain --json.
type Explained struct {
	Expression string              `json:"expression"`
	Dialect    string              `json:"dialect"`
	Timezone   string              `json:"timezone"`
	Words      []string            `json:"words"`
	Notes      []string            `json:"notes"`
	Due        *bool               `json:"due,omitempty"`
	Why        []string            `json:"why,omitempty"`
	Next       []humanize.JSONTime `json:"next"`
	Changes    []Change            `json:"changes"`
	Line       *string             `json:"line,omitempty"`
	NoLine     string              `json:"no_line,omitempty"`
	Differs    *humanize.JSONTime  `json:"differs,omitempty"`

	program  string
	at       time.Time
	zone     *time.Location
	line     dialect.Line
	whose    string // says behind the zone where it comes from; may be empty
	timeless bool   // it is due at no times that a clock knows
	others   bool   // to other programs it means something else in the same zone

	sameUntil time.Time // how far the line was compared; zero: it was not
	ends      bool      // the line ends before that, so all was compared
}

// A Change is a change of the clocks that touches the times.
type Change struct {
	At   humanize.JSONTime `json:"at"`
	From string            `json:"from"`
	To   string            `json:"to"`
	Says string            `json:"says"`
}

const (
	timesShown   = 5
	changesYears = 1
	linesYears   = 28 // after which the calendar repeats
)

// ours explains an expression as a task has it: a value of cron: or of every:.
func ours(text string, zone *time.Location, at time.Time, asked bool) (Explained, error) {
	if zone == nil {
		zone = app.LocalZone()
	}
	e := Explained{Expression: text, Dialect: "sched", program: "sched", at: at, zone: zone, Notes: []string{}}
	when := cron.When{Location: zone}
	if words := withoutTimes(text); words != "" {
		e.Words, e.timeless = []string{words}, true
		e.fill(when.Next)
		return e, nil
	}
	c, err := cron.Parse(text, "")
	if err == nil {
		when.Crons = []cron.Expression{c}
	} else if words, other := every.Parse(text); other == nil {
		when.Crons = words
		if len(words) > 1 {
			words := strings.Join(strings.Fields(text), " ")
			if first, _, _ := strings.Cut(words, " "); !strings.EqualFold(first, "every") {
				words = "every " + words
			}
			e.Words = []string{words}
		}
	} else {
		return e, refused(text, err, other)
	}
	if err == nil && text[0] != '@' && hash().MatchString(text) {
		e.Notes = append(e.Notes, "H is a number that sched makes of the name of a task")
	}
	ours, _ := dialect.Find("sched")
	for _, c := range when.Crons {
		words := c.String()
		if r, err := ours.Parse(words, zone); err == nil {
			words = dialect.Words(r)
			e.addChanges(r)
		}
		e.Words = append(e.Words, words)
	}
	e.fill(when.Next)
	if asked {
		explanation := when.Explain(at)
		due := len(explanation.Slots) > 0
		e.Due = &due
		for _, v := range explanation.Verdicts {
			e.Why = append(e.Why, v.Why())
		}
	}
	if len(when.Crons) == 1 {
		e.others = slices.ContainsFunc(dialect.Groups(text, zone, zone, at), func(g *dialect.Group) bool {
			return !g.First.IsZero() && g.Reading.Location.String() == zone.String()
		})
	}
	return e, nil
}

// withoutTimes says what a value of cron: or of every: means that has no times; "" for any other.
func withoutTimes(text string) string {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "boot", cron.AtBoot:
		return "once after each boot of the machine, with the first tick"
	case cron.ByHand:
		return "never by itself: people start it, or another task does"
	}
	return ""
}

// hash finds an H that is no letter of a name such as THU.
var hash = humanize.Pattern(`(?i)\bH\b`)

// word finds a word that is no name of a month or a weekday.
var word = humanize.Pattern(`(?i)[a-z]{4,}`)

// refused is the error about an expression that sched refuses. ofCron and ofEvery are the errors
// about it as a value of the two keys.
func refused(text string, ofCron, ofEvery error) error {
	err := ofCron
	if word().MatchString(text) && !strings.ContainsAny(text, "@*?(=") {
		err = ofEvery
	}
	hint := ""
	if e, ok := err.(*cron.Error); ok {
		hint = e.Hint
	}
	var readers []string
	for _, d := range dialect.All() {
		if _, err := d.Parse(text, nil); err == nil {
			readers = append(readers, d.Name)
		}
	}
	if readers != nil {
		hint = strings.TrimPrefix(hint+"; --as says what it means to "+humanize.Or(readers), "; ")
	}
	return exit.Usage(hint, "%w", err)
}

// theirs explains an expression as another program reads it.
func theirs(d *dialect.Dialect, text string, zone *time.Location, at time.Time, asked bool) (Explained, error) {
	e := Explained{Expression: text, Dialect: d.Name, program: d.Program, at: at}
	r, err := d.Parse(text, d.Zone(zone, app.LocalZone()))
	if dialect.IsAtStart(err) {
		e.Words, e.timeless, e.zone = []string{dialect.AtStart}, true, app.LocalZone()
		e.Notes = append(e.Notes, "in a schedule.yaml `every: boot` is due "+withoutTimes(cron.AtBoot))
		if d.Name == "sched" {
			e.Words, e.Notes = []string{withoutTimes(cron.AtBoot)}, []string{}
		}
		e.fill(func(time.Time) (next time.Time, ok bool) { return next, false })
		return e, nil
	}
	if err != nil {
		return e, exit.Usage("", "%s refuses it: %w", d.Program, err)
	}
	e.zone = r.Location
	e.Words, e.Notes = []string{dialect.Words(r)}, append([]string{}, r.Notes...)
	e.addChanges(r)
	e.fill(r.Next)
	if asked {
		minute := at.Truncate(time.Minute)
		_, due := dialect.Within(r, minute, minute.Add(time.Minute))
		e.Due = &due
	}
	if d.Name == "sched" {
		return e, nil
	}
	if e.line, err = r.Line(); err != nil {
		e.NoLine = err.Error()
		return e, nil
	}
	line := e.line.String()
	e.Line = &line
	e.compare(r)
	return e, nil
}

// compare looks for the first instant at which the line differs from the reading, if no note says
// that they differ. Both are compared for linesYears, from the day on which the line begins.
func (e *Explained) compare(r *dialect.Reading) {
	mine, err := dialect.ReadLine(e.line, r.Location)
	if len(e.line.Notes) > 0 || err != nil {
		return
	}
	from := e.at
	if first, err := time.ParseInLocation(time.DateOnly, e.line.From, r.Location); err == nil && first.After(from) {
		from = first
	}
	e.sameUntil = from.AddDate(linesYears, 0, 0)
	until := e.sameUntil
	if last, err := time.ParseInLocation(time.DateOnly, e.line.Until, r.Location); err == nil && !last.After(until) {
		until, e.ends = last, true
	}
	found := dialect.Differ(r, mine, from, until)
	if e.Differs = humanize.UTCOrNil(found.First); !found.GaveUp.IsZero() {
		e.sameUntil, e.ends = found.GaveUp, false
	}
}

// addChanges adds the changes of the clocks in the next year that touch the reading.
func (e *Explained) addChanges(r *dialect.Reading) {
	for _, c := range dialect.Changes(r, e.at, e.at.AddDate(changesYears, 0, 0)) {
		e.Changes = append(e.Changes, Change{humanize.UTC(c.At), c.From, c.To, c.Text})
	}
}

// fill adds the next times.
func (e *Explained) fill(next func(time.Time) (time.Time, bool)) {
	e.Timezone, e.Next = e.zone.String(), []humanize.JSONTime{}
	if e.Changes == nil {
		e.Changes = []Change{}
	}
	for at, ok := next(e.at); ok && len(e.Next) < timesShown; at, ok = next(at) {
		e.Next = append(e.Next, humanize.UTC(at))
	}
}

func (e *Explained) print(a *app.App) {
	out := a.Out
	for _, words := range e.Words {
		fmt.Fprintln(out, words)
	}
	for _, note := range e.Notes {
		fmt.Fprintf(out, "note: %s\n", note)
	}
	if e.timeless {
		return
	}
	switch {
	case e.Due == nil:
	case *e.Due:
		fmt.Fprintf(out, "\n%s: due%s\n", humanize.MinuteZone(e.at, e.zone), because(e.Why))
	default:
		fmt.Fprintf(out, "\n%s: not due%s\n", humanize.MinuteZone(e.at, e.zone), because(e.Why))
	}
	fmt.Fprintf(out, "\nnext, in %s%s:\n", e.zone, e.whose)
	for _, at := range e.Next {
		fmt.Fprintf(out, "  %s\n", moment(at.Time, e.zone))
	}
	if len(e.Next) == 0 {
		fmt.Fprintln(out, "  never again")
	}
	if len(e.Changes) > 0 {
		fmt.Fprintln(out, "\nwhen the clocks change:")
	}
	for _, c := range e.Changes {
		fmt.Fprintf(out, "  %s %s → %s: %s\n", c.At.In(e.zone).Format("Mon 2006-01-02"), c.From, c.To, c.Says)
	}
	switch {
	case e.NoLine != "":
		fmt.Fprintf(out, "\nno line of a schedule.yaml means the same: %s\n", e.NoLine)
	case e.Line != nil:
		fmt.Fprintf(out, "\nin a schedule.yaml:\n  %s\n", strings.Join(e.line.Keys(), "\n  "))
		fmt.Fprintln(out, e.proof())
	case e.others:
		fmt.Fprintf(out, "\nother programs read it in another way: sched explain --dialects '%s'\n",
			humanize.Line(e.Expression))
	}
}

// proof says how far the line means the same.
func (e *Explained) proof() string {
	switch {
	case len(e.line.Notes) > 0:
		return "(" + strings.Join(e.line.Notes, "; ") + ")"
	case e.Differs != nil:
		return "(it differs at changes of the clocks, first on " + moment(e.Differs.Time, e.zone) + ")"
	case e.sameUntil.IsZero():
		return "(not compared)"
	case e.ends:
		return "(the same)"
	}
	return fmt.Sprintf("(the same until %d)", e.sameUntil.In(e.zone).Year())
}

func because(why []string) string {
	if len(why) == 0 {
		return ""
	}
	return ": " + strings.Join(slices.Compact(why), "; ")
}

// moment writes an instant with its weekday.
func moment(at time.Time, zone *time.Location) string {
	at = at.In(zone)
	if at.Second() != 0 {
		return at.Format("Mon ") + humanize.SecondZone(at, zone)
	}
	return at.Format("Mon ") + humanize.MinuteZone(at, zone)
}
