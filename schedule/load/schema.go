package load

import (
	"bytes"
	"encoding/json"
	"strings"

	"sched/schedule/yamldoc"
)

// This file writes the JSON Schema (draft 2020-12) of schedule.yaml from the rows of Keys.
// schema_kinds.go adds the form of each kind of value, and the rules of mappings say what their
// keys have to do with each other. `sched check` finds what a schema cannot say.

// Modeline is the line by which editors find the schema of a file, at a path relative to it or at a
// URL.
func Modeline(path string) string { return "# yaml-language-server: $schema=" + path }

// SchemaFile is what the schema is called beside a schedule.
const SchemaFile = "schedule.schema.json"

// Schema returns the JSON Schema by which editors complete and check a schedule. The main file and
// included files have the same schema.
func Schema() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(wholeSchema()); err != nil {
		panic(err) // a mistake in a row of the keys, which tests find
	}
	return b.Bytes()
}

func wholeSchema() jsonObject {
	defs := jsonObject{}
	for _, of := range rulesOfMappings() {
		defs = append(defs, jsonMember{string(of.mapping), mappingSchema(of.mapping, of.rules)})
	}
	defs = append(defs, schemaKinds()...)
	defs = append(defs,
		jsonMember{"tasks", object("type", "array", "items", ref("entry"))},
		jsonMember{"topTasks", object("type", "array", "items", ref("topEntry"))},
		jsonMember{"entry", entrySchema(ref("task"))},
		jsonMember{"topEntry", entrySchema(ref("task").with(
			jsonMember{"allOf", list(required("command"))}))},
	)
	return object(
		"$schema", "https://json-schema.org/draft/2020-12/schema",
		"title", "schedule.yaml",
		"description", "A schedule of sched, or a file with tasks that one includes.",
		"if", object("type", "array"), "then", ref("tasks"), "else", ref(string(Top)),
		"$defs", defs,
	)
}

// entrySchema tells groups from tasks as the loader does.
func entrySchema(task jsonObject) jsonObject {
	return object("type", "object",
		"if", anyOf(required("tasks"), required("group").with(jsonMember{"not", anyOf(required("name"), required("command"))})),
		"then", ref(string(InGroup)), "else", task)
}

// mappingRules say how the keys of a mapping depend on each other.
type mappingRules struct {
	mapping Mapping
	rules   jsonObject
}

// rulesOfMappings returns the mappings of the file with their rules.
func rulesOfMappings() []mappingRules {
	return []mappingRules{
		{Top, object("patternProperties", object("^x-", true), "dependentRequired", object("lease", list("store")))},
		{InTask, object("required", list("name"), "not", required("cron", "every"))},
		{InGroup, object("required", list("group", "tasks"), "not", required("cron", "every"))},
		{Defaults, nil},
		{InHistory, nil},
		{InMetrics, object("minProperties", 1)},
		{InMail, object("minProperties", 1)},
		{InRetry, object("minProperties", 1)},
		{InExpect, object("minProperties", 1)},
		{InOutput, object("minProperties", 1)},
		{InHook, object(
			"oneOf", list(required("run"), required("trigger"), required("ping"), required("webhook"), required("mail")),
			"dependentRequired", object("on", list("ping"), "format", list("webhook")),
			"not", anyOf(required("on", "when"), required("on", "at_most"), required("run", "when"), required("run", "at_most"), required("trigger", "when"), required("trigger", "at_most")))},
	}
}

// mappingSchema is the definition of a mapping: its keys and no others.
func mappingSchema(of Mapping, rules jsonObject) jsonObject {
	properties := jsonObject{}
	for _, key := range Keys(of) {
		properties = append(properties, jsonMember{key.Name, propertySchema(of, key)})
	}
	return append(object("type", "object", "properties", properties, "additionalProperties", false), rules...)
}

// propertySchema is what a key may have, with what editors show of it.
func propertySchema(of Mapping, key yamldoc.Entry) jsonObject {
	o := valueSchema(of, key)
	if takesAway(of, key) {
		o = anyOf(o, object("const", false))
	}
	o = o.with(jsonMember{"description", describeKey(key)})
	if key.Type.Default != "" {
		o = append(o, jsonMember{"default", plainValue(key.Type.Default)})
	}
	return append(o, jsonMember{"examples", list(plainValue(key.Type.Example))})
}

// takesAway reports whether false takes an inherited value of the key away.
func takesAway(of Mapping, key yamldoc.Entry) bool {
	switch of {
	case InTask, InGroup, Defaults:
		switch key.Name {
		case "name", "tasks", "command", "cron", "every", "when":
			return false
		case "group":
			return of != InGroup
		}
	case InRetry, InExpect, InOutput:
	default:
		return false
	}
	return key.Type.Of != "flag"
}

// valueSchema is the schema of the value alone.
func valueSchema(of Mapping, key yamldoc.Entry) jsonObject {
	t := key.Type
	switch {
	case t.Of == "":
		return object("enum", t.Words)
	case t.Of == "group" && of == InGroup:
		return ref("name")
	case t.Of == "group":
		return ref("account")
	case t.Of == "tasks" && of == Top:
		return ref("topTasks")
	case t.Of == "moments":
		return oneOrMore(object("enum", t.Words), 1)
	case t.Of == "codes":
		return oneOrMore(object("type", "integer", "minimum", t.Least, "maximum", t.Most), 1)
	case t.Of == "integer":
		return object("type", "integer", "minimum", t.Least, "maximum", t.Most)
	case t.Of == "number":
		number := object("type", "number", "minimum", t.Least)
		if t.Most > 0 {
			number = number.with(jsonMember{"maximum", t.Most})
		}
		return number
	case key.Name == "when" && t.Of == "condition":
		return ref(t.Of).with(jsonMember{"not", object("const", false)})
	case t.Of == "output":
		return anyOf(ref("path"), ref("output"))
	}
	return ref(t.Of)
}

// describeKey is what the key means and what holds without it, as sentences.
func describeKey(key yamldoc.Entry) string {
	text := strings.ToUpper(key.Doc[:1]) + key.Doc[1:] + "."
	if key.Type.Without != "" {
		text += " Without it: " + key.Type.Without + "."
	}
	return text
}

// plainValue is what a YAML of ours stands for.
func plainValue(yaml string) any {
	value, err := yamldoc.Plain(yaml)
	if err != nil {
		panic(err) // as in Schema
	}
	return value
}
