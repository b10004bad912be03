package load

import (
	"strings"

	"sched/schedule"
)

// setAssertions reads the assertions of the file. Whether they hold is for sched check.
func setAssertions(l *loader, s *settings, n *node) {
	n.Each(func(item *node) bool {
		text, ok := l.NonEmptyText(item)
		if !ok {
			return false
		}
		assertion, err := schedule.ParseAssertion(text, l.PlaceOf(item))
		if err != nil {
			l.Problemf(item, "write one like these: "+strings.Join(schedule.AssertionForms(), "; "), "%s", err)
			return false
		}
		s.Assertions = append(s.Assertions, assertion)
		return true
	})
}
