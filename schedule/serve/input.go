package serve

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

// A param is a parameter that a route knows.
type param struct {
	name  string
	kind  paramKind
	about string
	many  bool // it may be there several times

	byDefault, least, most int64 // of kindInteger; byDefault: unless it is given
}

// A paramKind says how the values of a parameter are read.
type paramKind string

const (
	kindString  paramKind = "string"
	kindBoolean paramKind = "boolean"
	kindInteger paramKind = "integer" // from least to most
	kindBytes   paramKind = "bytes"   // a number of bytes
	kindTime    paramKind = "time"
	kindPast    paramKind = "past" // a time; a duration means that long ago
	kindCursor  paramKind = "cursor"
)

func limitParam(byDefault, most int64) param {
	return param{name: "limit", kind: kindInteger, about: "at most so many items",
		byDefault: byDefault, least: 1, most: most}
}

var cursorParam = param{name: "cursor", kind: kindCursor, about: "where to go on: `next` of the page before"}

// A query has the values of the parameters of a request, read as their kinds say.
type query struct {
	url.Values
	numbers map[string]int64
	times   map[string]time.Time // the zero time for one that is not given
	cursor  cursor
}

// is reports whether a parameter is given and not false: ?source, ?source=true.
func (q query) is(name string) bool { return q.Has(name) && q.Get(name) != "false" }

