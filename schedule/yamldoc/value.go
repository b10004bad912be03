package yamldoc

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
)

// The methods of this file read the value of r.Key, or an item of it. They return false if the
// value is wrong, and have recorded the problem then. A hint for that problem may be empty: then a
// value of the wrong kind gets the example of its key as a hint.

// RequireValue refuses a key that has no value after it, because that is more often forgotten than
// meant.
func (r *Reader) RequireValue(n *Node, hint string) bool {
	return require(r, n, r.Key, anyKind, hint)
}

// RequireMapping refuses a value that is no mapping. The message calls the value by its name.
func (r *Reader) RequireMapping(n *Node, name, hint string) bool {
	return require(r, n, name, nodeKind{(*Node).IsMapping, "a mapping of keys and values"}, hint)
}

// RequireList refuses a value that is no list.
func (r *Reader) RequireList(n *Node, hint string) bool {
	return require(r, n, r.Key, nodeKind{(*Node).IsList, "a list"}, hint)
}

// requireScalar refuses a missing value, a list and a mapping. kind says what the value must be.
func requireScalar(r *Reader, n *Node, kind string) bool {
	return require(r, n, r.Key, nodeKind{(*Node).IsScalar, kind}, "")
}

// A nodeKind is a kind of node, and what messages call it.
type nodeKind struct {
	is   func(*Node) bool
	name string
}

// anyKind is for a value that only has to be there.
var anyKind = nodeKind{is: func(*Node) bool { return true }}

// require refuses a missing value, and a value that is not of the kind. The message calls the value
// by its name.
func require(r *Reader, n *Node, name string, kind nodeKind, hint string) bool {
	hint = cmp.Or(hint, exampleHint(r))
	switch {
	case n.IsNull():
		r.Problemf(n, hint, "%s has no value", name)
	case !kind.is(n):
		r.Problemf(n, hint, "%s must be %s, not %s", name, kind.name, n.Describe())
	default:
		return true
	}
	return false
}

// exampleHint shows the current key with a value that it may have; "" if its table has no example.
func exampleHint(r *Reader) string {
	if r.example == "" {
		return ""
	}
	name := r.Key[strings.LastIndexByte(r.Key, '.')+1:]
	return "write it as in `" + name + ": " + r.example + "`"
}

// RefuseBool refuses an unquoted true or false. It is for texts that nobody means to be called
// true.
func (r *Reader) RefuseBool(n *Node, hint string) bool {
	if n.IsBool() {
		r.Problemf(n, hint, "%s must be text, not %s", r.Key, n.Describe())
		return false
	}
	return true
}

// QuotesHint is the hint for a true or false that may be meant as a name.
const QuotesHint = "write it in quotes if that is its name"

// Text reads any scalar as it is written: 123 and true are texts, too. It may be empty.
func (r *Reader) Text(n *Node) (string, bool) {
	if !requireScalar(r, n, "text") {
		return "", false
	}
	if strings.IndexByte(n.Value, 0) >= 0 {
		r.Problemf(n, "", "%s holds a null character, which no program can be given", r.Key)
		return "", false
	}
	return n.Value, true
}

// NonEmptyText reads a text that is more than white space.
func (r *Reader) NonEmptyText(n *Node) (string, bool) {
	text, ok := r.Text(n)
	return text, ok && refuseEmpty(r, n, text)
}

// refuseEmpty refuses a text of n that is no more than white space.
func refuseEmpty(r *Reader, n *Node, text string) bool {
	if strings.TrimSpace(text) == "" {
		r.Problemf(n, "", "%s is empty", r.Key)
		return false
	}
	return true
}

// RefuseEmptyList refuses an empty list. It is for values whose empty list could mean both
// everything and nothing.
func (r *Reader) RefuseEmptyList(n *Node, hint string) bool {
	if n.IsList() && n.IsEmpty() {
		r.Problemf(n, hint, "%s is an empty list", r.Key)
		return false
	}
	return true
}

// Bool reads true or false; the other words that YAML 1.1 had for them are refused.
func (r *Reader) Bool(n *Node) (value, ok bool) {
	if n.IsBool() {
		return n.Value[0] == 't' || n.Value[0] == 'T', true
	}
	if !r.RequireValue(n, "") {
		return false, false
	}
	r.Problemf(n, BoolHint(n), "%s must be true or false, not %s", r.Key, n.Describe())
	return false, false
}

// BoolHint says what to write in place of a word that other programs take for true or false; "" for
// any other value.
func BoolHint(n *Node) string {
	if !n.IsScalar() {
		return ""
	}
	switch strings.ToLower(n.Value) {
	case "yes", "on", "y", "1":
		return "write true"
	case "no", "off", "n", "0":
		return "write false"
	case "true", "false":
		return "remove the quotes"
	}
	return ""
}

