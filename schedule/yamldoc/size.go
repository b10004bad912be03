package yamldoc

import (
	"math"
	"strconv"
	"strings"
)

// units of sizes, the largest first. Each unit is 1024 of the next one, as in most programs that
// write files.
var units = []struct {
	name  string
	bytes int64
}{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}}

// ParseSize reads a number of bytes, as 512KB, 10MB or 1.5GB. It reports false for a text that is
// no size, or has no unit.
func ParseSize(text string) (bytes int64, ok bool) {
	for _, unit := range units {
		number, found := strings.CutSuffix(strings.ToUpper(strings.TrimSpace(text)), unit.name)
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
	if !r.RequireValue(n, "") {
		return 0, false
	}
	if !n.IsScalar() {
		r.Problemf(n, "", "%s must be a size such as 10MB, not %s", r.Key, n.Describe())
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
