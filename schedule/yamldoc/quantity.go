package yamldoc

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
)

// This file reads numbers with a unit: durations, and then sizes in bytes.

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

// atLeast is the hint for a duration that is shorter than least.
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

// longestDuration is the longest duration. The days of a duration have the same limit.
const longestDuration = 100 * 365 * 24 * time.Hour

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
	switch {
	case err != nil:
		return 0, err
	case strings.HasPrefix(text, "-"):
		return d - clock, nil
	}
	return d + clock, nil
}

// parseDays reads a number of days, which may have a fraction.
func parseDays(text string) (time.Duration, error) {
	days, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), strings.ContainsAny(text, "xXeEpP_nNiI"):
		return 0, errNoDuration
	case math.Abs(days) > longestDuration.Hours()/24:
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
	case err != nil || clock > longestDuration:
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
