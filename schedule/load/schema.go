package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sched/schedule/assertion"
	"sched/schedule/yamldoc"
)

// This file writes the JSON Schema (draft 2020-12) of schedule.yaml from the rows of Keys.
// schemaKinds adds the form of each kind of value, and the rules of mappings say what their
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
	for _, m := range mappings() {
		defs = append(defs, jsonMember{string(m.name), m.schema()})
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
	isTask := anyOf(required("name"), required("command"))
	return object("type", "object",
		"if", anyOf(required("tasks"), required("group").with(jsonMember{"not", isTask})),
		"then", ref(string(InGroup)),
		"else", task)
}

// mappingKeys are the keys of a Mapping, with the rules for keys that need or exclude each
// other.
type mappingKeys struct {
	name  Mapping
	keys  []yamldoc.Entry
	rules jsonObject
}

func mappings() []mappingKeys {
	notEmpty := object("minProperties", 1)
	oneTiming := anyOf(required("cron", "every"), required("cron", "schedule"), required("every", "schedule"))
	return []mappingKeys{
		{Top, topKeys.Entries(0), object(
			"patternProperties", object("^x-", true),
			"dependentRequired", object("lease", list("store")))},
		{InTask, taskKeys.Entries(taskScope), object(
			"required", list("name"),
			"not", oneTiming)},
		{InGroup, taskKeys.Entries(groupScope), object(
			"required", list("group", "tasks"),
			"not", oneTiming)},
		{Defaults, taskKeys.Entries(defaultsScope), nil},
		{InHistory, historyKeys.Entries(0), nil},
		{InMetrics, metricsKeys.Entries(0), notEmpty},
		{InMail, mailKeys.Entries(0), notEmpty},
		{InCalendar, calendarKeys.Entries(0), nil},
		{InPause, pauseKeys.Entries(0), object(
			"anyOf", list(required("from", "until"), required("from", "for"), required("every", "for")),
			"not", anyOf(required("every", "from"), required("every", "until"), required("until", "for")))},
		{InRetry, retryKeys.Entries(0), notEmpty},
		{InParam, paramKeys.Entries(0), object("not", required("values", "pattern"))},
		{InTime, timeKeys.Entries(0), object("oneOf", list(required("every"), required("at"), required("cron")))},
		{InExpect, expectKeys.Entries(0), notEmpty},
		{InLimits, limitKeys.Entries(0), notEmpty},
		{InOutput, outputKeys.Entries(0), notEmpty},
		{InValue, valueKeys.Entries(0), nil},
		{InBudget, budgetKeys.Entries(0), required("at_most", "per")},
		{InPrinted, printedKeys.Entries(0), notEmpty},
		{InFile, fileKeys.Entries(0), required("file")},
		{InHook, hookKeys.Entries(0), object(
			"oneOf", list(required("run"), required("trigger"),
				required("ping"), required("webhook"), required("mail"), required("sentry"), required("preset")),
			"dependentRequired", object("on", list("ping"), "format", list("webhook"), "with", list("preset")),
			"allOf", presetRules(),
			"not", anyOf(
				required("on", "when"), required("on", "at_most"),
				required("sentry", "when"), required("sentry", "at_most"),
				required("run", "when"), required("run", "at_most"),
				required("trigger", "when"), required("trigger", "at_most")))},
	}
}

func (m mappingKeys) schema() jsonObject {
	properties := jsonObject{}
	for _, key := range m.keys {
		properties = append(properties, jsonMember{key.Name, propertySchema(m.name, key)})
	}
	return append(object("type", "object", "properties", properties, "additionalProperties", false), m.rules...)
}

// propertySchema accepts the values of a key. It also has the texts that editors show for the key.
func propertySchema(mapping Mapping, key yamldoc.Entry) jsonObject {
	o := valueSchema(mapping, key)
	if takesAway(mapping, key) {
		o = anyOf(o, object("const", false))
	}
	o = o.with(jsonMember{"description", describeKey(key)})
	if key.Type.Default != "" {
		o = append(o, jsonMember{"default", plainValue(key.Type.Default)})
	}
	return append(o, jsonMember{"examples", list(plainValue(key.Type.Example))})
}

// takesAway reports whether false takes an inherited value of the key away.
func takesAway(mapping Mapping, key yamldoc.Entry) bool {
	inherits := slices.Contains([]Mapping{InTask, InGroup, Defaults, InRetry, InExpect, InLimits, InOutput}, mapping)
	isName := key.Type.Of == "group" && mapping == InGroup
	return inherits && !isName && !key.Type.NoFalse && key.Type.Of != "flag"
}

