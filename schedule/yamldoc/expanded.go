package yamldoc

import (
	"errors"
	"path/filepath"
	"strings"
)

// Expanded reads a text and expands it (Expansion.Expand). It may be empty.
func (r *Reader) Expanded(n *Node) (string, bool) {
	text, ok := r.Text(n)
	if !ok || strings.IndexByte(text, '$') < 0 {
		return text, ok
	}
	text, err := Expansion{Getenv: r.options.Getenv, Folder: r.options.Folder}.Expand(text)
	if e, ok := errors.AsType[*ExpandError](err); ok {
		r.Problemf(n, e.Hint, "%s: %v", r.Key, err)
		return "", false
	}
	if strings.IndexByte(text, 0) >= 0 {
		r.Problemf(n, "", "%s holds a null character, which no program can be given", r.Key)
		return "", false
	}
	warnOfBareVariable(r, n)
	return text, true
}

// NonEmptyExpanded is Expanded for a name or a path. The expanded text must be more than white
// space, and not true or false.
func (r *Reader) NonEmptyExpanded(n *Node) (string, bool) {
	if !r.RefuseBool(n, QuotesHint) {
		return "", false
	}
	return r.nonEmpty(n, r.Expanded)
}

// warnOfBareVariable warns of $HOME, which is not expanded. Other dollars may be in passwords.
func warnOfBareVariable(r *Reader, n *Node) {
	if r.options.Getenv == nil {
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
		if _, set := r.options.Getenv(name); name != "" && set {
			r.Warnf(n, "write ${"+name+"} for its value", "%s: $%s is taken as it stands", r.Key, name)
			return
		}
		text = after
	}
}

// Path reads and expands a path, which is relative to the folder of the document. The result is
// absolute and clean.
func (r *Reader) Path(n *Node) (string, bool) {
	text, ok := r.NonEmptyExpanded(n)
	if !ok {
		return "", false
	}
	if text == "~" || strings.HasPrefix(text, "~/") {
		r.Problemf(n, "write ${HOME}"+Shorten(text[1:]), "%s %s: \"~\" is not expanded here", r.Key, Quote(text))
		return "", false
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(r.options.Folder, text)
	}
	return filepath.Clean(text), true
}