// readQuery reads the parameters of a request whose schedule is known.
func (r *Visit) readQuery(params []param) error {
	r.query = query{r.URL.Query(), map[string]int64{}, map[string]time.Time{}, cursor{}}
	for _, p := range params {
		given, err := r.query.Get(p.name), error(nil)
		switch p.kind {
		case kindCursor:
			r.query.cursor, err = readCursor(given)
		case kindInteger, kindBytes:
			r.query.numbers[p.name], err = p.readNumber(given)
		case kindTime:
			r.query.times[p.name], err = r.readTime(p.name, given, view.ReadTime)
		case kindPast:
			if ago, derr := yamldoc.ParseDuration(given); derr == nil && ago > 0 {
				r.query.times[p.name] = r.server.Now().Add(-ago).UTC()
			} else {
				r.query.times[p.name], err = r.readTime(p.name, given, view.ReadPast)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkQuery refuses parameters that a route does not know: a misspelt filter would select
// everything.
func checkQuery(params []param, given url.Values) error {
	for name, values := range given {
		if err := checkParam(params, name, values); err != nil {
			return err
		}
	}
	return nil
}

func checkParam(params []param, name string, values []string) error {
	i := slices.IndexFunc(params, func(p param) bool { return p.name == name })
	if i < 0 {
		var names []string
		for _, p := range params {
			names = append(names, p.name)
		}
		hint := "it takes none"
		if len(names) > 0 {
			nearest := yamldoc.DidYouMean(humanize.Nearest(name, names))
			hint = cmp.Or(nearest, "the parameters are in openapi.json")
		}
		return badRequest(hint, "there is no parameter %q", Shortened(name))
	}
	switch p := params[i]; {
	case len(values) > 1 && !p.many:
		return badRequest("", "the parameter %s is there %d times", name, len(values))
	case values[0] == "" && p.kind != kindBoolean:
		return badRequest("leave it out, or give it a value", "the parameter %s is empty", name)
	case p.kind == kindBoolean && !slices.Contains([]string{"", "true", "false"}, values[0]):
		return badRequest("true or false", "%s %q is neither true nor false", name, Shortened(values[0]))
	}
	return nil
}

func (p param) readNumber(given string) (int64, error) {
	if given == "" {
		return p.byDefault, nil
	}
	n, err := strconv.ParseInt(given, 10, 64)
	switch {
	case p.kind == kindBytes && (err != nil || n < 0):
		return 0, badRequest("", "%s %q is not a number of bytes", p.name, Shortened(given))
	case p.kind == kindInteger && (err != nil || n < p.least || n > p.most):
		return 0, badRequest("", "%s %q is not a number from %d to %d", p.name, Shortened(given), p.least, p.most)
	}
	return n, nil
}

type readsTime func(
	text string, now time.Time, zone *time.Location, others ...*time.Location,
) (at time.Time, skipped string, ok bool)

// readTime reads a time as the flags of commands do; "" is the zero time.
func (r *Visit) readTime(name, given string, read readsTime) (time.Time, error) {
	if given == "" {
		return time.Time{}, nil
	}
	at, _, ok := read(given, r.server.Now(), r.Schedule.Location, view.Zones(r.Schedule, time.Local)...)
	if !ok || at.Year() < 1 || at.Year() > 9998 {
		return time.Time{}, badRequest("write it as 2006-01-02T15:04:05Z or 2h ago, and + in a URL as %2B",
			"%s %q is not a time", name, Shortened(given))
	}
	return at.UTC(), nil
}

// A cursor is the item with which a page of a list ended; the zero cursor is before the first page.
type cursor struct {
	at   time.Time // zero in a list that is in no order of time
	item string
}

func (c cursor) String() string {
	micros := ""
	if !c.at.IsZero() {
		micros = strconv.FormatInt(c.at.UnixMicro(), 10)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(micros + "\x00" + c.item))
}

func readCursor(given string) (c cursor, err error) {
	if given == "" {
		return c, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(given)
	micros, item, ok := strings.Cut(string(text), "\x00")
	if err != nil || !ok || item == "" || len(given) > 1000 {
		return c, badCursor()
	}
	if micros != "" {
		n, err := strconv.ParseInt(micros, 10, 64)
		c.at = time.UnixMicro(n).UTC()
		if err != nil || c.at.Year() < 1 || c.at.Year() > 9999 {
			return c, badCursor()
		}
	}
	c.item = item
	return c, nil
}

func badCursor() error {
	return badRequest("leave cursor out to begin at the first page", "the cursor is not one that this list gave")
}

// maxWait is the longest duration that is accepted, and how far ahead something can be asked for.
const maxWait = 10 * 366 * 24 * time.Hour

func readDuration(name string, seconds float64) (time.Duration, error) {
	if !(seconds > 0 && seconds <= maxWait.Seconds()) {
		return 0, badRequest("write it in seconds: 600 for ten minutes", "%s %v is not a time to wait", name, seconds)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// taking returns the handler of a route that takes a body: handle gets it, read as JSON.
func taking[T any](handle func(*Visit, T) (any, error)) func(*Visit) (any, error) {
	return func(r *Visit) (any, error) {
		var body T
		if err := readBody(r.Header.Get("Content-Type"), r.body, &body); err != nil {
			return nil, err
		}
		return handle(r, body)
	}
}

// readBody reads a body as JSON. A body that is missing leaves the zero value.
func readBody(contentType string, body []byte, to any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(contentType); err != nil || kind != "application/json" {
		return NewProblem(http.StatusUnsupportedMediaType,
			"send it with `Content-Type: application/json`", "the body is not JSON")
	}
	// copyValue finds a key that is given twice, and bounds the nesting.
	err := copyValue(&bytes.Buffer{}, json.NewDecoder(bytes.NewReader(body)), 0)
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err == nil {
		err = decoder.Decode(to)
	}
	if err == nil {
		err = expectEnd(decoder)
	}
	if bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		err = errors.New("it is null, and no object")
	}
	if err != nil {
		return badRequest("the fields are in openapi.json", "the body cannot be read: %s", plainJSON(err))
	}
	return nil
}

// A stringList is a list of a body. Null is no list: a script that has no names must not get what
// leaving the list out means.
type stringList []string

func (l *stringList) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		return errors.New("a list is null: leave it out, or write its names")
	}
	return json.Unmarshal(text, (*[]string)(l))
}

// expectEnd returns an error if something comes behind what was read.
func expectEnd(decoder *json.Decoder) error {
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind it")
	}
	return nil
}

// plainJSON says what is wrong with JSON, without names of Go.
func plainJSON(err error) string {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind):
		return fmt.Sprintf("%s cannot be %s", cmp.Or(kind.Field, "it"), kind.Value)
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is no JSON at byte %d", syntax.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "it ends too soon"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// taskKeys returns the keys of the task in the body, as YAML. It does not check them: mistakes are
// found when the schedule is read with them.
func taskKeys(contentType string, body []byte, name string) ([]byte, error) {
	kind, _, _ := mime.ParseMediaType(contentType)
	switch kind {
	case "application/yaml", "application/x-yaml", "text/yaml":
		return body, nil
	case "application/json":
		return yamlOf(body, name)
	}
	return nil, NewProblem(http.StatusUnsupportedMediaType,
		"send it with `Content-Type: application/yaml` or application/json",
		"the body is neither YAML nor JSON")
}

// yamlOf writes the members of a JSON object as keys of YAML. They stay in their order, also inside
// of their values. The name, which is in the path, is left out.
func yamlOf(body []byte, name string) ([]byte, error) {
	badBody := func(err error) ([]byte, error) {
		return nil, badRequest("send one object with the keys of the task",
			"the body cannot be read: %s", plainJSON(err))
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return badBody(errors.Join(err, errors.New("it is no object")))
	}
	var out bytes.Buffer
	seen := map[string]bool{}
	for decoder.More() {
		var line bytes.Buffer
		if err := copyMember(&line, decoder, seen, 1); err != nil {
			return badBody(err)
		}
		if line.String() != `"name": `+oneLine(name) {
			out.WriteString(line.String() + "\n")
		}
	}
	if _, err := decoder.Token(); err != nil {
		return badBody(err)
	}
	if err := expectEnd(decoder); err != nil {
		return badBody(err)
	}
	return out.Bytes(), nil
}

// copyMember writes a member of an object as copyValue does. The error also says that its key is
// there twice: package json takes the last one.
func copyMember(out *bytes.Buffer, decoder *json.Decoder, seen map[string]bool, depth int) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	key := oneLine(token)
	if seen[key] {
		return fmt.Errorf("the key %s is there twice", key)
	}
	seen[key] = true
	out.WriteString(key + ": ")
	return copyValue(out, decoder, depth)
}

// maxNesting is how deep objects and lists of a body may lie in each other.
const maxNesting = 50

// copyValue reads a value and writes it in one line. Members of objects stay in their order. depth
// is how deep the value lies.
func copyValue(out *bytes.Buffer, decoder *json.Decoder, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("it is nested more than %d levels deep", maxNesting)
	}
	start, err := decoder.Token()
	if _, isNested := start.(json.Delim); !isNested || err != nil {
		out.WriteString(oneLine(start))
		return err
	}
	fmt.Fprint(out, start)
	seen := map[string]bool{}
	for comma := ""; decoder.More(); comma = ", " {
		out.WriteString(comma)
		if start == json.Delim('{') {
			err = copyMember(out, decoder, seen, depth+1)
		} else {
			err = copyValue(out, decoder, depth+1)
		}
		if err != nil {
			return err
		}
	}
	end, err := decoder.Token()
	fmt.Fprint(out, end)
	return err
}

// oneLine returns a value as JSON in one line, which is YAML, too.
func oneLine(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.Encode(value)
	return strings.TrimSpace(out.String())
}
