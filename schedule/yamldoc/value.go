package yamldoc

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
)

// The methods of this file read the value of r.Key, or an item of it. They return false if the
// value is wrong, and have recorded the problem then. A hint for that problem may be empty: then a
// value of the wrong kind gets the example of its key as a hint.

// A nodeKind is a kind of node, and what messages call it.
type nodeKind struct {
	is   func(*Node) bool
	name string
}

// anyKind is for a value that only has to be there.
var anyKind = nodeKind{is: func(*Node) bool { return true }}

// QuotesHint is the hint for a true or false that may be meant as a name.
const QuotesHint = "write it in quotes if that is its name"

// BoolHint says what to write in place of a word that other programs take for true or false; "" for
// any other value.
func BoolHint(n *Node) string {
	value, ok := BoolWord(n)
	switch {
	case !ok:
		return ""
	case strings.EqualFold(n.Value, fmt.Sprint(value)):
		return "remove the quotes"
	}
	return fmt.Sprintf("write %t", value)
}

// BoolWord returns what a word says that people or other programs take for true or false.
func BoolWord(n *Node) (value, ok bool) {
	if !n.IsScalar() {
		return false, false
	}
	switch strings.ToLower(n.Value) {
	case "true", "yes", "on", "y", "1", "yep", "enabled", "always":
		return true, true
	case "false", "no", "off", "n", "0", "nope", "disabled", "never":
		return false, true
	}
	return false, false
}

// NoLimit is the upper bound of a number that needs none. No message names it.
const NoLimit = math.MaxInt32

// isHuge reports whether a node is a whole number that YAML reads as a float, because it is too
// large.
func isHuge(n *Node) bool {
	digits := strings.TrimLeft(n.Value, "+-")
	return n.IsScalar() && n.Tag == "!!float" && strings.Trim(digits, "0123456789_") == ""
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
func parseSize(text string) (bytes int64, ok bool) {
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
