package dialect

import (
	"slices"
	"time"
)

// A Group is the dialects to which an expression means the same; or one that refuses it.
type Group struct {
	Members []*Dialect
	Reading *Reading  // nil: they refuse it
	Refused string    // why
	First   time.Time // the first instant at which it differs from the first group
	Days    int       // on how many days of a year it does
}

// groupYears is how far ahead readings are compared.
const groupYears = 4

// Groups says who means what by an expression: the largest group first, the refusals last.
func Groups(expr string, zone *time.Location, from time.Time) (groups []*Group) {
	var refused []*Group
next:
	for _, d := range programs() {
		r, err := d.Parse(expr, zone)
		if err != nil {
			i := slices.IndexFunc(refused, func(g *Group) bool { return g.Refused == err.Error() })
			if i < 0 {
				i = len(refused)
				refused = append(refused, &Group{Refused: err.Error()})
			}
			refused[i].Members = append(refused[i].Members, d)
			continue
		}
		for _, g := range groups {
			if _, differ := Differ(g.Reading, r, from, from.AddDate(groupYears, 0, 0)); !differ {
				g.Members = append(g.Members, d)
				continue next
			}
		}
		groups = append(groups, &Group{Members: []*Dialect{d}, Reading: r})
	}
	slices.SortStableFunc(groups, func(a, b *Group) int { return len(b.Members) - len(a.Members) })
	for _, g := range groups[min(1, len(groups)):] {
		g.First, _ = Differ(groups[0].Reading, g.Reading, from, from.AddDate(groupYears, 0, 0))
		g.Days = DaysThatDiffer(groups[0].Reading, g.Reading, from, from.AddDate(1, 0, 0))
	}
	return append(groups, refused...)
}
