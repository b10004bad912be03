package values

import (
	"time"

	"sched/schedule/yamldoc"
)

// Timeout reads a duration, or none, an older word for false, against that of a group or of defaults.
func Timeout(r *yamldoc.Reader, n *yamldoc.Node) (time.Duration, bool) {
	if n.IsScalar() && n.Value == "none" {
		return 0, true
	}
	d, ok := r.Duration(n, 0)
	if ok && d == 0 {
		r.Problemf(n, "write false for a task without a timeout", "timeout %s would end every attempt at once", n.Value)
	}
	return d, ok
}

// Jitter reads a part of 1.
func Jitter(r *yamldoc.Reader, n *yamldoc.Node) (float64, bool) {
	jitter, ok := r.Number(n, 0)
	if ok && jitter > 1 {
		r.Problemf(n, "0.2 is a fifth", "retry.jitter must be from 0 to 1, not %s", yamldoc.Shorten(n.Value))
		return 0, false
	}
	return jitter, ok
}

// SuccessCodes reads an exit code or a list of them.
func SuccessCodes(r *yamldoc.Reader, n *yamldoc.Node) ([]int, bool) {
	if !r.RefuseEmptyList(n, "") {
		return nil, false
	}
	return yamldoc.Collect(n, func(item *yamldoc.Node) (int, bool) { return r.Integer(item, 0, 255) })
}

// leastLimit has room for whole lines and for what says that some were cut.
const leastLimit = 16 << 10

// OutputLimit reads how much of an output is kept.
func OutputLimit(r *yamldoc.Reader, n *yamldoc.Node) (int64, bool) { return r.Size(n, leastLimit) }
