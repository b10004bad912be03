// Package schema writes the JSON Schema (draft 2020-12) of schedule.yaml from the rows of
// load.Keys. It adds the form of each kind of value, and the rules between keys. Unsaid lists what
// a schema cannot say; `sched check` finds that.
package schema

import (
	"bytes"
	"encoding/json"
	"strings"

	"sched/schedule/load"
	"sched/schedule/yamldoc"
)

// Modeline is the line by which editors find the schema of a file, at a path relative to it or at a URL.
func Modeline(path string) string { return "# yaml-language-server: $schema=" + path }

// FileName is what the schema is called beside a schedule.
const FileName = "schedule.schema.json"

// JSON returns the schema. It is the same for the file of a schedule and for one that is included.
func JSON() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(whole()); err != nil {
		panic(err) // a mistake in a row of the keys, which tests find
	}
	return b.Bytes()
}

func whole() object {
	defs := object{}
	for _, of := range mappings() {
		defs = append(defs, member{string(of.mapping), mapping(of.mapping, of.rules)})
	}
	defs = append(defs, kinds()...)
	defs = append(defs,
		member{"tasks", is("type", "array", "items", ref("entry"))},
		member{"topTasks", is("type", "array", "items", ref("topEntry"))},
		member{"entry", entry(ref("task"))},
		member{"topEntry", entry(ref("task").with(
			member{"allOf", list(required("command"))}))},
	)
	return is(
		"$schema", "https://json-schema.org/draft/2020-12/schema",
		"title", "schedule.yaml",
		"description", "A schedule of sched, or a file with tasks that one includes.",
		"if", is("type", "array"), "then", ref("tasks"), "else", ref(string(load.Top)),
		"$defs", defs,
	)
}

// entry tells groups from tasks as the loader does.
func entry(task object) object {
	return is("type", "object",
		"if", anyOf(required("tasks"), required("group").with(member{"not", anyOf(required("name"), required("command"))})),
		"then", ref(string(load.InGroup)), "else", task)
}

// A rule is what the keys of a mapping have to do with each other.
type rule struct {
	mapping load.Mapping
	rules   object
}

// mappings returns the mappings of the file with their rules.
func mappings() []rule {
	return []rule{
		{load.Top, is("patternProperties", is("^x-", true), "dependentRequired", is("lease", list("store")))},
		{load.InTask, is("required", list("name"), "not", required("cron", "every"))},
		{load.InGroup, is("required", list("group", "tasks"), "not", required("cron", "every"))},
		{load.Defaults, nil},
		{load.InHistory, nil},
		{load.InMetrics, is("minProperties", 1)},
		{load.InMail, is("minProperties", 1)},
		{load.InRetry, is("minProperties", 1)},
		{load.InExpect, is("minProperties", 1)},
		{load.InOutput, is("minProperties", 1)},
		{load.InHook, is(
			"oneOf", list(required("run"), required("trigger"), required("ping"), required("webhook"), required("mail")),
			"dependentRequired", is("on", list("ping"), "format", list("webhook")),
			"not", anyOf(required("on", "when"), required("on", "at_most"), required("run", "when"), required("run", "at_most"), required("trigger", "when"), required("trigger", "at_most")))},
	}
}

// mapping is the definition of a mapping: its keys and no others.
func mapping(of load.Mapping, rules object) object {
	properties := object{}
	for _, key := range load.Keys(of) {
		properties = append(properties, member{key.Name, property(of, key)})
	}
	return append(is("type", "object", "properties", properties, "additionalProperties", false), rules...)
}

// property is what a key may have, with what editors show of it.
func property(of load.Mapping, key yamldoc.Entry) object {
	o := value(of, key)
	if takesAway(of, key) {
		o = anyOf(o, is("const", false))
	}
	o = o.with(member{"description", describe(key)})
	if key.Type.Default != "" {
		o = append(o, member{"default", plain(key.Type.Default)})
	}
	return append(o, member{"examples", list(plain(key.Type.Example))})
}

// takesAway reports whether false takes an inherited value of the key away.
func takesAway(of load.Mapping, key yamldoc.Entry) bool {
	switch of {
	case load.InTask, load.InGroup, load.Defaults:
		switch key.Name {
		case "name", "tasks", "command", "cron", "every", "when":
			return false
		case "group":
			return of != load.InGroup
		}
	case load.InRetry, load.InExpect, load.InOutput:
	default:
		return false
	}
	return key.Type.Of != "flag"
}

// value is the schema of the value alone.
func value(of load.Mapping, key yamldoc.Entry) object {
	t := key.Type
	switch {
	case t.Of == "":
		return is("enum", t.Words)
	case t.Of == "group" && of == load.InGroup:
		return ref("name")
	case t.Of == "group":
		return ref("account")
	case t.Of == "tasks" && of == load.Top:
		return ref("topTasks")
	case t.Of == "moments":
		return oneOrMore(is("enum", t.Words), 1)
	case t.Of == "codes":
		return oneOrMore(is("type", "integer", "minimum", t.Least, "maximum", t.Most), 1)
	case t.Of == "integer":
		return is("type", "integer", "minimum", t.Least, "maximum", t.Most)
	case t.Of == "number":
		number := is("type", "number", "minimum", t.Least)
		if t.Most > 0 {
			number = number.with(member{"maximum", t.Most})
		}
		return number
	case key.Name == "when" && t.Of == "condition":
		return ref(t.Of).with(member{"not", is("const", false)})
	case t.Of == "output":
		return anyOf(ref("path"), ref("output"))
	}
	return ref(t.Of)
}

// describe is what the key means and what holds without it, as sentences.
func describe(key yamldoc.Entry) string {
	text := strings.ToUpper(key.Doc[:1]) + key.Doc[1:] + "."
	if key.Type.Without != "" {
		text += " Without it: " + key.Type.Without + "."
	}
	return text
}

// plain is what a YAML of ours stands for.
func plain(yaml string) any {
	value, err := yamldoc.Plain(yaml)
	if err != nil {
		panic(err) // as in JSON
	}
	return value
}
