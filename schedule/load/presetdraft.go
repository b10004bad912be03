package load

import (
	"slices"
	"strconv"
	"strings"

	"sched/schedule/preset"
	"sched/schedule/yamldoc"
)

// A presetDraft is the file of a preset while it is read.
type presetDraft struct {
	preset.Preset
	params []presetParam
	places []presetPlace
}

// A presetParam is a parameter of a preset.
type presetParam struct {
	name, about string
	fallback    string // its default
	isOptional  bool
}

// A presetPlace is a text of a preset that may have places.
type presetPlace struct {
	key, text string
	at        yamldoc.Place
}

// param returns a parameter by its name, or nil.
func (d *presetDraft) param(name string) *presetParam {
	i := slices.IndexFunc(d.params, func(p presetParam) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return &d.params[i]
}

func (d *presetDraft) paramNames() (names []string) {
	for _, p := range d.params {
		names = append(names, p.name)
	}
	return names
}

// example shows a hook with the parameters that the preset requires.
func (d *presetDraft) example(name string) string {
	var with []string
	for _, p := range d.params {
		if !p.isOptional {
			with = append(with, p.name+": …")
		}
	}
	return "{preset: " + name + ", with: {" + strings.Join(with, ", ") + "}}"
}

// texts reads a mapping of texts that may have places.
func (d *presetDraft) texts(r *yamldoc.Reader, n *yamldoc.Node) map[string]string {
	if !r.RequireMapping(n, r.Key, "") {
		return nil
	}
	all, key := map[string]string{}, r.Key
	for name, value := range yamldoc.NamedPairs(r, n) {
		r.Key = key + "." + yamldoc.Shorten(name.Value)
		all[name.Value], _ = r.Text(value)
		d.addPlaces(r, value)
	}
	return all
}

func (d *presetDraft) addPlaces(r *yamldoc.Reader, n *yamldoc.Node) {
	if n.IsScalar() {
		d.places = append(d.places, presetPlace{r.Key, n.Value, r.PlaceOf(n)})
	}
}

// data returns what stands at n as a value for JSON. Its texts may have places.
func (d *presetDraft) data(r *yamldoc.Reader, n *yamldoc.Node) any {
	key := r.Key
	defer func() { r.Key = key }()
	switch {
	case n.IsMapping():
		all := map[string]any{}
		for name, value := range yamldoc.NamedPairs(r, n) {
			r.Key = key + "." + yamldoc.Shorten(name.Value)
			all[name.Value] = d.data(r, value)
		}
		return all
	case n.IsList():
		all := []any{}
		for _, item := range n.Items() {
			all = append(all, d.data(r, item))
		}
		return all
	}
	d.addPlaces(r, n)
	return plainData(n)
}

// plainData returns a scalar, or a mapping of scalars, as JSON has it.
func plainData(n *yamldoc.Node) any {
	if n.IsMapping() {
		all := map[string]any{}
		for name, value := range n.Pairs() {
			all[name.Value] = plainData(value)
		}
		return all
	}
	switch {
	case n.IsNull():
		return nil
	case n.IsBool():
		return !n.IsFalse()
	case n.IsInteger():
		if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			return v
		}
	}
	return n.Value
}
