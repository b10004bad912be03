package schema

import "fmt"

// The patterns are written for both dialects that read them: that of editors (ECMA 262) and Go's.
const (
	someText = `\S`                                               // more than white space
	variable = `\$\{`                                             // a text that is expanded before it is judged
	clock    = `([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)` // a part of a duration of Go
	days     = `([0-9]+\.?[0-9]*|\.[0-9]+)d`
	duration = `\+?(` + days + `(` + clock + `)*|(` + clock + `)+)`
	name     = `[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}`
	time     = `([01]?[0-9]|2[0-3]):[0-5][0-9]`
	date     = `([0-9]{4}-)?[0-9]{2}-[0-9]{2}`
)

// scalar is what YAML takes for a text, a number or true and false: where a text is wanted, all of them are one.
var scalar = list("string", "number", "boolean")

// matching accepts scalars; of those that are texts such as match the pattern.
func matching(pattern string) object { return is("type", scalar, "pattern", pattern) }

// texts accepts texts that match the pattern, and nothing else.
func texts(pattern string) object { return is("type", "string", "pattern", pattern) }

// oneOrMore accepts one item or a list of them; with least 1 an empty list is refused.
func oneOrMore(item object, least int) object {
	items := is("type", "array", "items", item)
	if least > 0 {
		items = items.with(member{"minItems", least})
	}
	return anyOf(item, items)
}

// named accepts names. Numbers are names, too, but no negative number: a name begins with a letter
// or a digit.
func named(types ...any) object {
	return is("type", types, "pattern", "^"+name+"$", "minimum", 0)
}

// kinds returns the definitions by the names of Type.Of, without mappings and kinds of property. It
// is a function because ticks need none of it.
func kinds() object {
	return is(
		"flag", is("type", "boolean"),
		"overlapping", anyOf(ref("flag"), is("const", "wait")),
		"text", is("type", scalar),
		"remark", is("type", list("string", "number")),
		"filled", matching(someText),
		"word", is("type", list("string", "number"), "pattern", someText), // in a place where true was hardly meant as a name
		"words", oneOrMore(ref("word"), 0),
		"someWords", oneOrMore(ref("word"), 1),
		"servers", oneOrMore(is("type", list("string", "number"), "pattern", `^([A-Za-z0-9._-]+=)?[A-Za-z0-9._*?-]+$`), 1),
		"serverNames", oneOrMore(is("type", list("string", "number"), "pattern", `^[A-Za-z0-9._-]+$`), 0),
		"name", named("string", "number"),
		"scheduleName", anyOf(ref("name"), texts(variable)),
		"mutex", named("string", "number"),
		"server", anyOf(is("type", list("string", "number"), "pattern", `^([A-Za-z0-9][A-Za-z0-9._-]{0,127})?$`, "minimum", 0), texts(variable)),
		"triggered", named("string", "number"),
		"pools", is("type", "object", "propertyNames", is("pattern", "^"+name+"$"), "additionalProperties", is("type", "integer", "minimum", 1, "maximum", 1000)),
		"duration", texts("^"+duration+"$"),
		"size", texts(`(?i)^\s*[0-9.]+\s*(K|M|G|T)?B\s*$`),
		"durationOrNone", anyOf(is("const", "none"), ref("duration")),

		"path", ref("word").with(member{"not", texts(`^~(/|$)`)}),
		"paths", oneOrMore(ref("path"), 0),
		"patterns", oneOrMore(ref("word"), 0),
		"store", anyOf(ref("text"), is("type", "array", "items", matching(`.`), "minItems", 1)),
		"holidays", oneOrMore(texts(`^\s*([^0-9\s]|`+date+`(\s|$))`).with(member{"not", texts(`^~(/|$)`)}), 0),
		"variables", is("type", "object", "propertyNames", is("minLength", 1, "maxLength", 256, "pattern", `^[^=]+$`),
			"additionalProperties", is("type", scalar, "not", texts(`\$\{file:`))),

		"command", anyOf(ref("filled"), ref("arguments")),
		"arguments", is("type", "array", "minItems", 1, "prefixItems", list(ref("filled")), "items", ref("text")),
		"condition", anyOf(ref("filled"), ref("arguments"), is("type", "array", "maxItems", 0)),
		"cron", oneOrMore(texts(`^\s*(@\S+|\S+(\s+\S+){4,5})\s*$`), 1),
		"every", texts(someText),
		"account", is("type", list("string", "number"), "pattern", `^[^ :\t\r\n/,]+$|`+variable),
		"umask", anyOf(is("type", "integer", "minimum", 0, "maximum", 777), texts(`^(0|0o?0*[0-7]{1,3})$`)),

		"windows", anyOf(ref("window"), is("type", "array", "items", ref("window"), "minItems", 1)),
		"window", is("type", "array", "prefixItems", list(texts("^"+time+"$"), texts("^("+time+"|24:00)$")), "minItems", 2, "maxItems", 2),
		"days", oneOrMore(anyOf(
			is("enum", list("weekdays", "weekends", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")),
			texts("^("+anyCase("weekday", "weekend", "sun", "mon", "tue", "wed", "thu", "fri", "sat")+"|"+
				"("+anyCase("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")+")[sS]?|"+anyCase("weekdays", "weekends")+"|[0-7])$"),
			is("type", "integer", "minimum", 0, "maximum", 7)), 1),
		"except", oneOrMore(is("const", "holidays"), 0),

		"hooks", hooks(allOf("hook", required("on"))),
		"hooksAfterAll", hooks(ref("hook")),
		"hooksBeforeARun", hooks(allOf("hook", required("on"), required("when"), required("trigger"))),
		"limit", texts(`^\s*\+?0*([1-9][0-9]?|100)\s* per \s*`+duration+`\s*$`),
	)
}

// hooks accepts a command of a shell, a mapping, or a list of both.
func hooks(mapping object) object {
	item := anyOf(is("type", list("string", "number"), "pattern", someText), mapping)
	return anyOf(item, is("type", "array", "prefixItems", list(anyOf(item, is("const", false))), "items", item))
}

// allOf is a definition without what the schemas accept.
func allOf(of string, without ...any) object {
	if len(without) == 1 {
		return ref(of).with(member{"not", without[0]})
	}
	return ref(of).with(member{"not", anyOf(without...)})
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
