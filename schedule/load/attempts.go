package load

import (
	"time"

	"sched/schedule/yamldoc"
)

// setRetry reads a mapping, key by key on top of the inherited retry. false takes the inherited
// retry away.
func setRetry(l *loader, t *taskDraft, n *node) {
	if n.IsInteger() {
		l.Problemf(n, "write {attempts: "+yamldoc.Shorten(n.Value)+"}", "retry must be a mapping, not %s", n.Describe())
		return
	}
	if n.IsFalse() {
		l.Forget()
		t.Retry, t.retries = l.bare.Retry, false
		return
	}
	if !l.RequireMapping(n, "retry") {
		return
	}
	if n.IsEmpty() {
		l.Problemf(n, "write {attempts: 3}, or false for one attempt", "retry is empty")
		return
	}
	retryKeys.Decode(l, &t.Retry, n, 0)
	t.retries = t.retries || n.Has("attempts")
	if !t.retries && !n.Has("attempts") && l.Task != "" {
		l.Problemf(n, "add attempts: the first try and all that follow it", "retry has no attempts")
	}
	if lost := n.Lookup("lost"); lost != nil && t.Retry.Lost && t.Retry.Attempts < 2 && t.retries && l.Task != "" {
		l.Problemf(lost, "write attempts: 2 or more", "retry.lost contradicts one attempt%s: nothing is tried again", l.placeText(n.Lookup("attempts")))
	}
	if r := t.Retry; r.MaxDelay > 0 && r.MaxDelay < r.Delay {
		at := n.Lookup("max_delay")
		if at == nil {
			at = n.Lookup("delay")
		}
		if at == nil {
			at = n
		}
		l.Problemf(at, "", "retry.max_delay %s is shorter than the delay, %s", r.MaxDelay, r.Delay)
	}
}

// setOutput reads a path or a mapping, key by key on top of the inherited output. false takes the
// inherited output away.
func setOutput(l *loader, t *taskDraft, n *node) {
	switch {
	case n.IsFalse():
		l.Forget()
		t.Output = l.bare.Output
	case n.IsMapping():
		outputKeys.Decode(l, &t.Output, n, 0)
		if n.IsEmpty() {
			l.Problemf(n, "write {file: PATH}", "output is empty")
		} else if own := n.Lookup("append"); own != nil && t.Output.File == "" && l.Task != "" {
			l.Problemf(own, "add `file: PATH`", "output.append is about a copy, and output has no file")
		}
	case n.IsList():
		l.Problemf(n, "write {file: PATH, append: true}", "output must be a file or a mapping, not a list")
	case l.RefuseBool(n, "leave the key out for no copy: what a task prints is kept anyway (sched logs)"):
		if path, ok := l.Path(n); ok {
			t.Output.File = path
		}
	}
}

// readTimeout reads a duration, or none, which takes an inherited timeout away. none is an older
// word for false.
func readTimeout(r *yamldoc.Reader, n *yamldoc.Node) (time.Duration, bool) {
	if n.IsScalar() && n.Value == "none" {
		return 0, true
	}
	d, ok := r.Duration(n, 0)
	if ok && d == 0 {
		r.Problemf(n, "write false for a task without a timeout", "timeout %s would end every attempt at once", n.Value)
	}
	return d, ok
}

// readJitter reads a part of 1.
func readJitter(r *yamldoc.Reader, n *yamldoc.Node) (float64, bool) {
	jitter, ok := r.Number(n, 0)
	if ok && jitter > 1 {
		r.Problemf(n, "0.2 is a fifth", "retry.jitter must be from 0 to 1, not %s", yamldoc.Shorten(n.Value))
		return 0, false
	}
	return jitter, ok
}

// readSuccessCodes reads an exit code or a list of them.
func readSuccessCodes(r *yamldoc.Reader, n *yamldoc.Node) ([]int, bool) {
	if !r.RefuseEmptyList(n, "") {
		return nil, false
	}
	return yamldoc.Collect(n, func(item *yamldoc.Node) (int, bool) { return r.Integer(item, 0, 255) })
}

// leastLimit leaves room for whole lines and for the note that some lines were cut.
const leastLimit = 16 << 10

// readOutputLimit reads how much of an output is kept.
func readOutputLimit(r *yamldoc.Reader, n *yamldoc.Node) (int64, bool) { return r.Size(n, leastLimit) }
