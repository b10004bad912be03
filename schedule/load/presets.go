package load

import (
	"cmp"
	"embed"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule/humanize"
	"sched/schedule/preset"
	"sched/schedule/yamldoc"
)

// This file reads presets: the requests of services that tell people, each in a file of its own.
// sched has some in the folder presets; others stand beside the schedule. A file is read once.

//go:embed presets
var presetFiles embed.FS

// presetNames are the names of the presets that sched brings.
func presetNames() (names []string) {
	files, _ := presetFiles.ReadDir("presets")
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file.Name(), ".yaml"))
	}
	return names
}

// webhookHint is the hint for a service whose messages are a format of `webhook`; "" for any other.
func webhookHint(service string) string {
	switch service {
	case "slack", "mattermost":
		return "write {webhook: URL, format: slack}; Mattermost takes what Slack does"
	case "teams", "discord":
		return "write {webhook: URL, format: " + service + "}"
	case "ntfy":
		return "write {webhook: URL, format: text}"
	}
	return ""
}

// openPreset returns a preset by its name, or by the path of its file; nil after a problem.
func openPreset(l *loader, n *node, text string) *presetDraft {
	isFile := strings.HasSuffix(text, ".yaml") || strings.HasSuffix(text, ".yml")
	if d, isRead := l.presets[text]; isRead {
		if d == nil {
			l.Problemf(n, "see the other problems", "%s: the file %s is wrong", l.Key, yamldoc.Shorten(text))
		}
		return d
	}
	var src *yamldoc.Source
	switch names := presetNames(); {
	case isFile:
		src = openPresetFile(l, n)
	case slices.Contains(names, text):
		data, _ := presetFiles.ReadFile("presets/" + text + ".yaml")
		src = &yamldoc.Source{Name: text + ".yaml", Data: data}
	default:
		hint := yamldoc.DidYouMean(l.Nearest(text, names))
		l.Problemf(n, cmp.Or(webhookHint(text), hint, "a file of your own ends in .yaml"),
			"there is no preset %s: they are %s", yamldoc.Quote(text), strings.Join(names, ", "))
	}
	if src == nil {
		return nil
	}
	d := readPreset(l, src, strings.TrimSuffix(strings.TrimSuffix(filepath.Base(text), ".yaml"), ".yml"))
	l.presets[text] = d
	return d
}

// openPresetFile opens the file that n names. It returns nil after a problem.
func openPresetFile(l *loader, n *node) *yamldoc.Source {
	switch l.medium {
	case inArchive:
		return l.nextArchived(n)
	case inText:
		l.Problemf(n, "", "%s cannot name a file here, where only text is read", l.Key)
		return nil
	}
	path := n.Value
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.folder, path)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && l.options.Texts[path] == nil {
		l.Problemf(n, "a path is relative to the folder of the schedule",
			"%s %s: there is no such file", l.Key, yamldoc.Quote(n.Value))
		return nil
	}
	src := l.Open(filepath.Clean(path))
	if src == nil {
		l.presets[n.Value] = nil // its problem is told once
	}
	return src
}

// readPreset reads the file of a preset; nil after a problem.
func readPreset(l *loader, src *yamldoc.Source, name string) *presetDraft {
	main, key, task, section, origins, before := l.File, l.Key, l.Task, l.Section, l.Origins, l.ProblemCount()
	defer func() { l.File, l.Key, l.Task, l.Section, l.Origins = main, key, task, section, origins }()
	l.File, l.Key, l.Task, l.Section, l.Origins = src.Name, "", "", "", nil
	root := l.Parse(src.Data)
	if root == nil || !l.RequireMapping(root, "a preset", "it begins with `params:` and `url:`") {
		return nil
	}
	d := &presetDraft{Preset: preset.Preset{Name: name, Method: "POST", With: map[string]string{}}}
	presetKeys.Decode(l, d, root, 0)
	switch {
	case !root.Has("url"):
		l.Problemf(root, "write `url: https://HOST/PATH`", "the preset has no url")
	case d.JSON != nil && d.Form != nil:
		l.Problemf(root.Lookup("form"), "keep one of the two", "a preset has json or form, not both")
	}
	checkPlaces(l, d, root)
	if l.ProblemCount() > before {
		return nil
	}
	for _, p := range d.params {
		d.With[p.name] = strings.ReplaceAll(p.fallback, "${", "$${")
		if !p.isOptional {
			d.Required = append(d.Required, p.name)
		}
	}
	return d
}

// checkPlaces refuses places without a value, and parameters and words without a place.
func checkPlaces(l *loader, d *presetDraft, root *node) {
	known := slices.Concat(d.paramNames(), slices.Sorted(maps.Keys(d.Words)), preset.Fields())
	used := map[string]bool{}
	for _, text := range d.places {
		l.Key = text.key
		if strings.Count(text.text, "{{") != len(preset.Places(text.text)) {
			l.ProblemAt(text.at, "write {{NAME}}, or {{NAME:100}} for at most 100 characters",
				"%s: {{ begins no place for a value", text.key)
		}
		for _, place := range preset.Places(text.text) {
			used[place.Name] = true
			if !slices.Contains(known, place.Name) {
				hint := yamldoc.DidYouMean(l.Nearest(place.Name, known))
				l.ProblemAt(text.at, cmp.Or(hint, "the fields are "+strings.Join(preset.Fields(), ", ")),
					"%s: {{%s}} is neither a parameter nor a field of a message",
					text.key, yamldoc.Shorten(place.Name))
			}
		}
	}
	for _, key := range []string{"params", "words"} {
		section := root.Lookup(key)
		if section == nil || !section.IsMapping() {
			continue
		}
		l.Key = key
		for name := range section.Pairs() {
			switch {
			case slices.Contains(preset.Fields(), name.Value):
				l.Problemf(name, "take another name", "%s: {{%s}} is a field of a message", key, name.Value)
			case key == "words" && d.param(name.Value) != nil:
				l.Problemf(name, "take another name", "words: {{%s}} is a parameter", name.Value)
			case !used[name.Value]:
				l.Problemf(name, "write {{"+name.Value+"}} where it belongs", "%s: %s stands nowhere", key, name.Value)
			}
		}
	}
}

