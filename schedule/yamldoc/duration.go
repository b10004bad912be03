package yamldoc

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	errDuration = errors.New("not a duration")
	errTooLong  = errors.New("longer than 100 years")
)

// longest is the longest duration. The days of a duration have the same limit.
const longest = 100 * 365 * 24 * time.Hour

// tooLongForGo matches durations that time.ParseDuration takes, or refuses because they are too
// long.
var tooLongForGo = regexp.MustCompile(`^[-+]?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`)

var durationInWords = regexp.MustCompile(`^(\d+) ?(s|m|h|d)(?:ecs?|econds?|ins?|inutes?|rs?|ours?|ays?)?$`)

// durationHint says how a duration is written. If the text is a duration in words, the hint has it.
func durationHint(text string) string {
	if found := durationInWords.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text))); found != nil {
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
	case err != nil && !tooLongForGo.MatchString(rest):
		return 0, errDuration
	case err != nil || clock > longest:
		return 0, errTooLong
	}
	if strings.HasPrefix(text, "-") && hasDays {
		clock = -clock
	}
	return d + clock, nil
}
