package explain

import (
	"fmt"
	"strings"
	"time"

	"sched/cmd/app"
	"sched/schedule/dialect"
	"sched/schedule/humanize"
)

// A Group is the programs to which an expression means the same: an object of explain --dialects
// --json.
type Group struct {
	Dialects []string           `json:"dialects"`
	Refused  string             `json:"refused"`
	Words    string             `json:"words"`
	Next     *humanize.JSONTime `json:"next"`
	Differs  *humanize.JSONTime `json:"differs"`
	Days     int                `json:"days"`
	Until    *humanize.JSONTime `json:"until,omitempty"`
}

func groupsJSON(groups []*dialect.Group, at time.Time) []Group {
	all := []Group{}
	for _, g := range groups {
		one := Group{Dialects: membersOf(g), Refused: g.Refused, Days: g.Days, Differs: humanize.UTCOrNil(g.First),
			Until: humanize.UTCOrNil(g.GaveUp)}
		if g.AtStart {
			one.Refused, one.Words = "", dialect.AtStart
		}
		if g.Reading != nil {
			one.Words = dialect.Words(g.Reading)
			if next, ok := g.Reading.Next(at); ok {
				one.Next = humanize.UTCOrNil(next)
			}
		}
		all = append(all, one)
	}
	return all
}

func membersOf(g *dialect.Group) (names []string) {
	for _, d := range g.Members {
		names = append(names, d.Name)
	}
	return names
}

func printGroups(a *app.App, groups []*dialect.Group, at time.Time, zone *time.Location) {
	for i, g := range groups {
		members := strings.Join(membersOf(g), ", ")
		if g.AtStart {
			fmt.Fprintf(a.Out, "%s\n  %s\n\n", members, dialect.AtStart)
			continue
		}
		if g.Reading == nil {
			fmt.Fprintf(a.Out, "%s: refused: %s\n", members, g.Refused)
			continue
		}
		fmt.Fprintf(a.Out, "%s\n  %s\n", members, dialect.Words(g.Reading))
		next, ok := g.Reading.Next(at)
		if ok {
			fmt.Fprintf(a.Out, "  next: %s\n", moment(next, zone))
		} else {
			fmt.Fprintln(a.Out, "  never")
		}
		if i > 0 {
			fmt.Fprintf(a.Out, "  %s\n", difference(g, zone))
		}
		fmt.Fprintln(a.Out)
	}
}

// difference says how a group differs from the first one.
func difference(g *dialect.Group, zone *time.Location) string {
	days := humanize.Count(g.Days, "day")
	switch {
	case g.First.IsZero():
		return "no difference until " + moment(g.GaveUp, zone) + ", as far as was compared"
	case !g.GaveUp.IsZero():
		return fmt.Sprintf("differs first on %s; on %s until %s", moment(g.First, zone), days, moment(g.GaveUp, zone))
	}
	return fmt.Sprintf("differs first on %s; on %s of a year", moment(g.First, zone), days)
}
