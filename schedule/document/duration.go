package document

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

var errDuration = errors.New("not a duration")

// ParseDuration reads a duration of Go's syntax, which may begin with days: 30d, 1d12h. A day is
// 24 hours. 0 needs a unit as well.
func ParseDuration(text string) (time.Duration, error) {
	days, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		days, rest = "", text
	}
	var d time.Duration
	if hasDays {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || math.Abs(n) > 100*365 || strings.ContainsAny(days, "xXeEpP_nN") {
			return 0, errDuration
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
	if err != nil || clock > 100*365*24*time.Hour {
		return 0, errDuration
	}
	if strings.HasPrefix(text, "-") && hasDays {
		clock = -clock
	}
	return d + clock, nil
}