// NoLimit is the upper bound of a number that needs none. No message names it.
const NoLimit = math.MaxInt32

// Integer reads a whole number from least to most.
func (r *Reader) Integer(n *Node, least, most int) (int, bool) {
	if !r.RequireValue(n, "") {
		return 0, false
	}
	if n.IsInteger() || isHuge(n) {
		v, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, 64)
		switch {
		case err == nil && int64(least) <= v && v <= int64(most):
			return int(v), true
		case most != NoLimit:
			r.Problemf(n, "", "%s must be from %d to %d, not %s", r.Key, least, most, Shorten(n.Value))
		case v > NoLimit: // also after an error: then v is the nearest number that fits into it
			r.Problemf(n, "", "%s %s is too large", r.Key, Shorten(n.Value))
		default:
			r.Problemf(n, "", "%s must be at least %d, not %s", r.Key, least, Shorten(n.Value))
		}
		return 0, false
	}
	r.Problemf(n, "", "%s must be a whole number, not %s", r.Key, n.Describe())
	return 0, false
}

// isHuge reports whether a node is a whole number that YAML reads as a float, because it is too
// large.
func isHuge(n *Node) bool {
	digits := strings.TrimLeft(n.Value, "+-")
	return n.IsScalar() && n.Tag == "!!float" && strings.Trim(digits, "0123456789_") == ""
}

// Number reads a number that is at least least.
func (r *Reader) Number(n *Node, least float64) (float64, bool) {
	if !r.RequireValue(n, "") {
		return 0, false
	}
	if n.IsScalar() && (n.Tag == "!!int" || n.Tag == "!!float") {
		v, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
		switch {
		case err == nil && least <= v && v <= NoLimit:
			return v, true
		case v > NoLimit:
			r.Problemf(n, "", "%s %s is too large", r.Key, Shorten(n.Value))
		default:
			r.Problemf(n, "", "%s must be at least %v, not %s", r.Key, least, Shorten(n.Value))
		}
		return 0, false
	}
	hint := ""
	if text, ok := strings.CutSuffix(n.Value, "%"); ok {
		if percent, err := strconv.ParseFloat(text, 64); err == nil {
			hint = fmt.Sprintf("write %g", percent/100)
		}
	}
	r.Problemf(n, hint, "%s must be a number, not %s", r.Key, n.Describe())
	return 0, false
}

// OneOf reads one of the words.
func (r *Reader) OneOf(n *Node, words ...string) (string, bool) {
	text, ok := r.Text(n)
	if ok && !slices.Contains(words, text) {
		r.Problemf(n, DidYouMean(r.Nearest(text, words)),
			"%s must be %s, not %s", r.Key, humanize.Or(words), n.Describe())
		return "", false
	}
	return text, ok
}

// Duration reads a duration that is at least least (ParseDuration).
func (r *Reader) Duration(n *Node, least time.Duration) (time.Duration, bool) {
	if !requireScalar(r, n, "a duration such as 90s") {
		return 0, false
	}
	d, err := ParseDuration(n.Value)
	switch {
	case err != nil && isNumber(n.Value):
		r.Problemf(n, "write "+n.Value+"s, "+n.Value+"m or "+n.Value+"h", "%s %s has no unit", r.Key, n.Value)
	case errors.Is(err, errTooLong):
		r.Problemf(n, "", "%s %s is longer than 100 years", r.Key, Shorten(n.Value))
	case err != nil:
		r.Problemf(n, durationHint(n.Value), "%s %s is not a duration", r.Key, Quote(n.Value))
	case d < 0:
		r.Problemf(n, "", "%s %s is negative", r.Key, Shorten(n.Value))
	case d < least:
		r.Problemf(n, atLeast(least), "%s %s is too short", r.Key, Shorten(n.Value))
	default:
		return d, true
	}
	return 0, false
}

// atLeast returns the hint for a duration that is shorter than least.
func atLeast(least time.Duration) string {
	if least < time.Second {
		return ""
	}
	return "it takes at least " + humanize.Setting(least)
}

// isNumber reports whether a text is a number without a unit, short enough for a hint.
func isNumber(text string) bool {
	v, err := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) && len(text) < 20
}

var (
	errNoDuration = errors.New("not a duration")
	errTooLong    = errors.New("longer than 100 years")
)

// maxDuration is the longest duration: two of them can be added without an overflow.
const maxDuration = 100 * 365 * 24 * time.Hour

