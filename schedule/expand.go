package schedule

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// expanded reads a text and puts the values of variables in place of ${VAR} and ${VAR:-default}.
// The default stands for a variable that is unset or empty, as in the shell. $${ is a literal ${;
// any other $ is only a $.
func (l *loader) expanded(n *yaml.Node) (string, bool) {
	text, ok := l.text(n)
	if !ok || strings.IndexByte(text, '$') < 0 {
		return text, ok
	}
	var out strings.Builder
	for {
		before, after, some := strings.Cut(text, "${")
		if !some {
			out.WriteString(text)
			break
		}
		if literal, ok := strings.CutSuffix(before, "$"); ok {
			out.WriteString(literal + "${")
			text = after
			continue
		}
		inside, rest, closed := strings.Cut(after, "}")
		if !closed {
			l.bad(n, "write $${ for a literal ${", "%s: ${ without }", l.key)
			return "", false
		}
		value, ok := l.variable(n, inside)
		if !ok {
			return "", false
		}
		out.WriteString(before + value)
		text = rest
	}
	if strings.IndexByte(out.String(), 0) >= 0 {
		l.bad(n, "", "%s holds a null character, which no program can be given", l.key)
		return "", false
	}
	l.warnOfBareVariable(n)
	return out.String(), true
}

// filledExpanded is expanded for a value that may not be empty.
func (l *loader) filledExpanded(n *yaml.Node) (string, bool) {
	text, ok := l.expanded(n)
	if ok && strings.TrimSpace(text) == "" {
		l.bad(n, "", "%s is empty", l.key)
		return "", false
	}
	return text, ok
}

// variable returns the value of what stands between the braces.
func (l *loader) variable(n *yaml.Node, inside string) (string, bool) {
	name, other, hasDefault := strings.Cut(inside, ":-")
	if !isVariable(name) {
		l.bad(n, "only ${VAR} and ${VAR:-default} are expanded; write $${ for a literal ${",
			"%s: %s is not the name of a variable", l.key, quote(name))
		return "", false
	}
	value, set := "", false
	if l.opts.Getenv != nil {
		value, set = l.opts.Getenv(name)
	}
	if hasDefault && value == "" {
		return other, true
	}
	if !set {
		l.bad(n, "set it (cron sets very few), or write ${"+name+":-default}", "%s: the variable %s is not set", l.key, name)
		return "", false
	}
	return value, true
}

// warnOfBareVariable warns of $HOME, which a shell would expand and a file does not. A $ before
// anything but the name of a variable that is set is taken as meant: passwords hold it.
func (l *loader) warnOfBareVariable(n *yaml.Node) {
	if l.opts.Getenv == nil {
		return
	}
	for text := n.Value; ; {
		_, after, some := strings.Cut(text, "$")
		if !some {
			return
		}
		name := after
		for i := range len(after) {
			if !inVariable(after[i], i) {
				name = after[:i]
				break
			}
		}
		if _, set := l.opts.Getenv(name); name != "" && set {
			l.warn(n, "write ${"+name+"} for its value", "%s: $%s is taken as it stands", l.key, name)
			return
		}
		text = after
	}
}

func isVariable(name string) bool {
	for i := range len(name) {
		if !inVariable(name[i], i) {
			return false
		}
	}
	return name != ""
}

// inVariable reports whether c may be the i-th character of the name of a variable.
func inVariable(c byte, i int) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || i > 0 && '0' <= c && c <= '9'
}
