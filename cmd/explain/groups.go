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
}

func groupsJSON(groups []*dialect.Group, at time.Time) []Group {
	all := []Group{}
	for _, g := range groups {
		one := Group{Dialects: membersOf(g), Refused: g.Refused, Days: g.Days, Differs: humanize.UTCOrNil(g.First)}
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
			days := humanize.Count(g.Days, "day")
			fmt.Fprintf(a.Out, "  differs first on %s; on %s of a year\n", moment(g.First, zone), days)
		}
		fmt.Fprintln(a.Out)
	}
}
