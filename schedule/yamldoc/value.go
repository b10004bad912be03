package yamldoc

import (
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
// value is wrong, and have recorded the problem then. A hint for that problem may be empty.

// RequireValue refuses nothing at all: a key with nothing after it is more often forgotten than
// meant.
func (r *Reader) RequireValue(n *Node, hint string) bool {
	if n.IsNull() {
		r.Problemf(n, hint, "%s has no value", r.Key)
		return false
	}
	return true
}

// RefuseBool refuses true and false without quotes if a text of that name is hardly meant.
func (r *Reader) RefuseBool(n *Node, hint string) bool {
	if n.IsScalar() && n.Tag == "!!bool" {
		r.Problemf(n, hint, "%s must be text, not %s", r.Key, n.Describe())
		return false
	}
	return true
}

// QuotesHint is the hint for a true or false that may be meant as a name.
const QuotesHint = "write it in quotes if that is its name"

// RequireMapping refuses a value that is no mapping. The message calls the value what.
func (r *Reader) RequireMapping(n *Node, what string) bool {
	if !n.IsMapping() {
		if n.IsNull() {
			r.Problemf(n, "", "%s has no value", what)
		} else {
			r.Problemf(n, "", "%s must be a mapping of keys and values, not %s", what, n.Describe())
		}
		return false
	}
	return true
}

// RequireList refuses a value that is no list.
func (r *Reader) RequireList(n *Node, hint string) bool {
	if !r.RequireValue(n, "") {
		return false
	}
	if !n.IsList() {
		r.Problemf(n, hint, "%s must be a list, not %s", r.Key, n.Describe())
		return false
	}
	return true
}

// requireScalar refuses nothing at all, a list and a mapping. The message says what the value must
// be.
func requireScalar(r *Reader, n *Node, what string) bool {
	if !r.RequireValue(n, "") {
		return false
	}
	if !n.IsScalar() {
		r.Problemf(n, "", "%s must be %s, not %s", r.Key, what, n.Describe())
		return false
	}
	return true
}

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
func (r *Reader) NonEmptyText(n *Node) (string, bool) { return nonEmpty(r, n, r.Text) }

func nonEmpty(r *Reader, n *Node, read func(*Node) (string, bool)) (string, bool) {
	text, ok := read(n)
	if ok && strings.TrimSpace(text) == "" {
		r.Problemf(n, "", "%s is empty", r.Key)
		return "", false
	}
	return text, ok
}

// RefuseEmptyList refuses an empty list if it could be taken for everything and for nothing.
func (r *Reader) RefuseEmptyList(n *Node, hint string) bool {
	if n.IsList() && n.IsEmpty() {
		r.Problemf(n, hint, "%s is an empty list", r.Key)
		return false
	}
	return true
}

// Bool reads true or false; the other words that YAML 1.1 had for them are refused.
func (r *Reader) Bool(n *Node) (value, ok bool) {
	if n.IsScalar() && n.Tag == "!!bool" {
		return n.Value[0] == 't' || n.Value[0] == 'T', true
	}
	if !r.RequireValue(n, "") {
		return false, false
	}
	r.Problemf(n, BoolHint(n), "%s must be true or false, not %s", r.Key, n.Describe())
	return false, false
}

// BoolHint is what to write in place of a word that others take for true or false; "" for anything
// else.
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

// Integer reads a whole number from least to most. With math.MaxInt32 as most the message names no
// upper bound.
func (r *Reader) Integer(n *Node, least, most int) (int, bool) {
	if !r.RequireValue(n, "") {
		return 0, false
	}
	if n.IsInteger() || isHuge(n) {
		v, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, 64)
		if err == nil && int64(least) <= v && v <= int64(most) {
			return int(v), true
		}
		if most == math.MaxInt32 {
			r.Problemf(n, "", "%s must be at least %d, not %s", r.Key, least, Shorten(n.Value))
		} else {
			r.Problemf(n, "", "%s must be from %d to %d, not %s", r.Key, least, most, Shorten(n.Value))
		}
		return 0, false
	}
	r.Problemf(n, "", "%s must be a whole number, not %s", r.Key, n.Describe())
	return 0, false
}

