package load

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"sched/schedule"
	"sched/schedule/yamldoc"
)

// setParams adds params to the inherited params. A param replaces an inherited param of its name.
func setParams(l *loader, t *taskDraft, n *node) {
	if n.IsFalse() {
		l.Origins.Forget(l.Key)
		t.Params = nil
		return
	}
	if n.IsList() {
		l.Problemf(n, "write {NAME: default}, or a line `NAME: default` for each, without \"-\"",
			"params must be a mapping of keys and values, not a list")
		return
	}
	if !l.RequireMapping(n, "params") {
		return
	}
	t.Params = slices.Clone(t.Params)
	for name, value := range yamldoc.Named(l.Reader, n) {
		if problem, hint := refuseParam(name.Value); problem != "" {
			l.Problemf(name, hint, "params: %s %s", yamldoc.Quote(name.Value), problem)
			continue
		}
		l.Key = "params." + yamldoc.Shorten(name.Value)
		l.Trace(name, value)
		p, ok := readParam(l, name.Value, value)
		if !ok {
			continue
		}
		hasName := func(inherited schedule.Param) bool { return inherited.Name == p.Name }
		if i := slices.IndexFunc(t.Params, hasName); i >= 0 {
			t.Params[i] = p
		} else {
			t.Params = append(t.Params, p)
		}
	}
}

// refuseParam returns why a name cannot be the name of a param, with a hint; "" if it can.
func refuseParam(name string) (problem, hint string) {
	switch {
	case !yamldoc.IsVariable(name) || len(name) > 256:
		return "cannot name a param", "use letters, digits and _, and begin with a letter or _"
	case strings.HasPrefix(name, "SCHED_"):
		return "is a variable that sched sets itself", "choose another name"
	case name == "PATH" || name == "BASH_ENV" || strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_"):
		return "cannot be a param: it decides which programs run", "choose another name"
	}
	return "", ""
}

// readParam reads a default, or a mapping of paramKeys.
func readParam(l *loader, name string, n *node) (schedule.Param, bool) {
	p := schedule.Param{Name: name, Values: []string{}}
	before := l.ProblemCount()
	switch {
	case n.IsNull():
		l.Problemf(n, `write "" for an empty default, or {} for none`, "%s has no value", l.Key)
	case n.IsMapping():
		paramKeys.Decode(l, &p, n, 0)
	default:
		setDefault(l, &p, n)
	}
	if l.ProblemCount() > before {
		return p, false
	}
	above := l.Key
	defer func() { l.Key = above }()
	if len(p.Values) > 0 && p.Pattern != "" {
		l.Problemf(n.Lookup("pattern"), "keep one of the two", "%s has values and a pattern", l.Key)
		return p, false
	}
	for _, value := range p.Values {
		if problem := p.Refuses(value); problem != "" {
			l.Problemf(n.Lookup("values"), "", "%s.values: %s", l.Key, problem)
			return p, false
		}
	}
	if p.Default == nil {
		return p, true
	}
	if problem := p.Refuses(*p.Default); problem != "" {
		l.Problemf(firstOf(n, n, "default"), "the default must be a value that people may set, too",
			"the default of %s: %s", l.Key, problem)
		return p, false
	}
	return p, true
}

// setDefault reads the default of a param. The default is not expanded, because everybody who may
// look sees it.
func setDefault(l *loader, p *schedule.Param, n *node) {
	text, ok := l.Text(n)
	if ok && strings.Contains(text, "${") {
		l.Problemf(n, "write a plain text, and let the command find the rest",
			"%s: ${…} is not expanded in a param", l.Key)
		return
	}
	if ok {
		p.Default = &text
	}
}

func readPattern(r *reader, n *node) (string, bool) {
	text, ok := r.NonEmptyText(n)
	if !ok {
		return "", false
	}
	if _, err := regexp.Compile(text); err != nil {
		reason := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		r.Problemf(n, "write it in the syntax of RE2",
			"%s %s is no regular expression: %s", r.Key, yamldoc.Quote(text), reason)
		return "", false
	}
	return text, true
}

// settleParams puts the defaults of the params into the environment of a task, where they win over
// inherited variables and over env_file.
func settleParams(l *loader, n *node, t *taskDraft) {
	if len(t.Params) == 0 {
		return
	}
	t.Env = maps.Clone(t.Env)
	if t.Env == nil {
		t.Env = map[string]string{}
	}
	for _, p := range t.Params {
		at := firstOf(n, n, "params")
		if own := at.Lookup(p.Name); at != n && own != nil {
			at = own
		}
		t.EnvOverrides = append(slices.Clip(t.EnvOverrides), p.Name)
		delete(t.Env, p.Name)
		if p.Default != nil {
			t.Env[p.Name] = *p.Default
		} else if t.timing.isSet() {
			l.Problemf(at, "give it a default, or take the time of the task away",
				"params.%s has no default, and the task has a time: nobody gives it a value then", p.Name)
		}
		if slices.Contains(t.ownEnv, p.Name) {
			l.Problemf(at, "keep one of the two", "%s is in env and in params", p.Name)
		}
	}
}