// goDuration matches the form of a duration of Go. If time.ParseDuration refuses such a text, the
// duration is too long.
var goDuration = humanize.Pattern(`^[-+]?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`)

// durationInWords matches a number with a unit in words, such as "5 minutes".
var durationInWords = humanize.Pattern(
	`^(\d+) ?(s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?)$`)

// durationHint says how a duration is written. If the text is a duration in words, the hint has it.
func durationHint(text string) string {
	found := durationInWords().FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if found == nil {
		return "a duration is written as 90s, 20m, 1h30m or 30d"
	}
	number, unit := found[1], found[2][:1]
	return "write " + number + unit
}

// ParseDuration reads a duration: days of 24 hours, a duration of Go, or both: 30d, 90s, 1d12h. A
// sign before the days is for both. 0 needs a unit, too.
func ParseDuration(text string) (time.Duration, error) {
	days, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		return parseGoDuration(text)
	}
	d, err := parseDays(days)
	if err != nil || rest == "" {
		return d, err
	}
	if strings.ContainsAny(rest[:1], "+-") {
		return 0, errNoDuration
	}
	clock, err := parseGoDuration(rest)
	if err != nil {
		return 0, err
	}
	if strings.HasPrefix(text, "-") {
		clock = -clock
	}
	if (d + clock).Abs() > maxDuration {
		return 0, errTooLong
	}
	return d + clock, nil
}

// parseDays reads a number of days, which may have a fraction.
func parseDays(text string) (time.Duration, error) {
	days, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), strings.ContainsAny(text, "xXeEpP_nNiI"):
		return 0, errNoDuration
	case math.Abs(days) > maxDuration.Hours()/24:
		return 0, errTooLong
	}
	return time.Duration(days * 24 * float64(time.Hour)), nil
}

// parseGoDuration reads a duration of Go.
func parseGoDuration(text string) (time.Duration, error) {
	if text == "0" || text == "+0" || text == "-0" {
		return 0, errNoDuration
	}
	clock, err := time.ParseDuration(text)
	switch {
	case err != nil && !goDuration().MatchString(text):
		return 0, errNoDuration
	case err != nil || clock > maxDuration:
		return 0, errTooLong
	}
	return clock, nil
}

// sizeUnits are the units of sizes, the largest first. Each unit is 1024 of the next one, as in
// most programs that write files.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"TB", 1 << 40},
	{"GB", 1 << 30},
	{"MB", 1 << 20},
	{"KB", 1 << 10},
}

// ParseSize reads a number of bytes, as 10MB, 10M, 10MiB or 1.5GB. It reports false for a text that
// is no size, or has no unit.
func ParseSize(text string) (bytes int64, ok bool) {
	text = strings.ToUpper(strings.TrimSpace(text))
	text = strings.TrimSuffix(strings.TrimSuffix(text, "B"), "I")
	for _, unit := range sizeUnits {
		number, found := strings.CutSuffix(text, unit.name[:1])
		if !found {
			continue
		}
		number = strings.TrimSpace(number)
		v, err := strconv.ParseFloat(number, 64) // reads +1, 1e3 and Inf, too
		isPlain := strings.Trim(number, "0123456789.") == ""
		if err != nil || !isPlain || v*float64(unit.bytes) > math.MaxInt64/2 {
			return 0, false
		}
		return int64(v * float64(unit.bytes)), true
	}
	return 0, false
}

// SizeText writes a number of bytes as ParseSize reads it: in the largest unit in which it is
// whole.
func SizeText(bytes int64) string {
	for _, unit := range sizeUnits {
		if bytes >= unit.bytes && bytes%unit.bytes == 0 {
			return strconv.FormatInt(bytes/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatFloat(float64(bytes)/1024, 'f', -1, 64) + "KB"
}

// Size reads a number of bytes that is at least least (ParseSize).
func (r *Reader) Size(n *Node, least int64) (int64, bool) {
	if !requireScalar(r, n, "a size such as 10MB") {
		return 0, false
	}
	bytes, ok := ParseSize(n.Value)
	switch {
	case !ok && isNumber(n.Value):
		r.Problemf(n, "write "+n.Value+"MB or "+n.Value+"KB", "%s %s has no unit", r.Key, n.Value)
	case !ok:
		r.Problemf(n, "a size is written as 512KB, 10MB or 1GB", "%s %s is not a size", r.Key, Quote(n.Value))
	case bytes < least:
		r.Problemf(n, "", "%s %s is less than %s", r.Key, Shorten(n.Value), SizeText(least))
	default:
		return bytes, true
	}
	return 0, false
}
