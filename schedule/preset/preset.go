// Package preset makes the HTTP requests of services that tell people, as files of a few lines
// describe them. A file says which request it is, and has places for values: {{chat}} for a
// parameter that a hook gives, and {{text}} for a field of the message.
//
// A value cannot change what stands around its place. In a URL it is escaped for the path or for
// the query, the body is data until JSON or a form is written of it, and a header stays one line.
package preset

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sched/schedule/humanize"
)

// A Preset is a request with places, and the values of its parameters. It is stored with a run, so
// its names in JSON do not change.
type Preset struct {
	Name     string            `json:"name"`
	With     map[string]string `json:"with,omitempty"`     // the value of each parameter
	Required []string          `json:"required,omitempty"` // the parameters without which nobody is told

	URL     string            `json:"url"` // a place at its very beginning is a URL itself
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers,omitempty"`
	JSON    any               `json:"json,omitempty"` // the body, if it is no Form
	Form    map[string]string `json:"form,omitempty"`

	// Words are values that depend on what happened: for each name a value by the event or by the
	// outcome of the run, and one for anything Else.
	Words map[string]map[string]any `json:"words,omitempty"`

	// Success are members that the answer must have, a JSON object; with Any each value will do.
	Success map[string]any `json:"success,omitempty"`
}

// WithValues returns the preset with other values of its parameters. It returns nil if a parameter
// that the preset requires has an empty value.
func (p Preset) WithValues(valueOf func(string) (string, error)) (*Preset, error) {
	with := map[string]string{}
	for name, text := range p.With {
		value, err := valueOf(text)
		if err != nil {
			return nil, err
		}
		with[name] = value
	}
	p.With = with
	if slices.ContainsFunc(p.Required, func(name string) bool { return with[name] == "" }) {
		return nil, nil
	}
	return &p, nil
}

const (
	Else = "else" // in Words
	Late = "late" // in Words: a failure that is sent after a later success; a field that has this value then
	Any  = "any"  // in Success
)

// Fields are the fields of a message that a place may name.
func Fields() []string {
	return []string{"text", "details", "output", "id", "event", "at", "schedule", "task", "description", "run",
		"server", "slot", "started", "ended", "duration", "outcome", "reason", "exit_code", "attempts"}
}

// Situations are the keys of Words: events, outcomes, Late, and anything else.
func Situations() []string {
	return []string{"start", "success", "warning", "failure", "recovery", "skip", "overdue", "finish",
		"succeeded", "failed", "timed out", "stopped", "lost", "skipped", Late, Else}
}

// A Place is where a value stands: {{name}}, or {{name:100}} for at most 100 characters of it.
type Place struct {
	Name  string
	Limit int // 0 for no limit
}

// pattern matches a place.
var pattern = humanize.Pattern(`\{\{([^{}:]*)(:([1-9][0-9]{0,4}))?\}\}`)

// Places returns the places in a text.
func Places(text string) (all []Place) {
	for _, match := range pattern().FindAllStringSubmatch(text, -1) {
		all = append(all, placeOf(match))
	}
	return all
}

func placeOf(match []string) Place {
	limit, _ := strconv.Atoi(match[3])
	return Place{strings.TrimSpace(match[1]), limit}
}

// A Request is a request of a preset whose places have their values.
type Request struct {
	Method, URL       string
	ContentType, Body string
	Headers           map[string]string
}

// Fill returns the request for a message, whose fields the function value returns. A member of the
// body whose value is an empty text is left out.
func (p *Preset) Fill(value func(Place) string) Request {
	f := filling{p, value}
	r := Request{Method: p.Method, URL: f.url(), Headers: map[string]string{}}
	for name, text := range p.Headers {
		r.Headers[name] = strings.Join(strings.Fields(humanize.Plain(f.text(text))), " ")
	}
	switch {
	case p.Form != nil:
		r.ContentType, r.Body = "application/x-www-form-urlencoded", f.form()
	case p.JSON != nil:
		r.ContentType, r.Body = "application/json", f.json()
	}
	return r
}

