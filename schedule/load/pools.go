package load

import (
	"slices"

	"sched/schedule"
	"sched/schedule/yamldoc"
)

// mostSeats bounds a pool, because a run that looks for a free seat looks at each seat.
const mostSeats = 1000

// setPools reads the pools of the file: how many runs each lets go on at once.
func setPools(l *loader, s *settings, n *node) {
	if !l.RequireMapping(n, l.Key) {
		return
	}
	first := map[string]*node{}
	for name, value := range n.Pairs() {
		l.Key = "pools"
		if !name.IsScalar() {
			l.Problemf(name, "", "a key must be text, not %s", name.Describe())
			continue
		}
		if before := first[name.Value]; before != nil {
			l.Problemf(name, "", "pools: %s is given twice, first at line %d", yamldoc.Quote(name.Value), l.PlaceOf(before).Line)
			continue
		}
		first[name.Value] = name
		pool := schedule.Pool{Name: name.Value, Seats: 1} // known whatever is wrong with its limit, so that no task is refused for it, too
		if requireName(l.Reader, name, name.Value) {
			l.Key = "pools." + yamldoc.Shorten(name.Value)
			if seats, ok := l.Integer(value, 1, mostSeats); ok {
				pool.Seats = seats
			}
		}
		s.Pools, s.pools = append(s.Pools, pool), append(s.pools, name)
	}
	l.Key = "pools"
}

// warnOfUnusedPools warns of pools that limit nothing.
func (l *loader) warnOfUnusedPools(names []*node) {
	for i, pool := range l.schedule.Pools {
		if !slices.ContainsFunc(l.schedule.Tasks, func(t *schedule.Task) bool { return t.Pool.Name == pool.Name }) {
			l.Warnf(names[i], "add `pool: "+yamldoc.Shorten(pool.Name)+"` to the tasks that it is for", "no task has the pool %s", yamldoc.Quote(pool.Name))
		}
	}
}

// readPool reads the name of a pool, which the top of the file must have.
func readPool(l *loader, n *node) (schedule.Pool, bool) {
	text, ok := readName(l.Reader, n)
	if !ok {
		return schedule.Pool{}, false
	}
	i := slices.IndexFunc(l.schedule.Pools, func(p schedule.Pool) bool { return p.Name == text })
	if i >= 0 {
		return l.schedule.Pools[i], true
	}
	var names []string
	for _, pool := range l.schedule.Pools {
		names = append(names, pool.Name)
	}
	hint := yamldoc.DidYouMean(l.Nearest(text, names))
	if hint == "" {
		hint = "add `pools: {" + yamldoc.Shorten(text) + ": 1}` at the top of the file, with how many of its runs may go on at once"
	}
	l.Problemf(n, hint, "pool %s is none of the pools of the file", yamldoc.Quote(text))
	return schedule.Pool{}, false
}
