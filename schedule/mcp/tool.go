// Package mcp speaks the Model Context Protocol (https://modelcontextprotocol.io) over two streams:
// it offers tools, and nothing else. It does not know what the tools do.
//
// It is our own because each tick and each hook would start slower with the official SDK: see
// docs/internals/decisions.md. The tests call it with the client of that SDK.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
)

// A Tool is something that a client can call.
type Tool struct {
	Name   string
	About  string // what it does, for the model
	Writes bool   // it changes something
	Params []Param

	// Call answers with a text. The arguments are checked. An error is told to the model, and ends
	// nothing.
	Call func(context.Context, Arguments) (string, error)
}

// A Param is an argument that a tool takes.
type Param struct {
	Name     string
	Type     Type
	About    string
	Required bool
	Most     int // the largest Integer, or the most characters of a text; 0: maxText
}

// A Type is the type of an argument, as JSON Schema calls it; but for Texts.
type Type string

const (
	Text    Type = "string" // of one line
	Lines   Type = "lines"  // a text that may have several lines
	Integer Type = "integer"
	Boolean Type = "boolean"
	Texts   Type = "array" // of texts of one line
)

const (
	maxText  = 300 // characters of a text, unless its Param says Most
	maxTexts = 100 // of a list
)

// Arguments are the values of the arguments of one call, by name. Those that are not given are the
// zero value.
type Arguments map[string]any

func (a Arguments) Text(name string) string {
	text, _ := a[name].(string)
	return text
}

func (a Arguments) Integer(name string) int {
	n, _ := a[name].(float64)
	return int(n)
}

func (a Arguments) Is(name string) bool {
	yes, _ := a[name].(bool)
	return yes
}

func (a Arguments) Texts(name string) (all []string) {
	items, _ := a[name].([]any)
	for _, item := range items {
		text, _ := item.(string)
		all = append(all, text)
	}
	return all
}

// shown returns the tool as tools/list has it.
func (t Tool) shown() map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, p := range t.Params {
		schema := map[string]any{"type": p.Type, "description": p.About}
		switch p.Type {
		case Lines:
			schema["type"] = Text
		case Integer:
			schema["minimum"], schema["maximum"] = 1, p.Most
		case Texts:
			schema["items"] = map[string]any{"type": Text}
		}
		properties[p.Name] = schema
		if p.Required {
			required = append(required, p.Name)
		}
	}
	return map[string]any{
		"name":        t.Name,
		"description": t.About,
		"inputSchema": map[string]any{"type": "object", "properties": properties, "required": required,
			"additionalProperties": false},
		"annotations": map[string]any{"readOnlyHint": !t.Writes, "destructiveHint": false, "openWorldHint": false},
	}
}

// read returns the arguments of a call. The error says which one is wrong.
func (t Tool) read(text json.RawMessage) (Arguments, error) {
	given := Arguments{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &given); err != nil {
			return nil, fmt.Errorf("the arguments are no object")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.IndexFunc(t.Params, func(p Param) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("%s takes no argument %.60q", t.Name, name)
		}
		if given[name] == nil {
			delete(given, name)
		} else if err := t.Params[i].check(given[name]); err != nil {
			return nil, err
		}
	}
	for _, p := range t.Params {
		if _, is := given[p.Name]; p.Required && !is {
			return nil, fmt.Errorf("%s needs the argument %s", t.Name, p.Name)
		}
	}
	return given, nil
}

// check returns an error for a value that is not of the type, or too large.
func (p Param) check(value any) error {
	switch p.Type {
	case Boolean:
		if _, ok := value.(bool); !ok {
			return fmt.Errorf("%s is neither true nor false", p.Name)
		}
	case Integer:
		if n, ok := value.(float64); !ok || n < 1 || n > float64(p.Most) || n != math.Trunc(n) {
			return fmt.Errorf("%s is not a number from 1 to %d", p.Name, p.Most)
		}
	case Texts:
		items, ok := value.([]any)
		if !ok || len(items) > maxTexts {
			return fmt.Errorf("%s is not a list of at most %d texts", p.Name, maxTexts)
		}
		for _, item := range items {
			if err := (Param{Name: "an item of " + p.Name, Type: Text, Most: p.Most}).check(item); err != nil {
				return err
			}
		}
	default:
		return p.checkText(value)
	}
	return nil
}

func (p Param) checkText(value any) error {
	most := p.Most
	if most == 0 {
		most = maxText
	}
	text, ok := value.(string)
	isBad := func(r rune) bool { return unicode.IsControl(r) && (p.Type != Lines || r != '\n' && r != '\t') }
	switch {
	case !ok || text == "":
		return fmt.Errorf("%s is not a text", p.Name)
	case len(text) > 4*most || len([]rune(text)) > most:
		return fmt.Errorf("%s has more than %d characters", p.Name, most)
	case strings.ContainsFunc(text, isBad):
		return fmt.Errorf("%s has a control character", p.Name)
	}
	return nil
}