// isHuge reports whether a node is a whole number that is too large for YAML to take it for one.
func isHuge(n *Node) bool {
	return n.IsScalar() && n.Tag == "!!float" && strings.Trim(strings.TrimLeft(n.Value, "+-"), "0123456789_") == ""
}

// Number reads a number that is at least least.
func (r *Reader) Number(n *Node, least float64) (float64, bool) {
	if !r.RequireValue(n, "") {
		return 0, false
	}
	if n.IsScalar() && (n.Tag == "!!int" || n.Tag == "!!float") {
		v, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
		if err == nil && least <= v && v <= math.MaxInt32 {
			return v, true
		}
		r.Problemf(n, "", "%s must be at least %v, not %s", r.Key, least, Shorten(n.Value))
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
		r.Problemf(n, DidYouMean(r.Nearest(text, words)), "%s must be %s, not %s", r.Key, alternatives(words), n.Describe())
		return "", false
	}
	return text, ok
}

func alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
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

// atLeast is a hint at the shortest duration that is long enough; "" if any duration is.
func atLeast(least time.Duration) string {
	if least < time.Second {
		return ""
	}
	return "it takes at least " + humanize.Setting(least)
}

func isNumber(text string) bool {
	v, err := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) && len(text) < 20
}

var (
	errDuration = errors.New("not a duration")
	errTooLong  = errors.New("longer than 100 years")
)

// longest is the longest duration. The days of a duration have the same limit.
const longest = 100 * 365 * 24 * time.Hour

// tooLongForGo matches durations that time.ParseDuration takes, or refuses because they are too
// long.
var tooLongForGo = humanize.Pattern(`^[-+]?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`)

var durationInWords = humanize.Pattern(`^(\d+) ?(s|m|h|d)(?:ecs?|econds?|ins?|inutes?|rs?|ours?|ays?)?$`)

// durationHint says how a duration is written. If the text is a duration in words, the hint has it.
func durationHint(text string) string {
	if found := durationInWords().FindStringSubmatch(strings.ToLower(strings.TrimSpace(text))); found != nil {
		return "write " + found[1] + found[2]
	}
	return "a duration is written as 90s, 20m, 1h30m or 30d"
}

// ParseDuration reads a duration of Go, after days of 24 hours: 30d, 1d12h. 0 needs a unit, too.
func ParseDuration(text string) (time.Duration, error) {
	days, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		days, rest = "", text
	}
	var d time.Duration
	if hasDays {
		n, err := strconv.ParseFloat(days, 64)
		switch {
		case err != nil && !errors.Is(err, strconv.ErrRange), strings.ContainsAny(days, "xXeEpP_nNiI"):
			return 0, errDuration
		case math.Abs(n) > longest.Hours()/24:
			return 0, errTooLong
		}
		d = time.Duration(n * 24 * float64(time.Hour))
		if rest == "" {
			return d, nil
		}
		if strings.ContainsAny(rest[:1], "+-") {
			return 0, errDuration
		}
	}
	if rest == "0" || rest == "+0" || rest == "-0" {
		return 0, errDuration
	}
	clock, err := time.ParseDuration(rest)
	switch {
	case err != nil && !tooLongForGo().MatchString(rest):
		return 0, errDuration
	case err != nil || clock > longest:
		return 0, errTooLong
	}
	if strings.HasPrefix(text, "-") && hasDays {
		clock = -clock
	}
	return d + clock, nil
}

// units of sizes, the largest first. Each unit is 1024 of the next one, as in most programs that
// write files.
var units = []struct {
	name  string
	bytes int64
}{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}}

// ParseSize reads a number of bytes, as 10MB, 10M, 10MiB or 1.5GB. It reports false for a text that
// is no size, or has no unit.
func ParseSize(text string) (bytes int64, ok bool) {
	text = strings.ToUpper(strings.TrimSpace(text))
	text = strings.TrimSuffix(strings.TrimSuffix(text, "B"), "I")
	for _, unit := range units {
		number, found := strings.CutSuffix(text, unit.name[:1])
		if !found {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(v >= 0) || v*float64(unit.bytes) > math.MaxInt64/2 {
			return 0, false
		}
		return int64(v * float64(unit.bytes)), true
	}
	return 0, false
}

// SizeText writes a number of bytes as ParseSize reads it: in the largest unit in which it is
// whole.
func SizeText(bytes int64) string {
	for _, unit := range units {
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