func valueSchema(mapping Mapping, key yamldoc.Entry) jsonObject {
	t := key.Type
	switch {
	case t.Of == "":
		return object("enum", t.Words)
	case t.Of == "group" && mapping == InGroup:
		return ref("name")
	case t.Of == "group":
		return ref("account")
	case t.Of == "tasks" && mapping == Top:
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
	case t.Of == "condition" && t.NoFalse:
		return ref(t.Of).with(jsonMember{"not", object("const", false)})
	case t.Of == "output":
		return anyOf(ref("path"), ref("output"))
	}
	return ref(t.Of)
}

// describeKey says in sentences what the key means, and what holds without it.
func describeKey(key yamldoc.Entry) string {
	text := strings.ToUpper(key.Doc[:1]) + key.Doc[1:] + "."
	if key.Type.Without != "" {
		text += " Without it: " + key.Type.Without + "."
	}
	return text
}

// plainValue returns the value of a YAML text from a row of the keys.
func plainValue(yaml string) any {
	value, err := yamldoc.DecodePlain(yaml)
	if err != nil {
		panic(err) // as in Schema
	}
	return value
}

// A jsonObject is a JSON object whose members stay in their order.
type jsonObject []jsonMember

type jsonMember struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order, and <, > and & as they are.
func (o jsonObject) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for i, m := range o {
		b.WriteByte("{,"[min(i, 1)]) // "{" before the first member, "," before the others
		if err := e.Encode(m.name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := e.Encode(m.value); err != nil {
			return nil, err
		}
	}
	if len(o) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// with returns the object with more members. It does not change o.
func (o jsonObject) with(more ...jsonMember) jsonObject { return append(o[:len(o):len(o)], more...) }

// list returns its items, as a value of object.
func list(items ...any) []any { return items }

// object returns an object of names and values in turn.
func object(pairs ...any) jsonObject {
	var o jsonObject
	for i := 0; i < len(pairs); i += 2 {
		o = append(o, jsonMember{pairs[i].(string), pairs[i+1]})
	}
	return o
}

// ref accepts what the definition with the name accepts.
func ref(name string) jsonObject { return object("$ref", "#/$defs/"+name) }

// anyOf accepts what one of the schemas does.
func anyOf(schemas ...any) jsonObject { return object("anyOf", schemas) }

// required accepts objects with the keys, and anything that is no object.
func required(keys ...any) jsonObject { return object("required", keys) }

// The patterns are written for both dialects that read them: ECMA 262 in editors, and Go's.
const (
	textPattern     = `\S`                                               // more than white space
	variablePattern = `\$\{`                                             // a text that is expanded before it is judged
	clockPattern    = `([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)` // a part of a duration of Go
	daysPattern     = `([0-9]+\.?[0-9]*|\.[0-9]+)d`
	durationPattern = `\+?(` + daysPattern + `(` + clockPattern + `)*|(` + clockPattern + `)+)`
	namePattern     = `[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}`
	timePattern     = `([01]?[0-9]|2[0-3]):[0-5][0-9]`
	datePattern     = `([0-9]{4}-)?[0-9]{2}-[0-9]{2}`
)

// scalar lists the types of scalars in YAML: text, number, boolean. A key that wants a text takes
// all of them.
var scalar = list("string", "number", "boolean")

// scalarMatching accepts scalars. A text must match the pattern.
func scalarMatching(pattern string) jsonObject { return object("type", scalar, "pattern", pattern) }

// textMatching accepts texts that match the pattern, and nothing else.
func textMatching(pattern string) jsonObject { return object("type", "string", "pattern", pattern) }

// oneOrMore accepts one item or a list of them; with least 1 an empty list is refused.
func oneOrMore(item jsonObject, least int) jsonObject {
	items := object("type", "array", "items", item)
	if least > 0 {
		items = items.with(jsonMember{"minItems", least})
	}
	return anyOf(item, items)
}

// named accepts names. A number is a name, too, unless it is negative: a name begins with a letter
// or a digit.
func named(types ...any) jsonObject {
	return object("type", types, "pattern", "^"+namePattern+"$", "minimum", 0)
}

// schemaKinds returns the definitions by the names of Type.Of, without mappings and kinds of
// property. It is a function because ticks need none of it.
func schemaKinds() jsonObject {
	return object(
		"flag", object("type", "boolean"),
		"overlapping", anyOf(ref("flag"), object("enum", list("wait", "replace"))),
		"text", object("type", scalar),
		"remark", object("type", list("string", "number")),
		"filled", scalarMatching(textPattern),
		"word", object("type", list("string", "number"), "pattern", textPattern), // true is hardly meant as a word
		"words", oneOrMore(ref("word"), 0),
		"names", oneOrMore(ref("name"), 1),
		"someWords", oneOrMore(ref("word"), 1),
		"servers", oneOrMore(object(
			"type", list("string", "number"),
			"pattern", `^([A-Za-z0-9._-]+=)?[A-Za-z0-9._*?-]+$`), 1),
		"serverNames", oneOrMore(object("type", list("string", "number"), "pattern", `^[A-Za-z0-9._-]+$`), 0),
		"name", named("string", "number"),
		"scheduleName", anyOf(ref("name"), textMatching(variablePattern)),
		"mutex", named("string", "number"),
		"server", anyOf(
			object("type", list("string", "number"), "pattern", `^([A-Za-z0-9][A-Za-z0-9._-]{0,127})?$`, "minimum", 0),
			textMatching(variablePattern)),
		"triggered", named("string", "number"),
		"pools", object("type", "object",
			"propertyNames", object("pattern", "^"+namePattern+"$"),
			"additionalProperties", object("type", "integer", "minimum", 1, "maximum", 1000)),
		"pauses", oneOrMore(ref("pause"), 0),
		"duration", textMatching("^"+durationPattern+"$"),
		"size", textMatching(`(?i)^\s*[0-9.]+\s*[KMGT]i?B?\s*$`),
		"percent", textMatching(`^\s*[+-]?[0-9]+%\s*$`),
		"durationOrNone", anyOf(object("const", "none"), ref("duration")),

		"bound", scalarMatching(`^\s*-?[0-9.][0-9.eE+-]*\s*[A-Za-z%0-9]*\s*$`),
		"unit", ref("word"),
		"report", object("type", "object", "additionalProperties", anyOf(ref("value"), object("const", false))),
		"required", oneOrMore(anyOf(ref("path"), ref("file")), 0),
		"path", ref("word").with(jsonMember{"not", textMatching(`^~(/|$)`)}),
		"paths", oneOrMore(ref("path"), 0),
		"patterns", oneOrMore(ref("word"), 0),
		"store", anyOf(ref("text"), object("type", "array", "items", scalarMatching(`.`), "minItems", 1)),
		"holidays", oneOrMore(
			textMatching(`^\s*([^0-9\s]|`+datePattern+`(\s|$))`).with(jsonMember{"not", textMatching(`^~(/|$)`)}), 0),
		"calendars", object("type", "object",
			"propertyNames", object("pattern", "^"+namePattern+"$"),
			"additionalProperties", anyOf(ref("holidays"), ref("calendar"))),
		"workdays", anyOf(ref("days"), textMatching(`^\s*[A-Za-z0-7]+\s*-\s*[A-Za-z0-7]+\s*$`)),
		"day", textMatching(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`),
		"variables", object("type", "object",
			"propertyNames", object("minLength", 1, "maxLength", 256, "pattern", `^[^=]+$`),
			"additionalProperties", object("type", scalar, "not", textMatching(`\$\{(file|credential):`))),
		"variableNames", oneOrMore(textMatching("^[A-Za-z_][A-Za-z0-9_.]*$"), 0),
		"plain", object("type", scalar, "not", textMatching(variablePattern)),
		"values", oneOrMore(ref("text"), 1),
		"params", object("type", "object",
			"propertyNames", object("maxLength", 256, "pattern", "^[A-Za-z_][A-Za-z0-9_]*$",
				"not", object("pattern", "^(SCHED_|LD_|DYLD_|PATH$|BASH_ENV$)")),
			"additionalProperties", anyOf(ref("plain"), ref("param"))),

		"command", anyOf(ref("filled"), ref("arguments")),
		"arguments", object("type", "array", "minItems", 1, "prefixItems", list(ref("filled")), "items", ref("text")),
		"condition", anyOf(ref("filled"), ref("arguments"), object("type", "array", "maxItems", 0)),
		"cron", oneOrMore(textMatching(`^\s*(@\S+|\S+(\s+\S+){4,5})\s*$`), 1),
		"every", textMatching(textPattern),
		"times", anyOf(ref("time"), object("type", "array", "items", ref("time"), "minItems", 1)),
		"moment", textMatching(`^[0-9]{4}-[0-9]{2}-[0-9]{2}`+
			`([ T][0-9]{2}:[0-9]{2}(:[0-9]{2})?([Zz]|[+-][0-9]{2}:[0-9]{2})?)?$`),
		"account", object("type", list("string", "number"), "pattern", `^[^ :\t\r\n/,]+$|`+variablePattern),
		"umask", anyOf(object("type", "integer", "minimum", 0, "maximum", 777), textMatching(`^(0|0o?0*[0-7]{1,3})$`)),

		"windows", anyOf(ref("window"), object("type", "array", "items", ref("window"), "minItems", 1)),
		"window", object("type", "array",
			"prefixItems", list(textMatching("^"+timePattern+"$"), textMatching("^("+timePattern+"|24:00)$")),
			"minItems", 2, "maxItems", 2),
		"days", oneOrMore(anyOf(
			object("enum", list("weekdays", "weekends",
				"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")),
			textMatching("^("+anyCase("weekday", "weekend", "sun", "mon", "tue", "wed", "thu", "fri", "sat")+"|"+
				"("+anyCase("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")+")[sS]?|"+
				anyCase("weekdays", "weekends")+"|[0-7])$"),
			object("type", "integer", "minimum", 0, "maximum", 7)), 1),
		"assertions", oneOrMore(textMatching(assertion.Pattern()), 0),
		"except", oneOrMore(object("const", "holidays"), 0),

		"hooks", hooksSchema(hookWithout(required("on"), required("sentry"), required("after"))),
		"hooksOfFailures", hooksSchema(hookWithout(required("on"), required("sentry"))),
		"hooksAfterAll", hooksSchema(hookWithout(required("after"))),
		"hooksBeforeARun", hooksSchema(hookWithout(
			required("on"), required("sentry"), required("after"), required("when"), required("trigger"))),
		"preset", anyOf(object("enum", presetNames()), textMatching(`\.ya?ml$`)),
		"with", object("type", "object", "additionalProperties", ref("text")),
		"limit", textMatching(`^\s*\+?0*([1-9][0-9]?|100)\s* per \s*`+durationPattern+`\s*$`),
	)
}

// hooksSchema accepts a command of a shell, a mapping, or a list of both.
func hooksSchema(mapping jsonObject) jsonObject {
	item := anyOf(object("type", list("string", "number"), "pattern", textPattern), mapping)
	return anyOf(item, object("type", "array", "prefixItems", list(anyOf(item, object("const", false))), "items", item))
}

// presetRules say which parameters the presets of sched have.
func presetRules() (rules []any) {
	l, err := newLoader(SchemaFile, Options{})
	if err != nil {
		panic(err) // as in Schema
	}
	for _, name := range presetNames() {
		d, with, needs := openPreset(l, yamldoc.NewText(name), name), jsonObject{}, []any{}
		for _, p := range d.params {
			with = append(with, jsonMember{p.name, object("type", scalar, "description", p.about)})
			if !p.isOptional {
				needs = append(needs, p.name)
			}
		}
		rules = append(rules, object(
			"if", required("preset").with(jsonMember{"properties", object("preset", object("const", name))}),
			"then", required("with").with(jsonMember{"properties", object("with", object(
				"properties", with, "required", needs, "additionalProperties", false))})))
	}
	return rules
}

// hookWithout accepts a mapping of a hook that none of the excluded schemas accepts.
func hookWithout(excluded ...any) jsonObject {
	if len(excluded) == 1 {
		return ref("hook").with(jsonMember{"not", excluded[0]})
	}
	return ref("hook").with(jsonMember{"not", anyOf(excluded...)})
}

// anyCase is the pattern of words in any case.
func anyCase(words ...string) string {
	pattern := ""
	for i, word := range words {
		if i > 0 {
			pattern += "|"
		}
		for _, c := range word {
			pattern += fmt.Sprintf("[%c%c]", c, c-'a'+'A')
		}
	}
	return pattern
}

// Keys returns the keys that the mapping may have, as the loader reads them and in that order.
func Keys(mapping Mapping) []yamldoc.Entry {
	for _, m := range mappings() {
		if m.name == mapping {
			return m.keys
		}
	}
	if mapping != Included {
		panic("load: there is no mapping " + string(mapping))
	}
	return includeKeys.Entries(0)
}

// A Mapping is a kind of mapping in the files of a schedule, with keys of its own.
type Mapping string

// The mappings are a closed list. A mapping after Included is the value of the key of its name;
// InHook is a value of each key of hooks.
const (
	Top      Mapping = "schedule"
	InTask   Mapping = "task"
	InGroup  Mapping = "taskGroup"
	Defaults Mapping = "defaults"
	Included Mapping = "included"

	InHistory  Mapping = "history"
	InMetrics  Mapping = "metrics"
	InMail     Mapping = "mail"
	InPause    Mapping = "pause"
	InCalendar Mapping = "calendar"
	InRetry    Mapping = "retry"
	InParam    Mapping = "param"
	InTime     Mapping = "time"
	InExpect   Mapping = "expect"
	InLimits   Mapping = "limits"
	InOutput   Mapping = "output"
	InValue    Mapping = "value"
	InBudget   Mapping = "budget"
	InPrinted  Mapping = "printed"
	InFile     Mapping = "file"
	InHook     Mapping = "hook"
)
