package load

import (
	"fmt"

	"sched/schedule"
)

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

// matching accepts scalars. A text must match the pattern.
func matching(pattern string) jsonObject { return object("type", scalar, "pattern", pattern) }

// texts accepts texts that match the pattern, and nothing else.
func texts(pattern string) jsonObject { return object("type", "string", "pattern", pattern) }

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
		"overlapping", anyOf(ref("flag"), object("const", "wait")),
		"text", object("type", scalar),
		"remark", object("type", list("string", "number")),
		"filled", matching(textPattern),
		"word", object("type", list("string", "number"), "pattern", textPattern), // in a place where true was hardly meant as a name
		"words", oneOrMore(ref("word"), 0),
		"someWords", oneOrMore(ref("word"), 1),
		"servers", oneOrMore(object("type", list("string", "number"), "pattern", `^([A-Za-z0-9._-]+=)?[A-Za-z0-9._*?-]+$`), 1),
		"serverNames", oneOrMore(object("type", list("string", "number"), "pattern", `^[A-Za-z0-9._-]+$`), 0),
		"name", named("string", "number"),
		"scheduleName", anyOf(ref("name"), texts(variablePattern)),
		"mutex", named("string", "number"),
		"server", anyOf(object("type", list("string", "number"), "pattern", `^([A-Za-z0-9][A-Za-z0-9._-]{0,127})?$`, "minimum", 0), texts(variablePattern)),
		"triggered", named("string", "number"),
		"pools", object("type", "object", "propertyNames", object("pattern", "^"+namePattern+"$"), "additionalProperties", object("type", "integer", "minimum", 1, "maximum", 1000)),
		"duration", texts("^"+durationPattern+"$"),
		"size", texts(`(?i)^\s*[0-9.]+\s*(K|M|G|T)?B\s*$`),
		"durationOrNone", anyOf(object("const", "none"), ref("duration")),

		"path", ref("word").with(jsonMember{"not", texts(`^~(/|$)`)}),
		"paths", oneOrMore(ref("path"), 0),
		"patterns", oneOrMore(ref("word"), 0),
		"store", anyOf(ref("text"), object("type", "array", "items", matching(`.`), "minItems", 1)),
		"holidays", oneOrMore(texts(`^\s*([^0-9\s]|`+datePattern+`(\s|$))`).with(jsonMember{"not", texts(`^~(/|$)`)}), 0),
		"variables", object("type", "object", "propertyNames", object("minLength", 1, "maxLength", 256, "pattern", `^[^=]+$`),
			"additionalProperties", object("type", scalar, "not", texts(`\$\{file:`))),

		"command", anyOf(ref("filled"), ref("arguments")),
		"arguments", object("type", "array", "minItems", 1, "prefixItems", list(ref("filled")), "items", ref("text")),
		"condition", anyOf(ref("filled"), ref("arguments"), object("type", "array", "maxItems", 0)),
		"cron", oneOrMore(texts(`^\s*(@\S+|\S+(\s+\S+){4,5})\s*$`), 1),
		"every", texts(textPattern),
		"account", object("type", list("string", "number"), "pattern", `^[^ :\t\r\n/,]+$|`+variablePattern),
		"umask", anyOf(object("type", "integer", "minimum", 0, "maximum", 777), texts(`^(0|0o?0*[0-7]{1,3})$`)),

		"windows", anyOf(ref("window"), object("type", "array", "items", ref("window"), "minItems", 1)),
		"window", object("type", "array", "prefixItems", list(texts("^"+timePattern+"$"), texts("^("+timePattern+"|24:00)$")), "minItems", 2, "maxItems", 2),
		"days", oneOrMore(anyOf(
			object("enum", list("weekdays", "weekends", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")),
			texts("^("+anyCase("weekday", "weekend", "sun", "mon", "tue", "wed", "thu", "fri", "sat")+"|"+
				"("+anyCase("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")+")[sS]?|"+anyCase("weekdays", "weekends")+"|[0-7])$"),
			object("type", "integer", "minimum", 0, "maximum", 7)), 1),
		"assertions", oneOrMore(texts(schedule.AssertionPattern()), 0),
		"except", oneOrMore(object("const", "holidays"), 0),

		"hooks", hooksSchema(allOf("hook", required("on"))),
		"hooksAfterAll", hooksSchema(ref("hook")),
		"hooksBeforeARun", hooksSchema(allOf("hook", required("on"), required("when"), required("trigger"))),
		"limit", texts(`^\s*\+?0*([1-9][0-9]?|100)\s* per \s*`+durationPattern+`\s*$`),
	)
}

// hooksSchema accepts a command of a shell, a mapping, or a list of both.
func hooksSchema(mapping jsonObject) jsonObject {
	item := anyOf(object("type", list("string", "number"), "pattern", textPattern), mapping)
	return anyOf(item, object("type", "array", "prefixItems", list(anyOf(item, object("const", false))), "items", item))
}

// allOf is a definition without the values that the other schemas accept.
func allOf(of string, without ...any) jsonObject {
	if len(without) == 1 {
		return ref(of).with(jsonMember{"not", without[0]})
	}
	return ref(of).with(jsonMember{"not", anyOf(without...)})
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
