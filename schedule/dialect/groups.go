package dialect

import (
	"slices"
	"time"
)

// A Group is the dialects to which an expression means the same; or one that refuses it. A reading
// that could not be compared to the end has a group of its own.
type Group struct {
	Members []*Dialect
	Reading *Reading  // nil: they refuse it
	Refused string    // why
	AtStart bool      // they do not refuse it: they take it when they start, and at no time of the clock
	First   time.Time // the first instant at which it differs from the first group; zero: none was found
	Days    int       // on how many days of a year it does
	GaveUp  time.Time // First and Days say nothing about the time from here on; zero: they say all
}

// groupYears is how far ahead readings are compared.
const groupYears = 4

// Groups says who means what by an expression: the largest group first, the refusals last. given
// and machine are as in Zone.
func Groups(expr string, given, machine *time.Location, from time.Time) (groups []*Group) {
	var refused []*Group
	until := from.AddDate(groupYears, 0, 0)
next:
	for _, d := range programs() {
		r, err := d.Parse(expr, d.Zone(given, machine))
		if err != nil {
			i := slices.IndexFunc(refused, func(g *Group) bool { return g.Refused == err.Error() })
			if i < 0 {
				i = len(refused)
				refused = append(refused, &Group{Refused: err.Error(), AtStart: IsAtStart(err)})
			}
			refused[i].Members = append(refused[i].Members, d)
			continue
		}
		for _, g := range groups {
			if Differ(g.Reading, r, from, until).Same() {
				g.Members = append(g.Members, d)
				continue next
			}
		}
		groups = append(groups, &Group{Members: []*Dialect{d}, Reading: r})
	}
	slices.SortStableFunc(groups, func(a, b *Group) int { return len(b.Members) - len(a.Members) })
	for _, g := range groups[min(1, len(groups)):] {
		g.setDifference(groups[0].Reading, from, until)
	}
	return append(groups, refused...)
}

// setDifference compares the group with the reading of the first one.
func (g *Group) setDifference(first *Reading, from, until time.Time) {
	d := Differ(first, g.Reading, from, until)
	year := CountDays(first, g.Reading, from, from.AddDate(1, 0, 0))
	g.First, g.Days = d.First, year.Days
	if g.GaveUp = year.GaveUp; g.First.IsZero() {
		g.GaveUp = d.GaveUp
	}
}