var presetKeys = keys[presetDraft]{Rows: func() []key[presetDraft] {
	return []key[presetDraft]{
		row("params", by(setPresetParams), "what a hook has to say", is{Example: "{token: the token of the bot}"}),
		row("url", by(func(l *loader, d *presetDraft, n *node) {
			text, ok := l.NonEmptyText(n)
			if ok && !presetURL().MatchString(text) {
				l.Problemf(n, "write https://HOST/PATH, or {{PARAMETER}}/PATH",
					"url must begin with https:// and a host, or with a parameter")
			}
			d.URL = text
			d.addPlaces(l.Reader, n)
		}), "the URL", is{Example: "'{{url}}/message'"}),
		row("method", by(func(l *loader, d *presetDraft, n *node) { d.Method, _ = l.OneOf(n, "POST", "PUT") }),
			"the method", is{Example: "PUT"}),
		row("headers", by(func(l *loader, d *presetDraft, n *node) {
			d.Headers = d.texts(l.Reader, n)
			for name := range d.Headers {
				if !headerName().MatchString(name) {
					l.Problemf(n, "", "headers: %s is no name of a header", yamldoc.Quote(name))
				}
			}
		}),
			"headers of the request", is{Example: "{Authorization: 'Bearer {{token}}'}"}),
		row("json", by(func(l *loader, d *presetDraft, n *node) {
			if l.RequireMapping(n, l.Key, "") {
				d.JSON = d.data(l.Reader, n)
			}
		}), "the body as JSON", is{Example: "{text: '{{text}}'}"}),
		row("form", by(func(l *loader, d *presetDraft, n *node) { d.Form = d.texts(l.Reader, n) }),
			"the body as a form", is{Example: "{text: '{{text}}'}"}),
		row("words", by(setPresetWords),
			"words by what happened", is{Example: "{action: {succeeded: resolve, else: trigger}}"}),
		row("success", by(func(l *loader, d *presetDraft, n *node) {
			if l.RequireMapping(n, l.Key, "") {
				d.Success, _ = plainData(n).(map[string]any)
			}
		}), "what the answer must have", is{Example: "{ok: true}"}),
	}
}}

var headerName = humanize.Pattern(`^[A-Za-z0-9_-]+$`)

// presetURL matches how a URL begins: a host has no place in it.
var presetURL = humanize.Pattern(`^(https?://[^{}/?#]+([/?#]|$)|\{\{)`)

// setPresetParams reads the parameters: what each is, or that and its default.
func setPresetParams(l *loader, d *presetDraft, n *node) {
	if !l.RequireMapping(n, l.Key, "write {NAME: what it is}") {
		return
	}
	for name, value := range yamldoc.NamedPairs(l.Reader, n) {
		p := presetParam{name: name.Value}
		l.Key = "params." + yamldoc.Shorten(p.name)
		if !paramName().MatchString(p.name) {
			l.Problemf(name, "", "params: a name has letters, digits and _, not %s", yamldoc.Quote(p.name))
			continue
		}
		if value.IsMapping() {
			presetParamKeys.Decode(l, &p, value, 0)
		} else {
			p.about, _ = l.NonEmptyText(value)
		}
		d.params = append(d.params, p)
	}
}

var paramName = humanize.Pattern(`^[A-Za-z][A-Za-z0-9_]*$`)

var presetParamKeys = keys[presetParam]{Rows: func() []key[presetParam] {
	return []key[presetParam]{
		row("about", by(func(l *loader, p *presetParam, n *node) { p.about, _ = l.NonEmptyText(n) }),
			"what it is", is{Example: "the name of one device"}),
		row("default", by(func(l *loader, p *presetParam, n *node) {
			p.fallback, _ = l.Text(n)
			p.isOptional = true
		}), "its value, if the hook gives none", is{Example: "'https://api.telegram.org'"}),
	}
}}

// setPresetWords reads words, each a mapping from what happened to a value.
func setPresetWords(l *loader, d *presetDraft, n *node) {
	if !l.RequireMapping(n, l.Key, "") {
		return
	}
	d.Words = map[string]map[string]any{}
	for name, value := range yamldoc.NamedPairs(l.Reader, n) {
		l.Key = "words." + yamldoc.Shorten(name.Value)
		words := map[string]any{}
		d.Words[name.Value] = words
		if !l.RequireMapping(value, l.Key, "write {succeeded: resolve, else: trigger}") {
			continue
		}
		for situation, word := range value.Pairs() {
			if !slices.Contains(preset.Situations(), situation.Value) {
				l.Problemf(situation, yamldoc.DidYouMean(l.Nearest(situation.Value, preset.Situations())),
					"%s: %s is neither an event nor an outcome nor else", l.Key, yamldoc.Quote(situation.Value))
			}
			if !word.IsScalar() {
				l.Problemf(word, "", "%s must be a text or a number, not %s", l.Key, word.Describe())
				continue
			}
			words[situation.Value] = plainData(word)
		}
		if _, ok := words[preset.Else]; !ok {
			l.Problemf(value, "add `else: WORD`", "%s says nothing for anything else", l.Key)
		}
	}
}
