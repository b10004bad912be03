package serve

import (
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/view"
)

// document returns the OpenAPI document of the routes that a server has
// (https://spec.openapis.org/oas/v3.0.3).
func document(c Config, routes []route) ([]byte, error) {
	d := documenter{schemas: map[string]any{}}
	paths := map[string]map[string]any{}
	for _, r := range routes {
		if paths[r.path] == nil {
			paths[r.path] = map[string]any{}
		}
		paths[r.path][strings.ToLower(r.method)] = d.operation(r)
	}
	d.schema(reflect.TypeFor[Problem]())
	return view.JSON(map[string]any{
		"openapi": "3.0.3",
		"info": map[string]any{"title": "sched", "version": c.Version,
			"description": "Tasks, what became of them and why, and what people ask for. " +
				"The objects are as `--json` of the commands prints them."},
		"servers": []any{map[string]any{"url": c.BasePath + prefix}},
		"paths":   paths,
		"components": map[string]any{
			"schemas":         d.schemas,
			"securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer"}},
		},
	})
}

// A documenter makes objects of OpenAPI, and collects the schemas of types by their names.
type documenter struct{ schemas map[string]any }

// everyError are the statuses of problems that any route may answer with.
var everyError = []int{400, 403, 503}

// operation returns the Operation Object of a route.
func (d documenter) operation(r route) map[string]any {
	operation := map[string]any{"summary": r.about, "operationId": operationID(r), "responses": d.responses(r)}
	if parameters := d.parameters(r); len(parameters) > 0 {
		operation["parameters"] = parameters
	}
	switch {
	case r.body != nil:
		operation["requestBody"] = map[string]any{"content": d.content("application/json", reflect.TypeOf(r.body))}
	case r.method == http.MethodPut:
		keys := map[string]any{"schema": map[string]any{"type": "object"}}
		operation["requestBody"] = map[string]any{"required": true,
			"content": map[string]any{"application/json": keys, yamlText: keys}}
	}
	operation["security"] = []any{}
	if r.scope.OfTokens() {
		operation["security"] = []any{map[string]any{"token": []any{}}}
		operation["description"] = "Needs a token of the scope " + string(r.scope) + "."
	}
	return operation
}

// operationID returns the name of a route for programs: getTasksWhy.
func operationID(r route) string {
	id := strings.ToLower(r.method)
	for _, word := range strings.FieldsFunc(r.path, func(c rune) bool { return strings.ContainsRune("/{}.", c) }) {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

// parameters returns the Parameter Objects of a route: of its path, its query and its headers.
func (d documenter) parameters(r route) (all []any) {
	for _, name := range r.pathParams() {
		all = append(all, map[string]any{"name": name, "in": "path",
			"required": true, "schema": map[string]any{"type": "string"}})
	}
	for _, p := range r.params {
		schema := map[string]any{"type": p.kind}
		switch p.kind {
		case kindTime, kindPast:
			schema = map[string]any{"type": "string", "example": "2h ago"}
		case kindCursor:
			schema["type"] = "string"
		case kindBytes:
			schema["type"] = "integer"
		}
		if p.many {
			schema = map[string]any{"type": "array", "items": schema}
		}
		all = append(all, map[string]any{"name": p.name, "in": "query", "description": p.about, "schema": schema})
	}
	header := func(name, about string) {
		all = append(all, map[string]any{"name": name, "in": "header",
			"description": about, "schema": map[string]any{"type": "string"}})
	}
	switch {
	case r.cached():
		header("If-None-Match", "the ETag of an answer that is at hand: 304 when it is still the same")
	case r.kind == eventStreamType:
		header("Last-Event-ID", "the id of the last event that was seen")
	case r.scope == ScopeEdit:
		header("If-Match", "the ETag of the task, where it is there")
	}
	if r.scope == ScopeEdit || r.method == http.MethodDelete {
		header("Sched-Reason", "why, for the audit log")
	}
	return all
}

// responses returns the Response Objects of a route by their statuses.
func (d documenter) responses(r route) map[string]any {
	success := map[string]any{"description": r.about}
	kind := cmp.Or(r.kind, "application/json")
	switch {
	case r.value != nil:
		success["content"] = d.content(kind, reflect.TypeOf(r.value))
	case r.kind != "":
		success["content"] = d.content(kind, reflect.TypeFor[string]())
	}
	if r.alsoKind != "" {
		success["content"].(map[string]any)[r.alsoKind] = map[string]any{"schema": map[string]any{"type": "object"}}
	}
	byStatus := map[string]any{strconv.Itoa(r.status): success}
	if r.alsoStatus != 0 {
		byStatus[strconv.Itoa(r.alsoStatus)] = success
	}
	if r.work == Waiting {
		byStatus["202"] = success
	}
	if r.method == http.MethodPut {
		byStatus["201"] = success
	}
	if r.cached() {
		byStatus["304"] = map[string]any{"description": "It is as it was"}
	}
	statuses := append(slices.Clone(everyError), r.errors...)
	if r.scope.OfTokens() {
		statuses = append(statuses, 401)
	}
	if r.takesBody() {
		statuses = append(statuses, 408)
	}
	for _, status := range statuses {
		byStatus[strconv.Itoa(status)] = map[string]any{"description": http.StatusText(status),
			"content": d.content("application/problem+json", reflect.TypeFor[Problem]())}
	}
	return byStatus
}

// content returns the Media Type Object of a body of a type, by its content type.
func (d documenter) content(kind string, body reflect.Type) map[string]any {
	return map[string]any{kind: map[string]any{"schema": d.schema(body)}}
}

// schema returns the schema of a type. For a struct it is a reference to the schema that is
// collected under its name.
func (d documenter) schema(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		inner := d.schema(t.Elem())
		if inner["$ref"] != nil { // a reference has no other members in OpenAPI 3.0
			return map[string]any{"allOf": []any{inner}, "nullable": true}
		}
		inner["nullable"] = true
		return inner
	case reflect.Slice:
		if t == reflect.TypeFor[json.RawMessage]() {
			return map[string]any{}
		}
		return map[string]any{"type": "array", "items": d.schema(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": true}
	case reflect.Struct:
		if t == reflect.TypeFor[humanize.JSONTime]() || t == reflect.TypeFor[time.Time]() {
			return map[string]any{"type": "string"}
		}
		name := schemaName(t)
		if d.schemas[name] == nil {
			d.schemas[name] = map[string]any{} // for a type that has itself among its fields
			d.schemas[name] = d.object(t)
		}
		return map[string]any{"$ref": "#/components/schemas/" + name}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{}
}

// object returns the schema of a struct: its fields as they are encoded. Fields that are never
// omitted are required.
func (d documenter) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		properties[name] = d.schema(field.Type)
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	slices.Sort(required)
	object := map[string]any{"type": "object", "properties": properties}
	if required = slices.Compact(required); len(required) > 0 {
		object["required"] = required
	}
	return object
}

// schemaName returns the name of a type in the document: its name in Go, and TaskPage for a page of
// tasks.
func schemaName(t reflect.Type) string {
	name := t.Name()
	if element, isPage := strings.CutPrefix(name, "page["); isPage {
		name = strings.TrimSuffix(element[strings.LastIndexByte(element, '.')+1:], "]") + "Page"
	}
	return strings.ToUpper(name[:1]) + name[1:]
}
