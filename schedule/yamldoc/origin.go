package yamldoc

import "strings"

// An Origin is where a value in effect was set.
type Origin struct {
	Place   Place  // of the key
	Section string // `defaults`, `group "x"`, or empty
	Task    string // the entry that set it; empty for none
	Text    string // of a scalar as the file has it, with ${VAR}
}

// Origins holds for each key, with the keys above it (retry.delay), where the value in effect was
// set. A nil map is for readers that nobody asks: they record nothing.
type Origins map[string]Origin

// Trace records that the value of the current key comes from n, which stands at the key name.
func (r *Reader) Trace(name, n *Node) {
	if r.Origins == nil {
		return
	}
	origin := Origin{Place: r.PlaceOf(name), Section: strings.TrimSuffix(r.Section, ": "), Task: r.Task}
	if n.IsScalar() {
		origin.Text = n.Value
	}
	r.Origins[r.Key] = origin
}

// TraceAs records that the value of the current key decides that of another, too.
func (r *Reader) TraceAs(other string) {
	if r.Origins != nil {
		r.Origins[other] = r.Origins[r.Key]
	}
}

// Forget removes what is recorded of the keys below the current one, whose value is about to be
// replaced as a whole.
func (r *Reader) Forget() {
	for key := range r.Origins {
		if strings.HasPrefix(key, r.Key+".") {
			delete(r.Origins, key)
		}
	}
}
