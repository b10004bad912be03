package serve

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
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
