package values

import (
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule"
	"sched/schedule/document"
	"sched/schedule/text"
)

// Remote reads what other servers may ask of this one.
func Remote(r *document.Reader, n *document.Node) (kinds []string, ok bool) {
	if n.IsFalse() {
		return nil, true
	}
	if !r.RequireValue(n, "") || !r.RefuseEmptyList(n, "write `remote: false` for nothing") {
		return nil, false
	}
	ok = n.Each(func(item *document.Node) bool {
		kind, ok := r.Text(item)
		if ok && !slices.Contains(schedule.RemoteKinds, kind) {
			hint := "it is some of [" + strings.Join(schedule.RemoteKinds, ", ") + "], or false"
			if near := text.Nearest(kind, schedule.RemoteKinds); near != "" {
				hint = "did you mean \"" + near + "\"?"
			}
			r.Problemf(item, hint, "%s: %s is nothing that servers ask of each other", r.Key, item.Describe())
			return false
		}
		kinds = append(kinds, kind)
		return ok
	})
	return kinds, ok
}

// Textfile reads the path of a file of metrics.
func Textfile(r *document.Reader, n *document.Node) (string, bool) {
	path, ok := r.Path(n)
	if ok && filepath.Ext(path) != ".prom" {
		r.Warnf(n, "call it "+strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))+".prom",
			"%s: the node exporter reads only files that end in .prom", r.Key)
	}
	return path, ok
}
