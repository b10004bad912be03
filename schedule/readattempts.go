package schedule

import (
	"time"

	"sched/schedule/document"
)

// readTimeout reads a duration, or none against that of a group or of defaults.
func readTimeout(l *loader, n *node) (time.Duration, bool) {
	if n.IsScalar() && n.Value == "none" {
		return 0, true
	}
	d, ok := l.Duration(n, 0)
	if ok && d == 0 {
		l.Problemf(n, "write none for a task without a timeout", "timeout %s would end every attempt at once", n.Value)
	}
	return d, ok
}

// readRetry reads the whole of retry: what it does not have is not inherited.
func readRetry(l *loader, n *node) (Retry, bool) {
	if n.IsInteger() {
		l.Problemf(n, "write {attempts: "+document.Shorten(n.Value)+"}", "retry must be a mapping, not %s", n.Describe())
		return Retry{}, false
	}
	if !l.RequireMapping(n, "retry") {
		return Retry{}, false
	}
	r := Retry{Backoff: 1}
	retryKeys.Decode(l, &r, n, 0)
	if !n.Has("attempts") {
		l.Problemf(n, "add attempts: the first try and all that follow it", "retry has no attempts")
	}
	return r, true
}

// setMaxDelay comes after delay in its table.
func setMaxDelay(l *loader, r *Retry, n *node) {
	d, ok := l.Duration(n, time.Nanosecond)
	if ok && d < r.Delay {
		l.Problemf(n, "", "retry.max_delay %s is shorter than the delay", n.Value)
	}
	r.MaxDelay = d
}

// readSuccessCodes reads an exit code or a list of them.
func readSuccessCodes(l *loader, n *node) ([]int, bool) {
	if !l.RefuseEmptyList(n, "") {
		return nil, false
	}
	var codes []int
	ok := n.Each(func(item *node) bool {
		code, ok := l.Integer(item, 0, 255)
		codes = append(codes, code)
		return ok
	})
	return codes, ok
}

// readOutput reads a path or a mapping.
func readOutput(l *loader, n *node) (o Output, ok bool) {
	switch {
	case n.IsMapping():
		outputKeys.Decode(l, &o, n, 0)
		if !n.Has("file") {
			l.Problemf(n, "write {file: PATH}", "output has no file")
		}
		return o, true
	case n.IsList():
		l.Problemf(n, "write {file: PATH, append: true}", "output must be a file or a mapping, not a list")
		return o, false
	}
	if !l.RefuseBool(n, "leave the key out for no copy: what a task prints is kept anyway (sched logs)") {
		return o, false
	}
	o.File, ok = l.Path(n)
	return o, ok
}