// A filling puts values into the places of a preset.
type filling struct {
	preset *Preset
	field  func(Place) string
}

// value returns what stands at a place: a text, or a word of another type.
func (f filling) value(at Place) any {
	if words, ok := f.preset.Words[at.Name]; ok {
		for _, field := range []string{Late, "event", "outcome"} {
			if word, ok := words[f.field(Place{Name: field})]; ok {
				return word
			}
		}
		return words[Else]
	}
	if text, ok := f.preset.With[at.Name]; ok {
		return head(text, at.Limit)
	}
	if at.Name == "details" || at.Name == "output" { // these are cut where they are made
		return f.field(at)
	}
	return head(f.field(at), at.Limit)
}

func (f filling) text(text string) string {
	return f.replace(text, func(_ int, value string) string { return value })
}

// replace puts values in place, escaped. offset is where the place begins.
func (f filling) replace(text string, escape func(offset int, value string) string) string {
	var out strings.Builder
	end := 0
	for _, at := range pattern().FindAllStringSubmatchIndex(text, -1) {
		place := placeOf(pattern().FindStringSubmatch(text[at[0]:at[1]]))
		out.WriteString(text[end:at[0]])
		out.WriteString(escape(at[0], asText(f.value(place))))
		end = at[1]
	}
	return out.String() + text[end:]
}

func (f filling) url() string {
	query := strings.IndexByte(f.preset.URL, '?')
	return f.replace(f.preset.URL, func(offset int, value string) string {
		switch {
		case offset == 0:
			return strings.TrimRight(value, "/")
		case query >= 0 && offset > query:
			return url.QueryEscape(value)
		}
		return url.PathEscape(value)
	})
}

func (f filling) form() string {
	values := url.Values{}
	for name, text := range f.preset.Form {
		if value := f.text(text); value != "" {
			values.Set(name, value)
		}
	}
	return values.Encode()
}

func (f filling) json() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(f.data(f.preset.JSON)) // texts, numbers, lists and mappings, which are always JSON
	return strings.TrimSuffix(b.String(), "\n")
}

// data fills the places in a value of JSON. A text that is one place alone becomes the value there,
// which may be a number.
func (f filling) data(value any) any {
	switch v := value.(type) {
	case string:
		if places := Places(v); len(places) == 1 && strings.HasPrefix(v, "{{") && strings.HasSuffix(v, "}}") {
			return f.value(places[0])
		}
		return f.text(v)
	case []any:
		filled := make([]any, len(v))
		for i, item := range v {
			filled[i] = f.data(item)
		}
		return filled
	case map[string]any:
		filled := map[string]any{}
		for name, member := range v {
			if member = f.data(member); member != "" {
				filled[name] = member
			}
		}
		return filled
	}
	return value
}

// Missing returns the first member of Success that an answer lacks, as `ok: true`, or "" if the
// answer has all of them.
func (p *Preset) Missing(answer string) string {
	var members map[string]any
	json.Unmarshal([]byte(answer), &members) // of what is no object every member is missing
	for _, name := range slices.Sorted(maps.Keys(p.Success)) {
		want := p.Success[name]
		switch got, has := members[name]; {
		case want == Any && !has:
			return name
		case want != Any && asText(want) != asText(got):
			return name + ": " + asText(want)
		}
	}
	return ""
}

// Secrets returns every form in which a value of a parameter may come back in an answer.
func (p *Preset) Secrets() (all []string) {
	for _, value := range p.With {
		if len(value) < minSecret {
			continue
		}
		quoted, _ := json.Marshal(value)
		all = append(all, value, url.PathEscape(value), url.QueryEscape(value), strings.Trim(string(quoted), `"`))
	}
	return all
}

// minSecret is the least length of a value that is a secret: `1` stands in every answer.
const minSecret = 4

// asText returns a value of YAML or JSON as it is written.
func asText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, _ := json.Marshal(value)
	return string(text)
}

// head returns the beginning of a text, at most limit characters; all of it for the limit 0.
func head(text string, limit int) string {
	if runes := []rune(text); limit > 0 && len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}
