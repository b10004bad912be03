package load

import (
	"math"
	"time"

	"sched/schedule/yamldoc"
)

// durationFrom returns the reader of a duration that is at least least.
func durationFrom(least time.Duration) func(*yamldoc.Reader, *yamldoc.Node) (time.Duration, bool) {
	return func(r *yamldoc.Reader, n *yamldoc.Node) (time.Duration, bool) { return r.Duration(n, least) }
}

// integerFrom returns the reader of a whole number that is at least least.
func integerFrom(least int) func(*yamldoc.Reader, *yamldoc.Node) (int, bool) {
	return func(r *yamldoc.Reader, n *yamldoc.Node) (int, bool) { return r.Integer(n, least, math.MaxInt32) }
}

// readWord reads one of several words. The first word is the default, and false means the default.
// A wrong word is a problem and counts as fallback.
func readWord(r *yamldoc.Reader, n *yamldoc.Node, fallback string, all ...string) (string, bool) {
	if n.IsFalse() {
		return all[0], true
	}
	if !n.IsScalar() || n.IsNull() {
		return r.Text(n)
	}
	if word, ok := r.OneOf(n, all...); ok {
		return word, true
	}
	return fallback, true
}

// isWord returns the reader of one of two words. The result is true for the second word.
func isWord(first, second string) func(*yamldoc.Reader, *yamldoc.Node) (bool, bool) {
	return func(r *yamldoc.Reader, n *yamldoc.Node) (bool, bool) {
		word, ok := readWord(r, n, second, first, second)
		return word == second, ok
	}
}
